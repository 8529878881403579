/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A started call, as ebb_call.c lives it and ebb_step.c, which keeps it as a
 * step of a run, sees it. Whoever starts a call chooses its keeper.
 */

#include "ebb_private.h"

typedef enum ebb_op_stage {
    EBB_OP_BEGIN,   /* the next turn, or the run, begins the first attempt */
    EBB_OP_ATTEMPT, /* an attempt is in flight */
    EBB_OP_NOTE,    /* the keeper notes the next attempt */
    EBB_OP_WAIT,    /* the timer begins the next attempt */
    EBB_OP_ENDED    /* the caller is told soon */
} ebb_op_stage;

/* What happens around a call besides itself; each member may be NULL. */
typedef struct ebb_op_keeper {
    void (*before_effect)(ebb_attempt *attempt, ebb_attempt_fn *proceed);
    /* Another attempt is due in wait_ms: ebb_op_wait, at once or later. */
    void (*waits)(ebb_op *op, int64_t wait_ms);
    /* It ended: the keeper tells the caller and frees it. */
    void (*ends)(ebb_op *op);
    /* It is to stop before its first attempt. */
    void (*cancels)(ebb_op *op);
} ebb_op_keeper;

struct ebb_op {
    ebb_runtime *rt;
    ebb_op *next;
    const ebb_task *task; /* NULL: a name that is not registered */
    char *name;
    ebb_value *input;
    ebb_op_stage stage;
    int number; /* attempts begun */
    bool cancelled;
    ebb_attempt attempt;
    ebb_loop_timer *timer;
    int64_t retry_at_ms;
    ebb_value *result, *details;
    ebb_err err;
    ebb_done_fn *done;
    void *context;

    const ebb_op_keeper *keeper; /* NULL: nobody keeps it */
    ebb_attempt_hooks hooks;

    /* ebb_step.c's. */
    ebb_run *run;
    struct ebb_flow_step *step;
    ebb_attempt_fn *proceed; /* while the intent is being committed */
    bool ended_early;        /* the attempt ended meanwhile */
    ebb_err refused;         /* why the effect may not be */
};

/*
 * A call with its input checked; err of the op says whether it is good. It is
 * in the runtime's list. NULL with err: no memory.
 */
ebb_op *ebb_op_new(ebb_runtime *rt, const char *task, const ebb_value *input,
                   ebb_err *err);

/* Out of the list, and freed. */
void ebb_op_free(ebb_op *op);

/* The first attempt, or the next one, now. */
void ebb_op_attempt(void *op);

/* The next attempt after wait_ms. */
void ebb_op_wait(ebb_op *op, int64_t wait_ms);

/* Ends it by err before or between attempts. */
void ebb_op_fail(ebb_op *op, const ebb_err *err);

/* The end, as result, err and details say. */
void ebb_op_end(ebb_op *op);

/* What the caller gets: the result or the error object; moved out. */
ebb_value *ebb_op_outcome(ebb_op *op);
