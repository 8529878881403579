/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Coroutines inside ebb: the coroutine library's functions, made so that a
 * wait inside a script's coroutine passes up to the scheduler, and so that
 * every coroutine's to-be-closed variables may wait when it ends by an error
 * or by coroutine.close: the body runs inside a protected call.
 */

#include "lua/ebb_lua.h"

/* What a waiting coroutine yields: a light userdata no script can make. */
void lebb_coro_push_wait(lua_State *L);
bool lebb_coro_is_wait(lua_State *L, int index);

/*
 * Pushes a body that calls the function at the top, which is popped. It ends
 * with the results, or the error, then whether it succeeded, and a mark.
 * handler: errors get a traceback.
 */
void lebb_coro_push_body(lua_State *L, bool handler);

/* Pops flag and mark from a body that has ended; false if it was none. */
bool lebb_coro_ended(lua_State *co, bool *ok);

/* Replaces the functions in the table `coroutine`. */
void lebb_coro_install(lua_State *L);
