/* SPDX-License-Identifier: MIT */
/*
 * Steps that the binding runs itself: sleeps, readings of the clock, the
 * functions of ebb.step, the outcomes of combinators.
 *
 * A step is asked for, then given (or answered from the journal), then ended;
 * the record lives until the core has called for the last time.
 */
#include "lua/lcall_private.h"

#include "lua/ldurable.h"

/* The object, or NULL when a member could not be set. */
static ebb_value *whole(ebb_value *object, int failed)
{
    if (!failed)
        return object;
    ebb_value_free(object);
    return NULL;
}

/* {code, message, task, …} of err; NULL: no memory. */
static ebb_value *error_object(const char *name, const ebb_err *err)
{
    ebb_value *object = ebb_value_object();
    int failed = 0;

    failed |=
        ebb_value_set(object, "code", ebb_value_text(ebb_code_name(err->code)));
    failed |= ebb_value_set(object, "message", ebb_value_text(err->msg));
    failed |= ebb_value_set(object, "task", ebb_value_text(name));
    failed |= ebb_value_set(object, "retryable", ebb_value_bool(false));
    failed |= ebb_value_set(object, "attempts", ebb_value_int(0));
    return whole(object, failed);
}

static void on_recorded(void *context, const ebb_err *err)
{
    lebb_call *call = context;

    if (err && err->code != EBB_OK) {
        ebb_value_free(call->out);
        call->out = NULL;
        call->failed = true;
        call->err = *err;
    }
    lebb_call_end(call);
}

/*
 * There is no memory for what is to be recorded: the step stays begun, and the
 * run goes no further in this process.
 */
static void starve(lebb_call *call)
{
    call->failed = true;
    ebb_err_set(&call->err, EBB_NO_MEMORY, "%s: its outcome", call->name);
    if (call->branch)
        lebb_durable_stop(call->branch->sched, &call->err);
    lebb_call_end(call);
}

/* Records call->out. */
static void record(lebb_call *call)
{
    ebb_step *step = call->step;

    if (call->timer)
        ebb_timer_cancel(call->timer);
    call->timer = NULL;
    call->step = NULL;
    call->given = false;
    call->ending = true;
    if (!call->out) {
        starve(call);
        return;
    }
    ebb_step_end(step, call->failed ? NULL : call->out,
                 call->failed ? call->out : NULL, on_recorded, call);
}

static void record_error(lebb_call *call, ebb_code code, const char *what)
{
    ebb_value_free(call->out);
    ebb_err_set(&call->err, code, "%s %s", call->name, what);
    call->failed = true;
    call->out = error_object(call->name, &call->err);
    record(call);
}

static void end_sleep(lebb_call *call)
{
    call->out = ebb_value_null();
    record(call);
}

static void on_wake(void *context)
{
    lebb_call *call = context;

    call->timer = NULL;
    if (call->kind == LEBB_STEP_TIMEOUT)
        lebb_step_decide(call, 0, "time was up");
    else
        end_sleep(call);
}

static void wait_until(lebb_call *call, int64_t wake_ms)
{
    ebb_runtime *rt = call->branch->sched->rt;
    int64_t ms = wake_ms - lebb_wall_ms();
    ebb_err err;

    ms = ms > 0 ? ms + 1 : 0;
    call->due_ms = ebb_monotonic_ms(rt) + (double)ms;
    call->timer = ebb_timer_start(rt, ms, on_wake, call, &err);
    if (!call->timer)
        record_error(call, err.code, "could not wait");
}

/* The step is ours. */
static void run(lebb_call *call, int64_t wake_ms)
{
    if (!call->branch) {
        if (call->kind == LEBB_STEP_BODY)
            lebb_call_free(call); /* not run: it stays as it is */
        else
            record_error(call, EBB_CANCELLED, "was cancelled");
        return;
    }
    if (call->decided) {
        record(call);
        return;
    }
    switch (call->kind) {
    case LEBB_STEP_SLEEP:
    case LEBB_STEP_TIMEOUT:
        wait_until(call, wake_ms);
        break;
    case LEBB_STEP_NOW:
        call->out = ebb_value_float((double)lebb_wall_ms() / 1000);
        record(call);
        break;
    case LEBB_STEP_BODY:
        lebb_branch_ready(call->branch);
        break;
    default:
        break; /* waits for its branches */
    }
}

static void on_step(void *context, ebb_step *step, int64_t wake_ms,
                    ebb_value *out, const ebb_err *err)
{
    lebb_call *call = context;

    call->step = step;
    call->given = step != NULL;
    if (step) {
        run(call, wake_ms);
        return;
    }
    ebb_value_free(call->out); /* of one that is decided already */
    call->out = out;
    call->failed = err && err->code != EBB_OK;
    if (call->failed)
        call->err = *err;
    lebb_call_end(call);
}

lebb_call *lebb_step_start(lebb_branch *branch, const lebb_step_ask *ask,
                           char *path, ebb_err *err)
{
    lebb_call *call = lebb_call_new(branch, ask->name, err);
    char own[LEBB_PATH_BYTES];
    ebb_step_config config = { .path = path ? path : own,
                               .name = ask->name,
                               .step_class = ask->step_class,
                               .input = ask->input,
                               .wake_ms = ask->wake_ms };

    if (!call)
        return NULL;
    call->kind = ask->kind;
    if (lebb_durable_next(branch, path ? path : own, err) == 0)
        call->step = ebb_step_begin(lebb_durable_run(branch), &config, on_step,
                                    call, err);
    if (call->step)
        return call;
    lebb_call_free(call);
    return NULL;
}

bool lebb_step_given(const lebb_call *call)
{
    return call->given;
}

void lebb_step_end(lebb_call *call, ebb_value *out, const ebb_err *err)
{
    call->out = out;
    call->failed = err != NULL;
    if (err)
        call->err = *err;
    record(call);
}

void lebb_step_decide(lebb_call *call, int64_t branch, const char *word)
{
    ebb_value *outcome;
    int failed = 0;

    if (call->decided || call->ending || call->done)
        return;
    outcome = ebb_value_object();
    failed |= ebb_value_set(outcome, "branch", ebb_value_int(branch));
    failed |= ebb_value_set(outcome, "outcome", ebb_value_text(word));
    call->out = whole(outcome, failed);
    call->decided = true;
    if (call->given)
        record(call);
}

const ebb_value *lebb_step_outcome(const lebb_call *call)
{
    return call->out;
}

bool lebb_step_failed(const lebb_call *call)
{
    return call->failed;
}

void lebb_step_cancel(lebb_call *call)
{
    if (call->ending || call->kind == LEBB_STEP_NONE)
        return;
    if (!call->given)
        ebb_step_cancel(call->step); /* on_step comes with the answer */
    else if (call->kind != LEBB_STEP_BODY)
        record_error(call, EBB_CANCELLED, "was cancelled");
}

void lebb_step_release(lebb_call *call)
{
    if (call->ending)
        return; /* on_recorded frees it */
    if (!call->given)
        ebb_step_cancel(call->step); /* on_step frees it */
    else if (call->kind != LEBB_STEP_BODY)
        record_error(call, EBB_CANCELLED, "was cancelled");
    else
        lebb_call_free(call); /* begun and not ended: the outcome is unknown */
}
