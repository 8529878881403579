/* SPDX-License-Identifier: MIT */
#include "lua/lcall.h"

#include <stdio.h>

#include "lua/lerror.h"
#include "lua/lvalue.h"

#define NAME_BYTES 64

struct lebb_call {
    lebb_branch *branch; /* NULL: nobody waits any more */
    ebb_op *op;          /* NULL once done */
    ebb_timer *timer;    /* NULL once done */
    bool done, failed;
    ebb_value *out; /* the result, or the error object */
    ebb_err err;
    double started_ms, due_ms;
    char name[NAME_BYTES];
};

static void free_call(lebb_call *call)
{
    ebb_value_free(call->out);
    ebb_mem_free(call);
}

static void end_call(lebb_call *call)
{
    call->done = true;
    if (call->branch)
        lebb_branch_ready(call->branch);
    else
        free_call(call);
}

static void on_done(void *context, ebb_value *out, const ebb_err *err)
{
    lebb_call *call = context;

    call->op = NULL;
    call->out = out;
    call->failed = err && err->code != EBB_OK;
    if (call->failed)
        call->err = *err;
    end_call(call);
}

static void on_timer(void *context)
{
    lebb_call *call = context;

    call->timer = NULL;
    end_call(call);
}

static lebb_call *new_call(lebb_branch *branch, const char *name, ebb_err *err)
{
    lebb_call *call = ebb_mem_zero(sizeof *call);

    if (!call) {
        ebb_err_set(err, EBB_NO_MEMORY, "%s: no memory", name);
        return NULL;
    }
    lebb_call_drop(branch);
    call->branch = branch;
    call->started_ms = ebb_monotonic_ms(branch->sched->rt);
    snprintf(call->name, sizeof call->name, "%s", name);
    branch->call = call;
    return call;
}

int lebb_call_start(lebb_branch *branch, const char *task,
                    const ebb_value *input, ebb_err *err)
{
    lebb_call *call = new_call(branch, task, err);

    if (!call)
        return -1;
    call->op = ebb_start(branch->sched->rt, task, input, on_done, call, err);
    if (call->op)
        return 0;
    branch->call = NULL;
    free_call(call);
    return -1;
}

int lebb_call_sleep(lebb_branch *branch, int64_t ms, ebb_err *err)
{
    lebb_call *call = new_call(branch, "ebb.sleep", err);

    if (!call)
        return -1;
    call->due_ms = call->started_ms + (double)ms;
    /* The loop's clock counts whole ms: a sleep is rather too long. */
    call->timer = ebb_timer_start(branch->sched->rt, ms > 0 ? ms + 1 : 0,
                                  on_timer, call, err);
    if (call->timer)
        return 0;
    branch->call = NULL;
    free_call(call);
    return -1;
}

void lebb_call_cancel(lebb_call *call, bool at_once)
{
    lebb_branch *branch = call->branch;

    if (call->done)
        return;
    if (at_once || call->timer) {
        lebb_call_drop(branch);
        lebb_branch_ready(branch);
    } else {
        ebb_cancel(call->op);
    }
}

void lebb_call_drop(lebb_branch *branch)
{
    lebb_call *call = branch->call;

    branch->call = NULL;
    if (!call)
        return;
    call->branch = NULL;
    if (call->op) {
        ebb_cancel(call->op); /* on_done frees it, now or later */
        return;
    }
    if (call->timer)
        ebb_timer_cancel(call->timer);
    free_call(call);
}

bool lebb_call_done(const lebb_call *call)
{
    return call->done;
}

int lebb_call_finish(lua_State *L, lebb_branch *branch)
{
    lebb_call *call = branch->call;

    if (!call) { /* dropped by a cancel */
        branch->cancel = LEBB_CANCEL_DELIVERED;
        return lebb_raise_cancelled(L);
    }
    if (call->failed) {
        /* Any error unwinds, so a cancel that was wanted has its effect. */
        if (branch->cancel == LEBB_CANCEL_WANTED && branch->shield == 0)
            branch->cancel = LEBB_CANCEL_DELIVERED;
        lebb_error_push(L, &call->err, call->out);
        lebb_call_drop(branch);
        return lua_error(L);
    }
    if (!call->out) {
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
