/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The state behind ebb_lua.h: lrun.c opens, polls and closes it, lscript.c
 * starts scripts and takes their results, lend.c ends a durable run. No other
 * file sees it.
 */

#include "lua/lsched.h"

#define LEBB_WARNING_BYTES 512

struct ebb_lua {
    lua_State *L;
    ebb_runtime *rt;
    lebb_sched *sched;
    /* The script's branch, anchored in the registry until it is taken. */
    lebb_branch *job;
    void (*before)(void *context);
    void *context;
    char warning[LEBB_WARNING_BYTES]; /* the parts so far */
};

/*
 * lend.c: with a run, commits that the script ended so and waits for it; the
 * run's own error replaces what is given. Returns the new result.
 */
int lebb_run_finish(ebb_lua *lua, int result, ebb_value **out, ebb_err *err);
