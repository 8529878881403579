/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a branch waits for outside Lua: a task the core runs, or a timer. The
 * record is C memory, because the core's callback may come when the branch,
 * or its whole state, is gone; then the callback frees it.
 */

#include "lua/lsched.h"

/*
 * Start one for the branch, which is then to yield. -1: err, and no call. A
 * name is cut at 63 bytes for what is shown.
 */
int lebb_call_start(lebb_branch *branch, const char *task,
                    const ebb_value *input, ebb_err *err);
int lebb_call_sleep(lebb_branch *branch, int64_t ms, ebb_err *err);

/* Asks it to end; at_once: the branch does not wait for the answer. */
void lebb_call_cancel(lebb_call *call, bool at_once);

/* The branch no longer waits: the call is cancelled if need be, and freed. */
void lebb_call_drop(lebb_branch *branch);

bool lebb_call_done(const lebb_call *call);

/* In the continuation: pushes the result, returning 1 (0 for a sleep), or
 * raises. */
int lebb_call_finish(lua_State *L, lebb_branch *branch);

/* What it does, for people. */
void lebb_call_show(const lebb_call *call, ebb_lua_activity *activity);
