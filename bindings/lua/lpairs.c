/* SPDX-License-Identifier: MIT */
/*
 * pairs in a durable run: integers, floats, strings by bytes, booleans, then
 * other keys in raw order. Lua's own order of strings differs from process to
 * process. Outside a run it is Lua's pairs.
 *
 * It walks over the keys that were there when it began; one whose value has
 * become nil is left out, as with Lua's. next stays as it is.
 */
#include "lua/ldurable.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { INTEGER, FLOAT, STRING, BOOLEAN, OTHER } kind;

typedef struct key {
    kind kind;
    union {
        lua_Integer integer; /* of another key: its place */
        lua_Number number;
        const char *text;
    } as;
    size_t n;          /* of text */
    lua_Integer place; /* among the keys as they came */
} key;

static int compare_text(const key *a, const key *b)
{
    int order = memcmp(a->as.text, b->as.text, a->n < b->n ? a->n : b->n);

    return order ? order : (a->n > b->n) - (a->n < b->n);
}

static int compare(const void *left, const void *right)
{
    const key *a = left, *b = right;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    switch (a->kind) {
    case FLOAT:
        return (a->as.number > b->as.number) - (a->as.number < b->as.number);
    case STRING:
        return compare_text(a, b);
    default:
        return (a->as.integer > b->as.integer) -
               (a->as.integer < b->as.integer);
    }
}

/* Whether the table at 1 is a list, whose order is its own; sets *count. */
static bool is_list(lua_State *L, size_t *count)
{
    lua_Integer last = 0;
    bool list = true;

    *count = 0;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        list = list && lua_isinteger(L, -1) && lua_tointeger(L, -1) == ++last;
        ++*count;
    }
    return list;
}

/* Reads the key at the top. */
static key read_key(lua_State *L, lua_Integer place)
{
    key k = { .kind = OTHER, .as.integer = place, .place = place };

    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        k.kind = lua_isinteger(L, -1) ? INTEGER : FLOAT;
        if (k.kind == INTEGER)
            k.as.integer = lua_tointeger(L, -1);
        else
            k.as.number = lua_tonumber(L, -1);
        break;
    case LUA_TSTRING:
        k.kind = STRING;
        k.as.text = lua_tolstring(L, -1, &k.n);
        break;
    case LUA_TBOOLEAN:
        k.kind = BOOLEAN;
        k.as.integer = lua_toboolean(L, -1);
        break;
    default:
        break;
    }
    return k;
}

/*
 * Replaces what is above 1 by the list of the keys in order. Whenever Lua gives
 * memory, finalizers of the script may run and take keys out of the table: the
 * list of those that came keeps them.
 */
static void push_sorted(lua_State *L, size_t count)
{
    int room = count < INT32_MAX ? (int)count : 0;
    lua_Integer n = 0, others = 0;
    key *keys;

    lua_settop(L, 1);
    lua_createtable(L, room, 0);                              /* 2: they came */
    keys = lua_newuserdatauv(L, count * sizeof *keys + 1, 0); /* 3 */
    lua_createtable(L, room, 0);                              /* 4: in order */
    lua_pushnil(L);
    while ((size_t)n < count && lua_next(L, 1)) {
        lua_pop(L, 1);
        keys[n] = read_key(L, n + 1);
        others += keys[n].kind == OTHER;
        lua_pushvalue(L, -1);
        lua_rawseti(L, 2, ++n);
    }
    lua_settop(L, 4);
    qsort(keys, (size_t)n, sizeof *keys, compare);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, 2, keys[i].place);
        lua_rawseti(L, 4, i + 1);
    }
    if (others > 1)
        ebb_run_note_raw_order(lebb_durable_current(L));
    lua_replace(L, 2);
    lua_settop(L, 2);
}

/* The iterator: upvalue 1 is the list of keys, 2 how many were given. */
static int l_pairs_next(lua_State *L)
{
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(2));

    lua_settop(L, 1);
    while (lua_rawgeti(L, lua_upvalueindex(1), ++at) != LUA_TNIL) {
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 1) != LUA_TNIL) {
            lua_pushinteger(L, at);
            lua_replace(L, lua_upvalueindex(2));
            return 2;
        }
        lua_settop(L, 1);
    }
    return 1;
}

static int pairs_on(lua_State *L, int status, lua_KContext context)
{
    (void)L;
    (void)status;
    (void)context;
    return 3;
}

/* pairs(t): upvalue 1 is Lua's, upvalue 2 next. */
static int l_pairs(lua_State *L)
{
    size_t count;
    bool special;

    luaL_checkany(L, 1);
    special = luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL;
    if (special || !lebb_durable_current(L) || !lua_istable(L, 1)) {
        lua_settop(L, 1);
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_callk(L, 1, 3, 0, pairs_on);
        return 3;
    }
    lua_settop(L, 1);
    if (is_list(L, &count) || count < 2) {
        lua_settop(L, 1);
        lua_pushvalue(L, lua_upvalueindex(2));
    } else {
        push_sorted(L, count);
        lua_pushinteger(L, 0);
        lua_pushcclosure(L, l_pairs_next, 2);
    }
    lua_insert(L, 1);
    lua_pushnil(L);
    return 3;
}

void lebb_pairs_install(lua_State *L)
{
    lua_getglobal(L, "pairs");
    lua_getglobal(L, "next");
    lua_pushcclosure(L, l_pairs, 2);
    lua_setglobal(L, "pairs");
}
