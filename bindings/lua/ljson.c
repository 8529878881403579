/* SPDX-License-Identifier: MIT */
/*
 * JSON for scripts: ebb.json, exact, keys in order; and Debian's lua-cjson as
 * it is but for encode, whose keys come in order too. Lua's own order differs
 * from process to process, so that a durable run would not match itself.
 */
#include <lauxlib.h>
#include <string.h>

#include "lua/lcheck.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lvalue.h"

#define TEXT_NAME "ebb.text"

static int l_text_gc(lua_State *L)
{
    char **text = luaL_checkudata(L, 1, TEXT_NAME);

    ebb_free(*text);
    *text = NULL;
    return 0;
}

/* Pushes the value in the box as text. */
static int push_json(lua_State *L, ebb_value *const *box, unsigned how)
{
    char **text = lua_newuserdatauv(L, sizeof *text, 0);
    size_t n;

    *text = NULL;
    luaL_setmetatable(L, TEXT_NAME);
    *text = ebb_value_write(*box, how | EBB_WRITE_SORTED, &n);
    if (!*text)
        return lebb_raise_code(L, EBB_NO_MEMORY, "encode: no memory");
    lua_pushlstring(L, *text, n);
    ebb_free(*text);
    *text = NULL;
    return 1;
}

/* json_encode(value, pretty) */
static int l_json_encode(lua_State *L)
{
    unsigned how = lua_toboolean(L, 2) ? EBB_WRITE_PRETTY : EBB_WRITE_COMPACT;

    luaL_checkany(L, 1);
    lua_settop(L, 1);
    return push_json(
        L, lebb_value_check(L, 1, "ebb.json.encode", LEBB_VALUE_EXACT), how);
}

static int l_json_decode(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    ebb_value **box = lebb_value_box(L);
    ebb_err err;

    *box = ebb_value_parse(text, n, LEBB_VALUES_MAX, &err);
    if (!*box) {
        if (err.code == EBB_PROTOCOL)
            err.code = EBB_INVALID_INPUT;
        ebb_err_wrap(&err, "ebb.json.decode");
        return lebb_raise(L, &err);
    }
    lebb_value_push(L, *box, LEBB_VALUE_NULLS);
    return 1;
}

/* json_form(value, what): what a value is after a trip through JSON. */
static int l_json_form(lua_State *L)
{
    const char *what = luaL_checkstring(L, 2);
    ebb_value **box = lebb_value_check(L, 1, what, LEBB_VALUE_EXACT);

    if (ebb_value_type(*box) == EBB_NULL)
        lua_pushnil(L);
    else
        lebb_value_push(L, *box, LEBB_VALUE_EXACT);
    return 1;
}

/* ---- lua-cjson ---- */

static int l_cjson_encode(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    return push_json(L,
                     lebb_value_check(L, 1, "cjson.encode", LEBB_VALUE_RELAXED),
                     EBB_WRITE_COMPACT);
}

/* cjson.safe's way to fail: nil and the message. */
static int l_cjson_safe_encode(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushcfunction(L, l_cjson_encode);
    lua_insert(L, 1);
    if (lua_pcall(L, lua_gettop(L) - 1, 1, 0) == LUA_OK)
        return 1;
    lua_pushnil(L);
    luaL_tolstring(L, -2, NULL);
    return 2;
}

/* new(): upvalue 1 is the original, upvalue 2 our encode. */
static int l_cjson_new(lua_State *L)
{
    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_call(L, 0, 1);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setfield(L, 1, "encode");
    return 1;
}

/* Pushes what package.searchers, but not preload, finds for the module. */
static void load_original(lua_State *L, const char *name)
{
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "searchers");
    for (lua_Integer i = 2; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
        lua_pushstring(L, name);
        lua_call(L, 1, 2);
        if (lua_isfunction(L, -2)) {
            lua_pushstring(L, name);
            lua_insert(L, -2);
            lua_call(L, 2, 1);
            return;
        }
        lua_pop(L, 2);
    }
    lebb_raise_code(L, EBB_NOT_FOUND,
                    "lua-cjson for Lua 5.4 is not on package.cpath (Debian: "
                    "apt-get install lua-cjson)");
}

static int open_cjson(lua_State *L, const char *name, lua_CFunction encode)
{
    int module;

    load_original(L, name);
    luaL_checktype(L, -1, LUA_TTABLE);
    module = lua_gettop(L);
    lua_pushcfunction(L, encode);
    lua_setfield(L, module, "encode");
    lua_getfield(L, module, "new");
    lua_pushcfunction(L, encode);
    lua_pushcclosure(L, l_cjson_new, 2);
    lua_setfield(L, module, "new");
    lua_settop(L, module);
    return 1;
}

int lebb_open_cjson(lua_State *L)
{
    return open_cjson(L, "cjson", l_cjson_encode);
}

int lebb_open_cjson_safe(lua_State *L)
{
    return open_cjson(L, "cjson.safe", l_cjson_safe_encode);
}

void lebb_add_json(lua_State *L)
{
    static const luaL_Reg text[] = { { "__gc", l_text_gc }, { NULL, NULL } };
    static const luaL_Reg functions[] = { { "json_encode", l_json_encode },
                                          { "json_decode", l_json_decode },
                                          { "json_form", l_json_form },
                                          { "array", lebb_value_array },
                                          { NULL, NULL } };

    luaL_newmetatable(L, TEXT_NAME);
    luaL_setfuncs(L, text, 0);
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
    lua_pushlightuserdata(L, NULL); /* the same value as cjson.null */
    lua_setfield(L, -2, "null");
}
