/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The state behind ebb_lua.h: lrun.c opens, polls and closes it, lscript.c
 * starts scripts and takes their results. No other file sees it.
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
