/* SPDX-License-Identifier: MIT */

/*
 * A started call: checks the input, runs attempts one after the other as the
 * retry policy says, ends once. Every turn of its life begins at the top of
 * the loop, so nothing calls back from inside what a caller or handler does.
 */

#include "ebb_private.h"

#include <string.h>

typedef enum stage {
    STAGE_BEGIN,   /* the next turn begins the first attempt */
    STAGE_ATTEMPT, /* an attempt is in flight */
    STAGE_WAIT,    /* the timer begins the next attempt */
    STAGE_ENDED    /* the next turn tells the caller */
} stage;

struct ebb_op {
    ebb_runtime *rt;
    ebb_op *next;
    const ebb_task *task; /* NULL: a name that is not registered */
    char *name;
    ebb_value *input;
    stage stage;
    int number; /* attempts begun */
    bool cancelled;
    ebb_attempt attempt;
    ebb_loop_timer *timer;
    int64_t retry_at_ms;
    ebb_value *result, *details;
    ebb_err err;
    ebb_done_fn *done;
    void *context;
};

static void unlink_op(ebb_op *op)
{
    ebb_op **link = &op->rt->ops;

    while (*link != op)
        link = &(*link)->next;
    *link = op->next;
}

static void free_op(ebb_op *op)
{
    ebb_loop_timer_free(op->timer);
    ebb_value_free(op->input);
    ebb_value_free(op->result);
    ebb_value_free(op->details);
    ebb_mem_free(op->name);
    ebb_mem_free(op);
}

/* Tells the caller, in a turn of its own. */
static void tell(void *context)
{
    ebb_op *op = context;
    ebb_value *out = op->result;

    unlink_op(op);
    if (op->err.code != EBB_OK) {
        out = ebb_error_object(op->name, op->input, &op->err, op->number,
                               op->details);
        op->details = NULL;
    }
    op->result = NULL;
    op->done(op->context, out, op->err.code == EBB_OK ? NULL : &op->err);
    free_op(op);
}

static void end(ebb_op *op)
{
    op->stage = STAGE_ENDED;
    if (ebb_loop_defer(op->rt->loop, tell, op) < 0)
        tell(op); /* no memory to wait for the next turn */
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
        end(op);
        return;
    }
    op->err = *err;
    if (!op->cancelled)
        wait = ebb_retry_next(&waits, op->task->retry_class, op->number, err,
                              attempt->deadline_ms);
    if (wait < 0) {
        op->details = details;
        end(op);
        return;
    }
    ebb_value_free(details);
    op->stage = STAGE_WAIT;
    op->retry_at_ms = ebb_clock_steady_ms(op->rt->clock) + wait;
    ebb_loop_timer_start(op->timer, wait);
}

static void begin_attempt(void *context)
{
    static const ebb_attempt_hooks hooks = { .after = after };
    ebb_op *op = context;

    op->number++;
    op->stage = STAGE_ATTEMPT;
    op->attempt = (ebb_attempt){
        .input = op->input,
        .clock = op->rt->clock,
        .deadline_ms = EBB_NO_DEADLINE,
        .number = op->number,
        .hooks = &hooks,
        .starter = op,
        .context = op->task->context,
    };
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
        return op->input != NULL ? 0 : -1;
    }
    if (op->input == NULL)
        return ebb_err_set(&op->err, EBB_NO_MEMORY, "%s: input", op->name);
    return 0;
}

static ebb_op *new_op(ebb_runtime *rt, const char *task)
{
    ebb_op *op = ebb_mem_zero(sizeof *op);

    if (op == NULL)
        return NULL;
    op->rt = rt;
    op->task = ebb_registry_find(rt->registry, task);
    op->name = ebb_mem_dup(task);
    op->timer = ebb_loop_timer_new(rt->loop, begin_attempt, op);
    if (op->name == NULL || op->timer == NULL) {
        free_op(op);
        return NULL;
    }
    return op;
}

ebb_op *ebb_start(ebb_runtime *rt, const char *task, const ebb_value *input,
                  ebb_done_fn *done, void *context, ebb_err *err)
{
    ebb_op *op = new_op(rt, task);
    ebb_loop_fn *first = begin_attempt;

    if (op == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "start %s", task);
        return NULL;
    }
    op->done = done;
    op->context = context;
    if (check_input(op, input) < 0) {
        op->stage = STAGE_ENDED;
        first = tell;
        /* What was asked for is still worth naming in the error object. */
        if (ebb_value_find_string(input, "sandboxId") != NULL)
            op->input = ebb_value_copy(input);
    }
    if (ebb_loop_defer(rt->loop, first, op) < 0) {
        free_op(op);
        ebb_err_set(err, EBB_NO_MEMORY, "start %s", task);
        return NULL;
    }
    op->next = rt->ops;
    rt->ops = op;
    return op;
}

void ebb_cancel(ebb_op *op)
{
    ebb_attempt_fn *cancel;

    if (op->cancelled || op->stage == STAGE_ENDED)
        return;
    op->cancelled = true;
    if (op->stage == STAGE_ATTEMPT) {
        cancel = op->attempt.cancel;
        op->attempt.cancel = NULL;
        if (cancel != NULL)
            cancel(&op->attempt);
        return;
    }
    ebb_loop_timer_cancel(op->timer);
    ebb_loop_defer_cancel(op->rt->loop, begin_attempt, op);
    ebb_err_set(&op->err, EBB_CANCELLED, "%s was cancelled", op->name);
    end(op);
}

void ebb_op_progress(const ebb_op *op, int *attempt, int64_t *wait_ms)
{
    int64_t left = 0;

    if (op->stage == STAGE_WAIT)
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

/* ---- blocking ---- */

typedef struct waiting {
    bool ended;
    ebb_value *out;
    ebb_err err;
} waiting;

static void waited(void *context, ebb_value *out, const ebb_err *err)
{
    waiting *w = context;

    w->ended = true;
    w->out = out;
    if (err != NULL)
        w->err = *err;
}

int ebb_call(ebb_runtime *rt, const char *task, const ebb_value *input,
             ebb_value **out, ebb_err *err)
{
    waiting w = { 0 };

    *out = NULL;
    if (ebb_loop_is_hosted(rt->loop))
        return ebb_err_set(err, EBB_UNSUPPORTED,
                           "%s: ebb_call would block the host's loop; "
                           "use ebb_start", task);
    if (ebb_start(rt, task, input, waited, &w, err) == NULL)
        return -1;
    while (!w.ended)
        ebb_loop_run(rt->loop, -1);
    *out = w.out;
    if (w.err.code == EBB_OK)
        return 0;
    *err = w.err;
    return -1;
}

int ebb_call_json(ebb_runtime *rt, const char *task, const char *input,
                  char **out, ebb_err *err)
{
    ebb_value *in = NULL, *answer = NULL;
    int result;

    *out = NULL;
    if (input != NULL) {
        in = ebb_value_parse(input, strlen(input), 0, err);
        if (in == NULL) {
            err->code = EBB_INVALID_INPUT;
            return ebb_err_wrap(err, "%s: input", task);
        }
    }
    result = ebb_call(rt, task, in, &answer, err);
    if (answer != NULL)
        *out = ebb_value_write(answer, EBB_WRITE_COMPACT, NULL);
    if (result == 0 && *out == NULL)
        result = ebb_err_set(err, EBB_NO_MEMORY, "%s: result", task);
    ebb_value_free(in);
    ebb_value_free(answer);
    return result;
}
