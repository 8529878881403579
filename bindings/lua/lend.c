/* SPDX-License-Identifier: MIT */
/* The end of a durable run: what a script ended with becomes its outcome. */
#include "lua/ldurable.h"
#include "lua/lrun.h"

typedef struct ending {
    bool done;
    ebb_err err;
} ending;

static void on_end(void *context, const ebb_err *err)
{
    ending *end = context;

    end->done = true;
    if (err)
        end->err = *err;
}

/* Commits the end and waits for that. 1: it is refused, and the run goes on. */
static int commit(ebb_lua *lua, ebb_run_state state, const ebb_value *outcome,
                  ebb_err *err)
{
    ending end = { 0 };

    if (ebb_poll(lua->rt, 0, err) < 0)
        return -1; /* a host's loop: nothing can be waited for */
    if (ebb_run_end(lua->sched->run, state, outcome, on_end, &end, err) < 0)
        return 1;
    while (!end.done) {
        ebb_run_idle(lua->sched->run);
        if (!end.done && ebb_poll(lua->rt, -1, err) < 0)
            return -1;
    }
    if (end.err.code == EBB_OK)
        return 0;
    *err = end.err;
    return -1;
}

static ebb_value *error_object(const ebb_err *err)
{
    ebb_value *object = ebb_value_object();

    ebb_value_set(object, "code", ebb_value_text(ebb_code_name(err->code)));
    ebb_value_set(object, "message", ebb_value_text(err->msg));
    ebb_value_set(object, "retryable", ebb_value_bool(false));
    return object;
}

/* What os.exit with a status other than 0 is in the journal. */
static ebb_value *exit_object(int status)
{
    ebb_value *object, *details = ebb_value_object();
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_SCRIPT, "os.exit(%d)", status);
    object = error_object(&err);
    ebb_value_set(details, "exitStatus", ebb_value_int(status));
    ebb_value_set(object, "details", details);
    return object;
}

/* What is too large to be kept is a failure that says so. */
static int commit_too_large(ebb_lua *lua, ebb_err *why)
{
    ebb_value *object = error_object(why);
    ebb_err err = { 0 };

    if (commit(lua, EBB_RUN_FAILED, object, &err) != 0)
        *why = err;
    ebb_value_free(object);
    return -1;
}

/* As it can be: the error of the run itself goes before the script's. */
static int fail(ebb_value **out, ebb_err *err, const ebb_err *why)
{
    if (err->code != why->code) {
        ebb_value_free(*out);
        *out = NULL;
    }
    *err = *why;
    return -1;
}

int lebb_run_finish(ebb_lua *lua, int result, ebb_value **out, ebb_err *err)
{
    lebb_sched *s = lua->sched;
    ebb_run_state state = result == 0 ? EBB_RUN_DONE : EBB_RUN_FAILED;
    ebb_value *made = NULL;
    ebb_err why = { 0 };
    int failed;

    if (!s->run || s->gave_up)
        return result; /* given up: it stays interrupted */
    if (s->run_stop.code != EBB_OK)
        return fail(out, err, &s->run_stop);
    if (s->exit_status > 0) {
        state = EBB_RUN_FAILED;
        made = exit_object(s->exit_status);
    } else if (!*out) {
        made = ebb_value_null();
    }
    if (result < 0 && err->code == EBB_CANCELLED)
        state = EBB_RUN_CANCELLED;
    failed = commit(lua, state, made ? made : *out, &why);
    if (failed > 0 && why.code == EBB_LIMIT_EXCEEDED)
        failed = commit_too_large(lua, &why);
    ebb_value_free(made);
    return failed ? fail(out, err, &why) : result;
}
