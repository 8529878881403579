/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The steps of one run by path: those the journal knows and those that were
 * asked for. It delivers nothing and writes nothing.
 *
 * Invariant: a step stays where it is until the table is cleared, and a path
 * is in it once.
 */

#include "base/digest.h"
#include "base/err.h"
#include "base/value.h"
#include "task/retry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBB_FLOW_STEPS_MAX 1000000
#define EBB_FLOW_PATH_BYTES_MAX 1024

typedef struct ebb_flow ebb_flow;
typedef struct ebb_flow_step ebb_flow_step;

/* A step that is to be run (err NULL, out NULL), or how it ended. */
typedef void ebb_flow_step_fn(void *context, ebb_flow_step *run,
                              ebb_value *out, const ebb_err *err);

typedef enum ebb_flow_stage {
    EBB_FLOW_KNOWN,    /* in the journal, not asked for */
    EBB_FLOW_HELD,     /* asked for, waits at the gate */
    EBB_FLOW_STARTING, /* its intent is being written */
    EBB_FLOW_RUNNING,  /* the caller runs it */
    EBB_FLOW_ENDING,   /* its outcome is being written */
    EBB_FLOW_READY,    /* its outcome waits for its turn */
    EBB_FLOW_DELIVERED
} ebb_flow_stage;

struct ebb_flow_step {
    ebb_flow *flow;
    char *path, *name;
    char digest[EBB_SHA256_HEX]; /* of the canonical input */
    ebb_retry_class retry_class;
    ebb_flow_stage stage;
    char *input; /* as the journal keeps it, while it is needed */

    /* What the journal knows. */
    bool intended;     /* it has a row */
    bool recorded;     /* it has an outcome, there or on the way there */
    bool too_large;    /* so the outcome is an error instead */
    bool failed;       /* the outcome is an error object */
    char *outcome;     /* its text, until it is delivered; NULL if large */
    ebb_value *value;  /* the same as a value */
    int attempts;      /* that failed and are followed by another */
    int64_t next_ms;   /* when, by the wall clock; 0: at once */
    int64_t wake_ms;   /* of a sleep, by the wall clock; 0: none */
    int64_t ended_ms;

    /* Who asked. */
    bool intent_later; /* the caller says when, by ebb_flow_step_intend */
    bool cancelled;
    bool in_turn; /* a turn of the loop is asked for */
    ebb_flow_step_fn *fn;
    void *context;
    /* An answer of the journal to come. */
    void (*written)(ebb_flow_step *step, const ebb_err *err);
    void (*noted)(void *context, const ebb_err *err);
    void *noted_context;
    ebb_flow_step *next_in_queue;
    ebb_flow_step *next_in_slot;
};

typedef struct ebb_flow_steps {
    ebb_flow_step **all; /* in the order they were added */
    size_t count, room;
    ebb_flow_step **slots;
    size_t slots_count; /* a power of two, or 0 */
} ebb_flow_steps;

/* A new step, owned by the table. NULL with err: no memory, or too many. */
ebb_flow_step *ebb_flow_steps_add(ebb_flow_steps *steps, const char *path,
                                  const char *name, ebb_err *err);
ebb_flow_step *ebb_flow_steps_find(const ebb_flow_steps *steps,
                                   const char *path);
void ebb_flow_steps_clear(ebb_flow_steps *steps);
void ebb_flow_step_free(ebb_flow_step *step);

/* ---- a queue of steps, first in, first out ---- */

typedef struct ebb_flow_queue {
    ebb_flow_step *first, *last;
} ebb_flow_queue;

void ebb_flow_queue_add(ebb_flow_queue *queue, ebb_flow_step *step);
ebb_flow_step *ebb_flow_queue_take(ebb_flow_queue *queue);
