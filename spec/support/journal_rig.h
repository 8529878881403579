/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A journal in a folder of its own, and calls that wait for their answers. A
 * test includes cmocka before.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "journal/runs.h"

typedef struct journal_rig {
    char folder[64];
    char path[128];
    ebb_loop *loop;
    ebb_journal *journal;
    ebb_err err;
} journal_rig;

static inline void rig_open(journal_rig *rig)
{
    rig->err = (ebb_err){ 0 };
    rig->loop = ebb_loop_new(NULL, &rig->err);
    assert_non_null(rig->loop);
    rig->journal =
        ebb_journal_open(rig->loop, ebb_clock_real(), rig->path, &rig->err);
}

static inline void rig_close(journal_rig *rig)
{
    ebb_journal_close(rig->journal);
    ebb_loop_free(rig->loop);
    rig->journal = NULL;
    rig->loop = NULL;
}

static inline int rig_make(void **state)
{
    journal_rig *rig = calloc(1, sizeof *rig);

    alarm(200);
    strcpy(rig->folder, "/tmp/ebb-journal-XXXXXX");
    if (mkdtemp(rig->folder) == NULL)
        return -1;
    snprintf(rig->path, sizeof rig->path, "%s/journal.db", rig->folder);
    rig_open(rig);
    *state = rig;
    return rig->journal == NULL ? -1 : 0;
}

static inline int rig_clear(void **state)
{
    journal_rig *rig = *state;

    rig_close(rig);
    ebb_fs_remove_tree(rig->folder, &rig->err);
    free(rig);
    return 0;
}

/* ---- answers ---- */

typedef struct rig_answer {
    int count;
    ebb_err err; /* of the last; code 0: none */
} rig_answer;

static inline void rig_answered(void *context, const ebb_err *err)
{
    rig_answer *answer = context;

    answer->count++;
    answer->err = err != NULL ? *err : (ebb_err){ 0 };
}

static inline ebb_journal_done rig_done(rig_answer *answer)
{
    return (ebb_journal_done){ rig_answered, answer };
}

static inline void rig_await(journal_rig *rig, rig_answer *answer, int count)
{
    while (answer->count < count)
        ebb_loop_run(rig->loop, 1000);
    assert_int_equal(answer->count, count);
}

/* ---- runs and steps ---- */

static inline ebb_journal_run *rig_claim(journal_rig *rig, const char *id)
{
    ebb_journal_claim_config config = { .id = id, .script = "s.lua" };

    return ebb_journal_claim_run(rig->journal, &config, &rig->err);
}

static inline ebb_journal_step rig_step(const char *path, const char *outcome)
{
    return (ebb_journal_step){
        .path = path,
        .name = "e2b.runCode",
        .step_class = "none",
        .digest = "d1",
        .input = "{\"code\":\"1\"}",
        .input_bytes = 12,
        .outcome = outcome,
        .outcome_bytes = outcome != NULL ? strlen(outcome) : 0,
    };
}

typedef int rig_step_fn(ebb_journal *journal, const ebb_journal_claim *claim,
                        const ebb_journal_step *step, ebb_journal_done done,
                        ebb_err *err);

/* Posts one and waits: the code that it was refused or answered with. */
static inline ebb_code rig_put(journal_rig *rig, rig_step_fn *fn,
                               const ebb_journal_claim *claim,
                               ebb_journal_step step)
{
    rig_answer answer = { 0 };

    if (fn(rig->journal, claim, &step, rig_done(&answer), &rig->err) != 0)
        return rig->err.code;
    rig_await(rig, &answer, 1);
    rig->err = answer.err;
    return answer.err.code;
}

static inline ebb_code rig_intent(journal_rig *rig,
                                  const ebb_journal_claim *claim,
                                  const char *path)
{
    return rig_put(rig, ebb_journal_add_intent, claim, rig_step(path, NULL));
}

static inline ebb_code rig_outcome(journal_rig *rig,
                                   const ebb_journal_claim *claim,
                                   const char *path, const char *json)
{
    return rig_put(rig, ebb_journal_add_outcome, claim, rig_step(path, json));
}

static inline ebb_code rig_release(journal_rig *rig,
                                   const ebb_journal_claim *claim)
{
    rig_answer answer = { 0 };

    if (ebb_journal_release(rig->journal, claim, rig_done(&answer),
                            &rig->err) != 0)
        return rig->err.code;
    rig_await(rig, &answer, 1);
    rig->err = answer.err;
    return answer.err.code;
}

static inline ebb_code rig_end(journal_rig *rig, const ebb_journal_claim *claim,
                               ebb_journal_state state, const char *outcome)
{
    rig_answer answer = { 0 };

    if (ebb_journal_end(rig->journal, claim, state, outcome, rig_done(&answer),
                        &rig->err) != 0)
        return rig->err.code;
    rig_await(rig, &answer, 1);
    rig->err = answer.err;
    return answer.err.code;
}

static inline ebb_code rig_poll(journal_rig *rig,
                                const ebb_journal_claim *claim)
{
    rig_answer answer = { 0 };

    if (ebb_journal_poll(rig->journal, claim, rig_done(&answer), &rig->err) !=
        0)
        return rig->err.code;
    rig_await(rig, &answer, 1);
    rig->err = answer.err;
    return answer.err.code;
}

/* A text of n bytes that is JSON: "aaa…". Freed by free. */
static inline char *rig_json(size_t n)
{
    char *json = malloc(n + 1);

    memset(json, 'a', n);
    json[0] = json[n - 1] = '"';
    json[n] = '\0';
    return json;
}
