/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For tests of durable runs: a host with three tasks, one of each class, and a
 * "script" in C that asks for steps and waits as a binding does. What the
 * tasks execute is counted in memory that forked children share.
 */

#include "ebb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define RIG_COUNTERS 64
#define RIG_TURNS_MAX 20000

typedef struct rig {
    char dir[64], journal[96];
    int *executed; /* by "n" of the input; shared with children */
    ebb_runtime *rt;
    ebb_run *run;
    ebb_request *held; /* waits to be cancelled, or for rig_let_go */
} rig;

/* The end of a step; read once `ended`. */
typedef struct rig_answer {
    bool ended;
    ebb_step *step; /* to be run by the test */
    int64_t wake_ms;
    ebb_value *out;
    ebb_err err;
} rig_answer;

static inline void rig_start(void *context, ebb_request *request)
{
    rig *r = context;
    const ebb_value *input = ebb_request_input(request);
    const char *what = ebb_value_find_string(input, "do");
    int64_t n = ebb_value_find_int(input, "n", 0);
    int fails = (int)ebb_value_find_int(input, "fails", 0);
    ebb_err err = { 0 };

    r->executed[n]++;
    if (what != NULL && strcmp(what, "hold") == 0) {
        r->held = request;
    } else if (what != NULL && strcmp(what, "fail") == 0) {
        ebb_err_set(&err, EBB_CONFLICT, "step %d is taken", (int)n);
        ebb_request_fail(request, &err, NULL);
    } else if (r->executed[n] <= fails) {
        ebb_err_set(&err, EBB_NETWORK, "the line is dead");
        ebb_request_fail(request, &err, NULL);
    } else {
        ebb_request_finish(request, ebb_value_copy(input));
    }
}

static inline void rig_cancel(void *context, ebb_request *request)
{
    rig *r = context;
    ebb_err err = { 0 };

    r->held = NULL;
    ebb_err_set(&err, EBB_CANCELLED, "stopped");
    ebb_request_fail(request, &err, NULL);
}

static inline void rig_let_go(rig *r)
{
    ebb_request *request = r->held;

    r->held = NULL;
    ebb_request_finish(request, ebb_value_text("let go"));
}

static inline void rig_open(rig *r)
{
    static const char *const classes[] = { "read", "lifecycle", "none" };
    ebb_config config;
    ebb_err err = { 0 };
    char name[32];
    ebb_task_config task = { .name = name,
                             .start = rig_start,
                             .cancel = rig_cancel,
                             .context = r };

    ebb_config_init(&config);
    config.journal = r->journal;
    config.jitter = -1;
    config.retry_base_ms = 2;
    r->rt = ebb_open(&config, &err);
    assert_string_equal(err.msg, "");
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "test.%s", classes[i]);
        task.retry_class = classes[i];
        assert_int_equal(ebb_register(r->rt, &task, &err), 0);
    }
}

static inline void rig_close(rig *r)
{
    ebb_run_close(r->run);
    ebb_close(r->rt);
    r->run = NULL;
    r->rt = NULL;
}

static inline int rig_setup(void **state)
{
    rig *r = calloc(1, sizeof *r);

    alarm(300);
    strcpy(r->dir, "/tmp/ebb-run-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    snprintf(r->journal, sizeof r->journal, "%s/journal.db", r->dir);
    r->executed = mmap(NULL, RIG_COUNTERS * sizeof(int),
                       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);
    assert_ptr_not_equal(r->executed, MAP_FAILED);
    *state = r;
    return 0;
}

static inline int rig_teardown(void **state)
{
    rig *r = *state;
    char command[128];

    rig_close(r);
    snprintf(command, sizeof command, "rm -rf '%s'", r->dir);
    assert_int_equal(system(command), 0);
    munmap(r->executed, RIG_COUNTERS * sizeof(int));
    free(r);
    return 0;
}

static inline ebb_run *rig_try_run(rig *r, ebb_run_config *config,
                                   ebb_err *err)
{
    if (r->rt == NULL)
        rig_open(r);
    r->run = ebb_run_open(r->rt, config, err);
    return r->run;
}

static inline void rig_run(rig *r, const char *id)
{
    ebb_run_config config;
    ebb_err err = { 0 };

    ebb_run_config_init(&config);
    config.id = id;
    rig_try_run(r, &config, &err);
    assert_string_equal(err.msg, "");
    assert_non_null(r->run);
}

/* As a process that ends without a word, but for its memory. */
static inline void rig_again(rig *r, const char *id)
{
    rig_close(r);
    rig_run(r, id);
}

static inline void rig_turn(rig *r)
{
    ebb_err err = { 0 };

    ebb_run_idle(r->run);
    ebb_poll(r->rt, 10, &err);
}

static inline void rig_done(void *context, ebb_value *out, const ebb_err *err)
{
    rig_answer *answer = context;

    assert_false(answer->ended);
    answer->ended = true;
    answer->out = out;
    if (err != NULL)
        answer->err = *err;
}

static inline void rig_step_done(void *context, ebb_step *step,
                                 int64_t wake_ms, ebb_value *out,
                                 const ebb_err *err)
{
    rig_answer *answer = context;

    rig_done(answer, out, err);
    answer->step = step;
    answer->wake_ms = wake_ms;
}

static inline ebb_op *rig_ask(rig *r, rig_answer *answer, const char *path,
                              const char *task, const char *input)
{
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse(input, strlen(input), 0, &err);
    ebb_op *op;

    *answer = (rig_answer){ 0 };
    op = ebb_start_step(r->run, path, task, value, rig_done, answer, &err);
    assert_string_equal(err.msg, "");
    assert_non_null(op);
    ebb_value_free(value);
    return op;
}

static inline ebb_step *rig_begin(rig *r, rig_answer *answer,
                                  const char *path, const char *name,
                                  const char *step_class)
{
    ebb_step_config config = { .path = path,
                               .name = name,
                               .step_class = step_class };
    ebb_err err = { 0 };
    ebb_step *step;

    *answer = (rig_answer){ 0 };
    step = ebb_step_begin(r->run, &config, rig_step_done, answer, &err);
    assert_string_equal(err.msg, "");
    assert_non_null(step);
    return step;
}

static inline void rig_wait(rig *r, const rig_answer *answer)
{
    for (int i = 0; i < RIG_TURNS_MAX && !answer->ended; i++)
        rig_turn(r);
    assert_true(answer->ended);
}

/* Until a call whose input says "hold" is executing. */
static inline void rig_wait_held(rig *r)
{
    for (int i = 0; i < RIG_TURNS_MAX && r->held == NULL; i++)
        rig_turn(r);
    assert_non_null(r->held);
}

static inline void rig_ended(void *context, const ebb_err *err)
{
    rig_done(context, NULL, err);
}

static inline ebb_code rig_step_end(rig *r, ebb_step *step,
                                    const char *result)
{
    rig_answer answer = { 0 };
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse(result, strlen(result), 0, &err);

    ebb_step_end(step, value, NULL, rig_ended, &answer);
    ebb_value_free(value);
    rig_wait(r, &answer);
    return answer.err.code;
}

static inline ebb_err rig_end(rig *r, ebb_run_state state,
                              const ebb_value *outcome)
{
    rig_answer answer = { 0 };
    ebb_err err = { 0 };

    assert_int_equal(ebb_run_end(r->run, state, outcome, rig_ended, &answer,
                                 &err), 0);
    rig_wait(r, &answer);
    return answer.err;
}

/* One call as a step, to its end; err says how. Returns "n" of the result. */
static inline int64_t rig_call(rig *r, const char *path, const char *task,
                               const char *input, ebb_err *err)
{
    rig_answer answer;
    int64_t n;

    rig_ask(r, &answer, path, task, input);
    rig_wait(r, &answer);
    n = ebb_value_find_int(answer.out, "n", -1);
    ebb_value_free(answer.out);
    *err = answer.err;
    return n;
}
