/* SPDX-License-Identifier: MIT */
#include "lua/lvalue.h"

#include <lauxlib.h>
#include <string.h>

#define BOX_NAME   "ebb.box"
#define ARRAY_NAME "ebb.array"

static int l_box_gc(lua_State *L)
{
    ebb_value **box = luaL_checkudata(L, 1, BOX_NAME);

    ebb_value_free(*box);
    *box = NULL;
    return 0;
}

ebb_value **lebb_value_box(lua_State *L)
{
    ebb_value **box = lua_newuserdatauv(L, sizeof(void *), 0);

    *box = NULL;
    luaL_setmetatable(L, BOX_NAME);
    return box;
}

ebb_value *lebb_value_take(ebb_value **box)
{
    ebb_value *value = *box;

    *box = NULL;
    return value;
}

static void push_object(lua_State *L, const ebb_value *value, unsigned how)
{
    void *place_ = NULL;
    const char *key;
    ebb_value *member;

    lua_createtable(L, 0, (int)ebb_value_size(value));
    while (ebb_value_next(value, &place_, &key, &member)) {
        if (ebb_value_type(member) == EBB_NULL && !(how & LEBB_VALUE_NULLS))
            continue;
        lua_pushlstring(L, key, strlen(key)); /* past Lua's cache by address */
        lebb_value_push(L, member, how);
        lua_rawset(L, -3);
    }
}

static void push_array(lua_State *L, const ebb_value *value, unsigned how)
{
    size_t n = ebb_value_size(value);

    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        lebb_value_push(L, ebb_value_at(value, i), how);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lebb_value_mark(L);
}

void lebb_value_push(lua_State *L, const ebb_value *value, unsigned how)
{
    size_t n;
    const char *bytes;

    luaL_checkstack(L, 8, "the value is nested too deeply");
    if (!value) {
        lua_pushnil(L);
        return;
    }
    switch (ebb_value_type(value)) {
    case EBB_NULL:
        lua_pushlightuserdata(L, NULL);
        break;
    case EBB_BOOL:
        lua_pushboolean(L, ebb_value_get_bool(value));
        break;
    case EBB_INT:
        lua_pushinteger(L, ebb_value_get_int(value));
        break;
    case EBB_FLOAT:
        lua_pushnumber(L, ebb_value_get_float(value));
        break;
    case EBB_STRING:
        bytes = ebb_value_get_string(value, &n);
        lua_pushlstring(L, bytes, n);
        break;
    case EBB_ARRAY:
        push_array(L, value, how);
        break;
    case EBB_OBJECT:
        push_object(L, value, how);
        break;
    }
}

bool lebb_value_marked(lua_State *L, int index)
{
    bool marked;

    if (!lua_getmetatable(L, index))
        return false;
    luaL_getmetatable(L, ARRAY_NAME);
    marked = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return marked;
}

void lebb_value_mark(lua_State *L)
{
    luaL_setmetatable(L, ARRAY_NAME);
}

int lebb_value_array(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_getmetatable(L, 1) && !lebb_value_marked(L, 1))
        return luaL_argerror(L, 1, "the table has a metatable of its own");
    lua_settop(L, 1);
    lebb_value_mark(L);
    return 1;
}

void lebb_value_init(lua_State *L)
{
    static const luaL_Reg box[] = { { "__gc", l_box_gc }, { NULL, NULL } };

    luaL_newmetatable(L, BOX_NAME);
    luaL_setfuncs(L, box, 0);
    luaL_newmetatable(L, ARRAY_NAME);
    lua_pop(L, 2);
}
