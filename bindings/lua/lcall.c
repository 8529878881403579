/* SPDX-License-Identifier: MIT */
#include "lua/lcall_private.h"

#include <stdio.h>

#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/lvalue.h"

void lebb_call_free(lebb_call *call)
{
    ebb_value_free(call->out);
    ebb_mem_free(call);
}

void lebb_call_end(lebb_call *call)
{
    call->done = true;
    if (call->branch)
        lebb_branch_ready(call->branch);
    else
        lebb_call_free(call);
}

static void on_done(void *context, ebb_value *out, const ebb_err *err)
{
    lebb_call *call = context;

    call->op = NULL;
    call->out = out;
    call->failed = err && err->code != EBB_OK;
    if (call->failed)
        call->err = *err;
    lebb_call_end(call);
}

static void on_timer(void *context)
{
    lebb_call *call = context;

    call->timer = NULL;
    lebb_call_end(call);
}

lebb_call *lebb_call_new(lebb_branch *branch, const char *name, ebb_err *err)
{
    lebb_call *call = ebb_mem_zero(sizeof *call);

    if (!call) {
        ebb_err_set(err, EBB_NO_MEMORY, "%s: no memory", name);
        return NULL;
    }
    call->branch = branch;
    call->in_run = lebb_durable_run(branch) != NULL;
    call->started_ms = ebb_monotonic_ms(branch->sched->rt);
    snprintf(call->name, sizeof call->name, "%s", name);
    return call;
}

static ebb_op *start_op(lebb_branch *branch, lebb_call *call, const char *task,
                        const ebb_value *input, ebb_err *err)
{
    ebb_run *run = lebb_durable_run(branch);
    char path[LEBB_PATH_BYTES];

    if (!run)
        return ebb_start(branch->sched->rt, task, input, on_done, call, err);
    if (lebb_durable_next(branch, path, err) < 0)
        return NULL;
    return ebb_start_step(run, path, task, input, on_done, call, err);
}

int lebb_call_start(lebb_branch *branch, const char *task,
                    const ebb_value *input, ebb_err *err)
{
    lebb_call *call = lebb_call_new(branch, task, err);

    if (!call)
        return -1;
    lebb_call_drop(branch);
    call->op = start_op(branch, call, task, input, err);
    if (!call->op) {
        lebb_call_free(call);
        return -1;
    }
    branch->call = call;
    return 0;
}

/* The step of a sleep: its end by the wall clock is what is recorded. */
static int sleep_step(lebb_branch *branch, int64_t ms, ebb_err *err)
{
    ebb_value *input = ebb_value_object();
    lebb_step_ask ask = { .kind = LEBB_STEP_SLEEP,
                          .name = "ebb.sleep",
                          .step_class = "lifecycle",
                          .input = input,
                          .wake_ms = lebb_wall_ms() + ms };

    lebb_call_drop(branch);
    if (ebb_value_set(input, "ms", ebb_value_int(ms)) < 0)
        ebb_err_set(err, EBB_NO_MEMORY, "ebb.sleep: no memory");
    else
        branch->call = lebb_step_start(branch, &ask, NULL, err);
    ebb_value_free(input);
    return branch->call ? 0 : -1;
}

int lebb_call_sleep(lebb_branch *branch, int64_t ms, ebb_err *err)
{
    lebb_call *call;

    if (lebb_durable_run(branch))
        return sleep_step(branch, ms, err);
    call = lebb_call_new(branch, "ebb.sleep", err);
    if (!call)
        return -1;
    lebb_call_drop(branch);
    call->due_ms = call->started_ms + (double)ms;
    /* The loop's clock counts whole ms: a sleep is rather too long. */
    call->timer = ebb_timer_start(branch->sched->rt, ms > 0 ? ms + 1 : 0,
                                  on_timer, call, err);
    if (!call->timer) {
        lebb_call_free(call);
        return -1;
    }
    branch->call = call;
    return 0;
}

void lebb_call_cancel(lebb_call *call, bool at_once)
{
    lebb_branch *branch = call->branch;

    if (call->done)
        return;
    if (at_once || (call->timer && !call->in_run)) {
        lebb_call_drop(branch);
        /* The function of a step computes: its branch waits for nothing. */
        if (branch != branch->sched->current)
            lebb_branch_ready(branch);
    } else if (call->op) {
        ebb_cancel(call->op);
    } else {
        lebb_step_cancel(call);
    }
}

void lebb_call_release(lebb_call *call)
{
    if (!call)
        return;
    call->branch = NULL;
    if (call->op) {
        ebb_cancel(call->op); /* on_done frees it, now or later */
        return;
    }
    if (call->kind != LEBB_STEP_NONE && !call->done) {
        lebb_step_release(call);
        return;
    }
    if (call->timer)
        ebb_timer_cancel(call->timer);
    lebb_call_free(call);
}

void lebb_call_drop(lebb_branch *branch)
{
    lebb_call *call = branch->call;

    branch->call = NULL;
    lebb_call_release(call);
}

bool lebb_call_done(const lebb_call *call)
{
    return call->done;
}

int lebb_call_raise(lua_State *L, lebb_branch *branch, const lebb_call *call)
{
    /*
     * Any error unwinds, so a cancel that was wanted has its effect. In a run
     * only its own: another error may be one that was recorded before.
     */
    if (branch->cancel == LEBB_CANCEL_WANTED && branch->shield == 0 &&
        (!call->in_run || call->err.code == EBB_CANCELLED))
        branch->cancel = LEBB_CANCEL_DELIVERED;
    lebb_error_push(L, &call->err, call->out);
    if (branch->call == call)
        lebb_call_drop(branch);
    return lua_error(L);
}

int lebb_call_finish(lua_State *L, lebb_branch *branch)
{
    lebb_call *call = branch->call;

    if (!call) { /* dropped by a cancel */
        branch->cancel = LEBB_CANCEL_DELIVERED;
        return lebb_raise_cancelled(L);
    }
    if (call->failed)
        return lebb_call_raise(L, branch, call);
    if (!call->out || (call->kind != LEBB_STEP_NONE &&
                       ebb_value_type(call->out) == EBB_NULL)) {
        lebb_call_drop(branch);
        return 0;
    }
    lebb_value_push(L, call->out, LEBB_VALUE_EXACT);
    lebb_call_drop(branch);
    return 1;
}

void lebb_call_show(const lebb_call *call, ebb_lua_activity *activity)
{
    double now = ebb_monotonic_ms(call->branch->sched->rt);

    *activity = (ebb_lua_activity){ .task = call->name,
                                    .elapsed_ms = now - call->started_ms };
    if (call->op)
        ebb_op_progress(call->op, &activity->attempt, &activity->wait_ms);
    else if (call->timer && call->due_ms > now)
        activity->wait_ms = (int64_t)(call->due_ms - now);
}
