/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tables to values and back, exactly: int64, floats, empty lists. A table with
 * the keys 1..n is a list, one marked by ebb.array or made from JSON too when
 * it is empty; any other is an object with string keys. Metamethods are not
 * asked.
 */

#include "lua/ebb_lua.h"

/* How to convert. */
#define LEBB_VALUE_EXACT 0u
/*
 * Relaxed is lua-cjson's reading: a mixed table is an object, a few holes in a
 * list are null, a whole float is written without ".0".
 */
#define LEBB_VALUE_RELAXED 1u
#define LEBB_VALUE_NULLS   2u /* null members become ebb.null, not absent */

#define LEBB_VALUES_MAX 1000000 /* in one conversion */

/* Sets up the metatables; once per state. */
void lebb_value_init(lua_State *L);

/*
 * Pushes an empty box: a userdata that frees what *box holds. Whatever must
 * not leak when Lua raises lives in one.
 */
ebb_value **lebb_value_box(lua_State *L);

/* The value in a box, now the caller's. */
ebb_value *lebb_value_take(ebb_value **box);

/*
 * Converts the value at index into a box that it pushes. (An empty table is an
 * object; where a task wants a list its check takes it as one.) Raises
 * invalid_input: "<what>: files[3].content: a function is not JSON".
 */
ebb_value **lebb_value_check(lua_State *L, int index, const char *what,
                             unsigned how);

/* Pushes value (borrowed; NULL: nil). */
void lebb_value_push(lua_State *L, const ebb_value *value, unsigned how);

/* Marks the table at the top as a list; whether one is marked. */
void lebb_value_mark(lua_State *L);
bool lebb_value_marked(lua_State *L, int index);

/* ebb.array(t): the same table, marked. */
int lebb_value_array(lua_State *L);
