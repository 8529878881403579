/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Arguments of ebb's Lua functions: each check raises invalid_input that names
 * the function, the argument and what was got.
 */

#include "lua/ebb_lua.h"

/* At most one argument, a table or nothing. */
void lebb_check_input(lua_State *L, const char *what);

/* A function, or a value that can be called. arg as people count it. */
void lebb_check_callable(lua_State *L, int index, const char *what,
                         const char *argument);

/* Seconds, from 0 to a thousand years, as ms rounded up. */
int64_t lebb_check_seconds(lua_State *L, int index, const char *what);

/* A string without NUL. Borrowed from the stack. */
const char *lebb_check_text(lua_State *L, int index, const char *what,
                            const char *argument);
