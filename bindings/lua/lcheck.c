/* SPDX-License-Identifier: MIT */
#include "lua/lcheck.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "lua/lerror.h"
#include "lua/lmodule.h"

#define SECONDS_MAX 31556952000.0

static int wrong(lua_State *L, int index, const char *what,
                 const char *argument, const char *expected)
{
    return lebb_raise_code(L, EBB_INVALID_INPUT, "%s: %s: expected %s, got %s",
                           what, argument, expected, luaL_typename(L, index));
}

void lebb_check_input(lua_State *L, const char *what)
{
    int n = lua_gettop(L);

    if (n > 1)
        lebb_raise_code(L, EBB_INVALID_INPUT,
                        "%s: expected one table, got %d values", what, n);
    if (n == 1 && !lua_istable(L, 1) && !lua_isnil(L, 1))
        lebb_raise_code(L, EBB_INVALID_INPUT,
                        "%s: expected one table, got %s (write %s{…})", what,
                        luaL_typename(L, 1), what);
}

void lebb_check_callable(lua_State *L, int index, const char *what,
                         const char *argument)
{
    if (lua_isfunction(L, index))
        return;
    if (luaL_getmetafield(L, index, "__call") != LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    wrong(L, index, what, argument, "a function");
}

int64_t lebb_check_seconds(lua_State *L, int index, const char *what)
{
    lua_Number seconds = lua_tonumber(L, index);

    if (lua_type(L, index) != LUA_TNUMBER)
        return wrong(L, index, what, "seconds", "a number");
    if (!(seconds >= 0 && seconds <= SECONDS_MAX))
        return lebb_raise_code(L, EBB_INVALID_INPUT,
                               "%s: seconds: %.14g is not from 0 to a "
                               "thousand years",
                               what, seconds);
    return (int64_t)ceil(seconds * 1000);
}

const char *lebb_check_text(lua_State *L, int index, const char *what,
                            const char *argument)
{
    size_t n;
    const char *text;

    if (lua_type(L, index) != LUA_TSTRING) {
        wrong(L, index, what, argument, "a string");
        return NULL;
    }
    text = lua_tolstring(L, index, &n);
    if (strlen(text) != n)
        lebb_raise_code(L, EBB_INVALID_INPUT, "%s: %s: holds a NUL byte", what,
                        argument);
    return text;
}

/* raise(code, message) */
static int l_check_raise(lua_State *L)
{
    ebb_code code = ebb_code_find(luaL_checkstring(L, 1));

    return lebb_raise_code(L, code ? code : EBB_SCRIPT, "%s",
                           luaL_checkstring(L, 2));
}

/* check_callable(value, what, argument) */
static int l_check_callable(lua_State *L)
{
    lua_settop(L, 3);
    lebb_check_callable(L, 1, luaL_checkstring(L, 2), luaL_checkstring(L, 3));
    return 0;
}

/* check_seconds(value, what) */
static int l_check_seconds(lua_State *L)
{
    lua_settop(L, 2);
    lebb_check_seconds(L, 1, luaL_checkstring(L, 2));
    return 0;
}

void lebb_add_check(lua_State *L)
{
    static const luaL_Reg functions[] = { { "raise", l_check_raise },
                                          { "check_callable",
                                            l_check_callable },
                                          { "check_seconds", l_check_seconds },
                                          { NULL, NULL } };

    luaL_setfuncs(L, functions, 0);
}
