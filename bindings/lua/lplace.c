/* SPDX-License-Identifier: MIT */
#include "lua/lplace.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/lerror.h"

/* C functions that let a wait pass: they are not the place. */
static bool passes(const char *name)
{
    static const char *const names[] = { "pcall", "xpcall", "dofile",
                                         "coroutine.resume",
                                         "coroutine.close" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* The name under which the module table at the top has the value at 1. */
static const char *find_in_module(lua_State *L, int function)
{
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, function)) {
            lua_pop(L, 1);
            return lua_tostring(L, -1);
        }
        lua_pop(L, 1);
    }
    return NULL;
}

/* Pushes "table.sort" for the function at index, if a module has it. */
static bool push_name(lua_State *L, int function)
{
    const char *name = NULL, *module;
    int top = lua_gettop(L);

    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushnil(L);
    while (!name && lua_next(L, top + 1)) {
        int member = lua_gettop(L);
        module = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        name =
            module && lua_istable(L, -1) ? find_in_module(L, function) : NULL;
        if (name && strcmp(module, LUA_GNAME) == 0)
            lua_pushstring(L, name);
        else if (name)
            lua_pushfstring(L, "%s.%s", module, name);
        else
            lua_settop(L, member - 1);
    }
    if (name)
        lua_replace(L, top + 1);
    lua_settop(L, top + (name ? 1 : 0));
    return name != NULL;
}

/* Pushes what stands between L's top and its coroutine's start. */
static const char *push_place(lua_State *L)
{
    lua_Debug ar;

    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Snf", &ar);
        if (ar.name && strcmp(ar.name, "__gc") == 0)
            return lua_pushliteral(L, "a finalizer");
        if (*ar.what == 'C' && push_name(L, lua_gettop(L))) {
            if (!passes(lua_tostring(L, -1)))
                return lua_tostring(L, -1);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    return lua_pushliteral(L, "a C function");
}

void lebb_place_check(lua_State *L, lebb_sched *s, const char *what)
{
    lua_State *at = lua_isyieldable(L) ? s->blocked : L;
    const char *place;

    if (s->running != L) {
        lebb_raise_code(L, EBB_UNSUPPORTED,
                        "%s: cannot wait inside a coroutine that ebb did "
                        "not make",
                        what);
        return;
    }
    if (!at)
        return;
    luaL_checkstack(at, 8, NULL);
    place = push_place(at);
    lebb_raise_code(L, EBB_UNSUPPORTED,
                    "%s: cannot wait inside %s, which runs its functions to "
                    "their end; call the task before and use its result",
                    what, place);
}
