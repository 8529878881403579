/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where a wait is impossible: inside a comparator of table.sort, a callback of
 * string.gsub, a __tostring, a finalizer. Lua says "attempt to yield across a
 * C-call boundary"; here the error names the place and the way out.
 */

#include "lua/lsched.h"

/* Raises EBB_UNSUPPORTED when L, in a branch, cannot wait. */
void lebb_place_check(lua_State *L, lebb_sched *s, const char *what);
