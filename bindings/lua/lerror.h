/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Errors between C and Lua. A raised error is a table {code, message, task?,
 * retryable, attempts, …} whose tostring is one readable line; pcall gives it
 * back as it is. There is one way into Lua from C outside a coroutine,
 * lebb_pcall, and one way out for a failure, lebb_raise.
 */

#include "lua/ebb_lua.h"

/* Sets up the metatable; once per state. */
void lebb_error_init(lua_State *L);

/* Pushes the error table of err, or of object (borrowed) when there is one. */
void lebb_error_push(lua_State *L, const ebb_err *err, const ebb_value *object);

/* Raises err; written `return lebb_raise(L, &err)`. */
int lebb_raise(lua_State *L, const ebb_err *err);

/* The same with the code and message at once. */
int lebb_raise_code(lua_State *L, ebb_code code, const char *fmt, ...)
    EBB_PRINTF(3, 4);

/* Makes `cancelled` of message and raises it. */
int lebb_raise_cancelled(lua_State *L);

/*
 * A message handler: any error value becomes an error table with a traceback;
 * a plain one has the code `script`.
 */
int lebb_traceback(lua_State *L);

/* lua_pcall with that handler. */
int lebb_pcall(lua_State *L, int args, int results);

/*
 * Reads the error value at the top: fills err and, if out is not NULL, sets
 * *out to its object, the caller's (NULL if there is no memory). Raises
 * nothing; pops the value.
 */
void lebb_error_take(lua_State *L, ebb_err *err, ebb_value **out);
