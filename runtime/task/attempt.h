/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One attempt of a task: what a handler gets and how it answers. A handler
 * knows nothing of retries, runs or Lua; whoever starts the attempt decides
 * what happens before the effect and after the end.
 *
 * Contract: a handler ends its attempt exactly once, by ebb_attempt_finish or
 * ebb_attempt_fail, possibly before it returns; after that it must not touch
 * the attempt. A cancelled attempt still ends once (usually by _fail).
 */

#include "base/clock.h"
#include "base/err.h"
#include "base/value.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ebb_attempt ebb_attempt;
typedef void ebb_attempt_fn(ebb_attempt *attempt);

#define EBB_NO_DEADLINE INT64_MAX

/* What the starter of an attempt provides. */
typedef struct ebb_attempt_hooks {
    /*
     * Called by the handler before the bytes that execute: the starter calls
     * proceed, at once or later, when they may go out; or it cancels the
     * attempt instead. NULL: proceeds at once.
     */
    void (*before_effect)(ebb_attempt *attempt, ebb_attempt_fn *proceed);
    /*
     * The end. result is NULL on failure, then err is set. Both values are
     * the callee's now. details may be NULL.
     */
    void (*after)(ebb_attempt *attempt, ebb_value *result, const ebb_err *err,
                  ebb_value *details);
} ebb_attempt_hooks;

struct ebb_attempt {
    /* Set by the starter. */
    const ebb_value *input; /* checked, defaults filled in; borrowed */
    const ebb_clock *clock;
    int64_t deadline_ms; /* on the steady clock, or EBB_NO_DEADLINE */
    int number;          /* 1 for the first */
    const ebb_attempt_hooks *hooks;
    void *starter;

    /* Set from the registry: whatever the task was registered with. */
    void *context;

    /* The handler's own. */
    void *state;
    /*
     * Called at most once when the attempt is to stop early: the handler
     * frees what it holds open and ends the attempt, soon. NULL: the attempt
     * cannot be stopped and is waited for.
     */
    ebb_attempt_fn *cancel;
};

void ebb_attempt_before_effect(ebb_attempt *attempt, ebb_attempt_fn *proceed);

/* Whether that may put the effect off, or prevent it. */
bool ebb_attempt_may_wait(const ebb_attempt *attempt);

/* Ends the attempt; result moves. NULL is reported as EBB_NO_MEMORY. */
void ebb_attempt_finish(ebb_attempt *attempt, ebb_value *result);

/* Ends the attempt; details (an object or NULL) moves. */
void ebb_attempt_fail(ebb_attempt *attempt, const ebb_err *err,
                      ebb_value *details);

/* Milliseconds until the deadline, at least 0, at most otherwise_ms. */
int64_t ebb_attempt_left_ms(const ebb_attempt *attempt, int64_t otherwise_ms);
