/* SPDX-License-Identifier: MIT */

/*
 * A call kept as a step of a run: its intent before the effect, its attempts
 * between them, its outcome before the caller hears of it.
 */

#include "ebb_op.h"
#include "ebb_run_private.h"

#include <string.h>

#include "base/crash.h"

/* ---- the effect ---- */

/* The attempt ended while its intent was being committed: end it now. */
static void intended(void *context, const ebb_err *err)
{
    ebb_op *op = context;
    ebb_attempt_fn *proceed = op->proceed, *cancel;

    op->proceed = NULL;
    if (op->ended_early) {
        op->ended_early = false;
        ebb_op_end(op);
        return;
    }
    if (err == NULL) {
        proceed(&op->attempt);
        return;
    }
    op->refused = *err;
    op->cancelled = true;
    cancel = op->attempt.cancel;
    op->attempt.cancel = NULL;
    if (cancel != NULL)
        cancel(&op->attempt);
}

static void before_effect(ebb_attempt *attempt, ebb_attempt_fn *proceed)
{
    ebb_op *op = attempt->starter;

    ebb_crash_at(EBB_CRASH_CONNECTED);
    if (op->task->retry_class != EBB_RETRY_NONE) {
        proceed(attempt); /* its intent is committed already */
        return;
    }
    op->proceed = proceed;
    ebb_flow_step_intend(op->step, intended, op);
}

/* ---- between attempts ---- */

static void noted(void *context, const ebb_err *err)
{
    ebb_op *op = context;
    ebb_err stopped = { 0 };
    int64_t left = op->retry_at_ms - ebb_clock_steady_ms(op->rt->clock);

    if (err != NULL)
        stopped = *err;
    else if (op->cancelled)
        ebb_err_set(&stopped, EBB_CANCELLED, "%s was cancelled", op->name);
    if (stopped.code != EBB_OK)
        ebb_op_fail(op, &stopped);
    else
        ebb_op_wait(op, left > 0 ? left : 0);
}

static void waits(ebb_op *op, int64_t wait_ms)
{
    op->retry_at_ms = ebb_clock_steady_ms(op->rt->clock) + wait_ms;
    ebb_flow_step_retry(op->step, op->number,
                        ebb_clock_wall_ms(op->rt->clock) + wait_ms, &op->err,
                        noted, op);
}

/* ---- begin and end ---- */

/* A recorded time to wait for is kept, but no clock's jump makes it long. */
static void go_on(ebb_op *op)
{
    int64_t left = op->step->next_ms - ebb_clock_wall_ms(op->rt->clock);
    int most = ebb_retry_attempts(op->task->retry_class) - 1;

    op->number = op->step->attempts < most ? op->step->attempts : most;
    if (left > EBB_RETRY_AFTER_MAX_MS * 2)
        left = EBB_RETRY_AFTER_MAX_MS * 2;
    if (op->number > 0 && left > 0)
        ebb_op_wait(op, left);
    else
        ebb_op_attempt(op);
}

static bool needs_backend(const ebb_op *op)
{
    return op->err.code == EBB_OK && strncmp(op->name, "e2b.", 4) == 0;
}

/* A run that would change its back end stops: nothing goes out. */
static bool goes_out(ebb_op *op)
{
    if (op->err.code != EBB_OK)
        return false; /* bad input is an outcome like any */
    if (!needs_backend(op) || ebb_run_keep_backend(op->run, &op->err) == 0)
        return true;
    ebb_flow_give_up(op->run->flow, &op->err);
    return false;
}

static void on_step(void *context, ebb_flow_step *run, ebb_value *out,
                    const ebb_err *err)
{
    ebb_op *op = context;

    if (run == NULL) {
        op->done(op->context, out, err);
        ebb_op_free(op);
    } else if (goes_out(op)) {
        go_on(op);
    } else {
        ebb_op_end(op);
    }
}

static void ends(ebb_op *op)
{
    bool failed;

    if (op->proceed != NULL) { /* the journal still has it */
        op->ended_early = true;
        return;
    }
    ebb_crash_at(EBB_CRASH_ANSWERED);
    if (op->refused.code != EBB_OK)
        op->err = op->refused;
    failed = op->err.code != EBB_OK;
    ebb_flow_step_finish(op->step, failed, ebb_op_outcome(op), on_step, op);
}

static void cancels(ebb_op *op)
{
    ebb_flow_step_cancel(op->step);
}

ebb_op *ebb_start_step(ebb_run *run, const char *path, const char *task,
                       const ebb_value *input, ebb_done_fn *done,
                       void *context, ebb_err *err)
{
    static const ebb_op_keeper keeper = { .before_effect = before_effect,
                                          .waits = waits,
                                          .ends = ends,
                                          .cancels = cancels };
    ebb_op *op = ebb_op_new(run->rt, task, input, err);
    ebb_flow_ask ask = { .path = path, .name = task, .input = input,
                         .retry_class = EBB_RETRY_NONE,
                         .intent_later = true, .fn = on_step };

    if (op == NULL)
        return NULL;
    op->done = done;
    op->context = context;
    op->keeper = &keeper;
    op->run = run;
    if (op->task != NULL)
        ask.retry_class = op->task->retry_class;
    ask.context = op;
    op->step = ebb_flow_step_ask(run->flow, &ask, err);
    if (op->step == NULL) {
        ebb_op_free(op);
        return NULL;
    }
    if (needs_backend(op) && !op->step->recorded)
        ebb_run_mark_backend(run);
    return op;
}

/* ---- when the run is closed ---- */

bool ebb_run_has_ops(const ebb_run *run)
{
    const ebb_op *op = run->rt->ops;

    while (op != NULL && op->run != run)
        op = op->next;
    return op != NULL;
}

void ebb_run_ops_cancel(ebb_run *run)
{
    for (ebb_op *op = run->rt->ops; op != NULL; op = op->next)
        if (op->run == run)
            ebb_cancel(op);
}

static void drop_end(ebb_op *op)
{
    ebb_op_free(op);
}

static void drop(ebb_op *op)
{
    static const ebb_op_keeper dropped = { .ends = drop_end };

    if (op->stage != EBB_OP_ATTEMPT || op->ended_early) {
        ebb_op_free(op);
        return;
    }
    op->keeper = &dropped; /* until its handler ends the attempt */
    op->run = NULL;
    op->step = NULL;
}

void ebb_run_ops_drop(ebb_run *run)
{
    ebb_op *next;

    for (ebb_op *op = run->rt->ops; op != NULL; op = next) {
        next = op->next;
        if (op->run == run)
            drop(op);
    }
}
