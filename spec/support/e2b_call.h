/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Calls of tasks on a rig: one attempt each, on the rig's loop, and what came
 * of it. No retries: those are the engine's.
 */

#include "support/e2b_rig.h"

/* One attempt and how it ended. */
typedef struct rig_call {
    rig *r;
    ebb_attempt attempt;
    ebb_value *input;
    bool ended;
    int effects;  /* how often before_effect came */
    size_t after; /* requests that had come when it did */
    ebb_value *result, *details;
    ebb_err err;
} rig_call;

static inline void rig_after(ebb_attempt *attempt, ebb_value *result,
                             const ebb_err *err, ebb_value *details)
{
    rig_call *call = attempt->starter;

    assert_false(call->ended);
    call->ended = true;
    call->result = result;
    call->details = details;
    if (err != NULL)
        call->err = *err;
}

static inline void rig_before_effect(ebb_attempt *attempt,
                                     ebb_attempt_fn *proceed)
{
    rig_call *call = attempt->starter;

    call->effects++;
    call->after = call->r->requests_n;
    proceed(attempt);
}

/* Starts one attempt; the input is checked as the engine does. */
static inline rig_call *rig_start(rig *r, const char *task, const char *json)
{
    const ebb_task *found = ebb_registry_find(r->registry, task);
    rig_call *call = calloc(1, sizeof *call);
    ebb_value *given = ebb_value_parse(json, strlen(json), 0, &call->err);

    assert_non_null(found);
    if (given == NULL) /* a test may starve it */
        assert_int_equal(call->err.code, EBB_NO_MEMORY);
    else
        call->input = ebb_fields_check(task, found->fields, found->fields_count,
                                       given, &call->err);
    ebb_value_free(given);
    if (call->input != NULL && found->check != NULL &&
        found->check(call->input, &call->err) != 0) {
        ebb_value_free(call->input);
        call->input = NULL;
    }
    r->hooks = (ebb_attempt_hooks){ rig_before_effect, rig_after };
    call->r = r;
    call->attempt = (ebb_attempt){
        .input = call->input,
        .clock = ebb_clock_real(),
        .deadline_ms = EBB_NO_DEADLINE,
        .number = 1,
        .hooks = &r->hooks,
        .starter = call,
        .context = found->context,
    };
    if (call->input == NULL)
        call->ended = true;
    else
        found->start(&call->attempt);
    return call;
}

/* Turns the loop until done is true, or fails after five seconds. */
static inline void rig_run(rig *r, const bool *done)
{
    int64_t end = ebb_loop_now_ms(r->loop) + 5000;

    while (!*done) {
        ebb_loop_run(r->loop, 100);
        if (ebb_loop_now_ms(r->loop) > end)
            fail_msg("nothing ended within 5 s");
    }
}

static inline void rig_turn(rig *r, int64_t ms)
{
    int64_t end = ebb_loop_now_ms(r->loop) + ms;

    do
        ebb_loop_run(r->loop, 5);
    while (ebb_loop_now_ms(r->loop) < end);
}

static inline rig_call *rig_call_task(rig *r, const char *task,
                                      const char *json)
{
    rig_call *call = rig_start(r, task, json);

    rig_run(r, &call->ended);
    return call;
}

static inline void rig_call_free(rig_call *call)
{
    ebb_value_free(call->input);
    ebb_value_free(call->result);
    ebb_value_free(call->details);
    free(call);
}

/* A value at a path such as "stdout.text" or "files.0.path". */
static inline const ebb_value *rig_at(const ebb_value *value, const char *path)
{
    char copy[128], *save = NULL;

    snprintf(copy, sizeof copy, "%s", path);
    for (char *name = strtok_r(copy, ".", &save); name != NULL;
         name = strtok_r(NULL, ".", &save))
        value = ebb_value_type(value) == EBB_ARRAY
                    ? ebb_value_at(value, strtoul(name, NULL, 10))
                    : ebb_value_find(value, name);
    return value;
}

static inline const char *rig_text(const ebb_value *value, const char *path)
{
    const char *text = ebb_value_get_string(rig_at(value, path), NULL);

    return text == NULL ? "(none)" : text;
}

static inline int64_t rig_int(const ebb_value *value, const char *path)
{
    return ebb_value_get_int(rig_at(value, path));
}

static inline bool rig_bool(const ebb_value *value, const char *path)
{
    return ebb_value_get_bool(rig_at(value, path));
}

#define assert_code(call, wanted)                                              \
    do {                                                                       \
        if ((call)->err.code != (wanted))                                      \
            fail_msg("%s: %s", ebb_code_name((call)->err.code),                \
                     (call)->err.msg);                                         \
    } while (0)
