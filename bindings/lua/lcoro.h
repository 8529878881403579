/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Coroutines inside ebb: the coroutine library's functions, made so that a
 * wait inside a script's coroutine passes up to the scheduler, and so that
 * every coroutine's to-be-closed variables may wait when it ends by an error
 * or by coroutine.close: the body runs inside a protected call.
 */

#include "lua/ebb_lua.h"

/* A mark is an address: a light userdata that no script can make. */
void lebb_coro_push_mark(lua_State *L, const char *mark);
bool lebb_coro_is_mark(lua_State *L, int index, const char *mark);

/* The mark that a waiting coroutine yields. */
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

typedef enum lebb_coro_status {
    LEBB_CORO_RUNNING,
    LEBB_CORO_SUSPENDED,
    LEBB_CORO_NORMAL, /* it has resumed another, or it waits */
    LEBB_CORO_DEAD
} lebb_coro_status;

lebb_coro_status lebb_coro_look(lua_State *L, lua_State *co);

/*
 * Runs co until it yields or ends and leaves true and its values on L, or
 * false and the error; returns how many. When co waits, L waits too and does
 * not return here: k goes on, with lebb_coro_run_on.
 */
int lebb_coro_run(lua_State *L, lua_State *co, int args, lua_KContext context,
                  lua_KFunction k);
int lebb_coro_run_on(lua_State *L, lua_State *co, lua_KContext context,
                     lua_KFunction k);

/* Moves the values above the first `below` to co and runs it, if it can be. */
int lebb_coro_start(lua_State *L, lua_State *co, int below, lua_KFunction k);

/* Replaces the functions in the table `coroutine`. */
void lebb_coro_install(lua_State *L);
