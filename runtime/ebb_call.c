/* SPDX-License-Identifier: MIT */

/*
 * A started call: checks the input, runs attempts one after the other as the
 * retry policy says, ends once. Every turn of its life begins at the top of
 * the loop, so nothing calls back from inside what a caller or handler does.
 */

#include "ebb_op.h"

static void unlink_op(ebb_op *op)
{
    ebb_op **link = &op->rt->ops;

    while (*link != NULL && *link != op)
        link = &(*link)->next;
    if (*link == op)
        *link = op->next;
}

void ebb_op_free(ebb_op *op)
{
    unlink_op(op);
    ebb_loop_timer_free(op->timer);
    ebb_value_free(op->input);
    ebb_value_free(op->result);
    ebb_value_free(op->details);
    ebb_mem_free(op->name);
    ebb_mem_free(op);
}

ebb_value *ebb_op_outcome(ebb_op *op)
{
    ebb_value *out = op->result;

    if (op->err.code != EBB_OK) {
        out = ebb_error_object(op->name, op->input, &op->err, op->number,
                               op->details);
        op->details = NULL;
    }
    op->result = NULL;
    return out;
}

/* Tells the caller, in a turn of its own. */
static void tell(void *context)
{
    ebb_op *op = context;
    ebb_value *out = ebb_op_outcome(op);

    unlink_op(op);
    op->done(op->context, out, op->err.code == EBB_OK ? NULL : &op->err);
    ebb_op_free(op);
}

void ebb_op_end(ebb_op *op)
{
    op->stage = EBB_OP_ENDED;
    if (op->keeper != NULL)
        op->keeper->ends(op);
    else if (ebb_loop_defer(op->rt->loop, tell, op) < 0)
        tell(op); /* no memory to wait for the next turn */
}

void ebb_op_fail(ebb_op *op, const ebb_err *err)
{
    op->err = *err;
    ebb_op_end(op);
}

void ebb_op_wait(ebb_op *op, int64_t wait_ms)
{
    op->stage = EBB_OP_WAIT;
    op->retry_at_ms = ebb_clock_steady_ms(op->rt->clock) + wait_ms;
    ebb_loop_timer_start(op->timer, wait_ms);
}

static void after(ebb_attempt *attempt, ebb_value *result, const ebb_err *err,
                  ebb_value *details)
{
    ebb_op *op = attempt->starter;
    const ebb_config *config = &op->rt->config;
    const ebb_retry_waits waits = {
        .clock = op->rt->clock,
        .base_ms = config->retry_base_ms,
        .jitter = config->jitter,
    };
    int64_t wait = -1;

    op->result = result;
    if (result != NULL) {
        op->err.code = EBB_OK;
        ebb_op_end(op);
        return;
    }
    op->err = *err;
    if (!op->cancelled)
        wait = ebb_retry_next(&waits, op->task->retry_class, op->number, err,
                              attempt->deadline_ms);
    if (wait < 0) {
        op->details = details;
        ebb_op_end(op);
        return;
    }
    ebb_value_free(details);
    op->stage = EBB_OP_NOTE;
    if (op->keeper != NULL)
        op->keeper->waits(op, wait);
    else
        ebb_op_wait(op, wait);
}

void ebb_op_attempt(void *context)
{
    ebb_op *op = context;

    op->number++;
    op->stage = EBB_OP_ATTEMPT;
    op->attempt = (ebb_attempt){
        .input = op->input,
        .clock = op->rt->clock,
        .deadline_ms = EBB_NO_DEADLINE,
        .number = op->number,
        .hooks = &op->hooks,
        .starter = op,
        .context = op->task->context,
    };
    op->hooks.after = after;
    if (op->keeper != NULL)
        op->hooks.before_effect = op->keeper->before_effect;
    op->task->start(&op->attempt);
}

/* The input as the handler gets it; a task without fields takes anything. */
static int check_input(ebb_op *op, const ebb_value *input)
{
    const ebb_task *task = op->task;

    if (task == NULL)
        return ebb_registry_unknown(op->rt->registry, op->name, &op->err);
    if (task->fields == NULL && input == NULL)
        op->input = ebb_value_object();
    else if (task->fields == NULL)
        op->input = ebb_value_copy(input);
    else {
        op->input = ebb_fields_check(task->name, task->fields,
                                     task->fields_count, input, &op->err);
        if (op->input != NULL && task->check != NULL &&
            task->check(op->input, &op->err) != 0) {
            ebb_value_free(op->input);
            op->input = NULL;
        }
        return op->input != NULL ? 0 : -1;
    }
    if (op->input == NULL)
        return ebb_err_set(&op->err, EBB_NO_MEMORY, "%s: input", op->name);
    return 0;
}

ebb_op *ebb_op_new(ebb_runtime *rt, const char *task, const ebb_value *input,
                   ebb_err *err)
{
    ebb_op *op = ebb_mem_zero(sizeof *op);

    if (op != NULL) {
        op->rt = rt;
        op->task = ebb_registry_find(rt->registry, task);
        op->name = ebb_mem_dup(task);
        op->timer = ebb_loop_timer_new(rt->loop, ebb_op_attempt, op);
    }
    if (op == NULL || op->name == NULL || op->timer == NULL) {
        if (op != NULL)
            ebb_op_free(op);
        ebb_err_set(err, EBB_NO_MEMORY, "start %s", task);
        return NULL;
    }
    /* What was asked for is still worth naming in the error object. */
    if (check_input(op, input) < 0 &&
        ebb_value_find_string(input, "sandboxId") != NULL)
        op->input = ebb_value_copy(input);
    op->next = rt->ops;
    rt->ops = op;
    return op;
}

ebb_op *ebb_start(ebb_runtime *rt, const char *task, const ebb_value *input,
                  ebb_done_fn *done, void *context, ebb_err *err)
{
    ebb_op *op = ebb_op_new(rt, task, input, err);
    ebb_loop_fn *first = ebb_op_attempt;

    if (op == NULL)
        return NULL;
    op->done = done;
    op->context = context;
    if (op->err.code != EBB_OK) {
        op->stage = EBB_OP_ENDED;
        first = tell;
    }
    if (ebb_loop_defer(rt->loop, first, op) < 0) {
        ebb_op_free(op);
        ebb_err_set(err, EBB_NO_MEMORY, "start %s", task);
        return NULL;
    }
    return op;
}

static void cancel_early(ebb_op *op)
{
    ebb_err err = { 0 };

    ebb_loop_timer_cancel(op->timer);
    ebb_loop_defer_cancel(op->rt->loop, ebb_op_attempt, op);
    ebb_err_set(&err, EBB_CANCELLED, "%s was cancelled", op->name);
    ebb_op_fail(op, &err);
}

void ebb_cancel(ebb_op *op)
{
    ebb_attempt_fn *cancel;

    if (op->cancelled || op->stage == EBB_OP_ENDED)
        return;
    op->cancelled = true;
    if (op->stage == EBB_OP_ATTEMPT) {
        cancel = op->attempt.cancel;
        op->attempt.cancel = NULL;
        if (cancel != NULL)
            cancel(&op->attempt);
    } else if (op->stage == EBB_OP_BEGIN && op->keeper != NULL) {
        op->keeper->cancels(op);
    } else if (op->stage != EBB_OP_NOTE) {
        cancel_early(op);
    } /* else the keeper sees it, once the attempt is noted */
}

void ebb_op_progress(const ebb_op *op, int *attempt, int64_t *wait_ms)
{
    int64_t left = 0;

    if (op->stage == EBB_OP_WAIT)
        left = op->retry_at_ms - ebb_clock_steady_ms(op->rt->clock);
    if (attempt != NULL)
        *attempt = op->number;
    if (wait_ms != NULL)
        *wait_ms = left > 0 ? left : 0;
}

void ebb_ops_cancel(ebb_runtime *rt)
{
    for (ebb_op *op = rt->ops; op != NULL; op = op->next)
        ebb_cancel(op);
}
