/* SPDX-License-Identifier: MIT */
#pragma once

/* What lcall.c and lstep.c share: the record of one wait. */

#include "lua/lcall.h"

#define LEBB_NAME_BYTES 64

struct lebb_call {
    lebb_branch *branch; /* NULL: nobody waits any more */
    lebb_step_kind kind; /* LEBB_STEP_NONE: no step of its own */
    bool in_run;
    ebb_op *op;       /* NULL once done */
    ebb_timer *timer; /* NULL once done */
    ebb_step *step;   /* asked for, or given and not ended */
    bool given;       /* the step is ours to run */
    bool ending;      /* its outcome is being recorded */
    bool decided;     /* of a group: out is the outcome to record */
    bool done, failed;
    ebb_value *out; /* the result, or the error object */
    ebb_err err;
    double started_ms, due_ms;
    char name[LEBB_NAME_BYTES];
};

/* A record that the branch does not hold yet, or NULL with err. */
lebb_call *lebb_call_new(lebb_branch *branch, const char *name, ebb_err *err);
void lebb_call_free(lebb_call *call);

/* The answer has come: whoever waits is made ready, or the record is freed. */
void lebb_call_end(lebb_call *call);

/* lstep.c: of a record with a step; see lebb_call_cancel and _release. */
void lebb_step_cancel(lebb_call *call);
void lebb_step_release(lebb_call *call);
