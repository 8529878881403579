/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a branch waits for outside Lua: a task the core runs, a timer, and in a
 * durable run a step. The record is C memory, because the core's callback may
 * come when the branch, or its whole state, is gone; then the callback frees
 * it.
 */

#include "lua/lsched.h"

/*
 * Start one for the branch, which is then to yield. -1: err, and no call. A
 * name is cut at 63 bytes for what is shown. In a run each is a step.
 */
int lebb_call_start(lebb_branch *branch, const char *task,
                    const ebb_value *input, ebb_err *err);
int lebb_call_sleep(lebb_branch *branch, int64_t ms, ebb_err *err);

/* Asks it to end; at_once: its branch does not wait for the answer. */
void lebb_call_cancel(lebb_call *call, bool at_once);

/* The branch no longer waits: the call is cancelled if need be, and freed. */
void lebb_call_drop(lebb_branch *branch);

/* The same of a call that no branch holds. NULL is fine. */
void lebb_call_release(lebb_call *call);

bool lebb_call_done(const lebb_call *call);

/* In the continuation: pushes the result, returning 1 (0 for a sleep), or
 * raises. */
int lebb_call_finish(lua_State *L, lebb_branch *branch);

/* Raises the error of a call that failed. */
int lebb_call_raise(lua_State *L, lebb_branch *branch, const lebb_call *call);

/* What it does, for people. */
void lebb_call_show(const lebb_call *call, ebb_lua_activity *activity);

/* ---- lstep.c: steps that the binding runs itself ---- */

typedef enum lebb_step_kind {
    LEBB_STEP_NONE,
    LEBB_STEP_SLEEP,  /* ends when wake_ms has come */
    LEBB_STEP_NOW,    /* ends at once with the clock's reading */
    LEBB_STEP_BODY,   /* ebb.step: a function of the script is its body */
    LEBB_STEP_GROUP,  /* a combinator: ends when it is decided */
    LEBB_STEP_TIMEOUT /* the same, or when wake_ms has come */
} lebb_step_kind;

typedef struct lebb_step_ask {
    lebb_step_kind kind;
    const char *name, *step_class;
    const ebb_value *input;
    int64_t wake_ms; /* wall clock */
} lebb_step_ask;

/*
 * Asks for the next step of a branch in a run. The caller holds the record
 * (branch->call, or a group); path (LEBB_PATH_BYTES) is set, or NULL. NULL
 * with err.
 */
lebb_call *lebb_step_start(lebb_branch *branch, const lebb_step_ask *ask,
                           char *path, ebb_err *err);

/* Whether the body is to run now. */
bool lebb_step_given(const lebb_call *call);

/* Records the outcome of a body; the value, or the error object, moves. */
void lebb_step_end(lebb_call *call, ebb_value *out, const ebb_err *err);

/* A combinator's outcome, unless it has one: which branch decided (0: all, or
 * none), and how. Recorded as soon as it may be. */
void lebb_step_decide(lebb_call *call, int64_t branch, const char *word);

/* The recorded outcome of a call that is done, or NULL. */
const ebb_value *lebb_step_outcome(const lebb_call *call);
bool lebb_step_failed(const lebb_call *call);
