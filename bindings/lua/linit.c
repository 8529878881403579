/* SPDX-License-Identifier: MIT */
/* Putting ebb into a state: registry, coroutine library, modules. */
#include "lua/linit.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/lcoro.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lvalue.h"

/* Made from the .lua files by embed.lua. */
extern const char lebb_ebb_lua[], lebb_e2b_lua[], lebb_pretty_lua[],
    lebb_complete_lua[];
extern const unsigned long lebb_ebb_lua_n, lebb_e2b_lua_n, lebb_pretty_lua_n,
    lebb_complete_lua_n;

/* Its address is the key of the C functions' table in the registry. */
static const char functions_key;

int lebb_open_embedded(lua_State *L, const char *name)
{
    const struct {
        const char *name, *text;
        size_t n;
    } modules[] = {
        { "ebb", lebb_ebb_lua, lebb_ebb_lua_n },
        { "e2b", lebb_e2b_lua, lebb_e2b_lua_n },
        { "pretty", lebb_pretty_lua, lebb_pretty_lua_n },
        { "complete", lebb_complete_lua, lebb_complete_lua_n },
    };

    if (!lebb_sched_get(L))
        return luaL_error(L, "ebb_lua_attach was not called on this state");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strcmp(modules[i].name, name) != 0)
            continue;
        if (luaL_loadbufferx(L, modules[i].text, modules[i].n,
                             lua_pushfstring(L, "=[ebb %s]", name), "t"))
            return lua_error(L);
        lua_remove(L, -2);
        lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
        lua_call(L, 1, 1);
        return 1;
    }
    return luaL_error(L, "no embedded module '%s'", name);
}

int luaopen_ebb(lua_State *L)
{
    return lebb_open_embedded(L, "ebb");
}

int luaopen_e2b(lua_State *L)
{
    return lebb_open_embedded(L, "e2b");
}

/* The functions behind the Lua modules, kept in the registry. */
static void make_functions(lua_State *L)
{
    lua_newtable(L);
    lebb_add_check(L);
    lebb_add_task(L);
    lebb_add_group(L);
    lebb_add_shield(L);
    lebb_add_handler(L);
    lebb_add_host(L);
    lebb_add_log(L);
    lebb_add_json(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &functions_key);
}

/* attach(runtime) */
static int l_attach(lua_State *L)
{
    ebb_runtime *rt = lua_touserdata(L, 1);

    if (lebb_sched_get(L))
        return lebb_raise_code(L, EBB_CONFLICT,
                               "ebb_lua_attach: the state is attached");
    lebb_error_init(L);
    lebb_value_init(L);
    lebb_sched_new(L, rt);
    lebb_coro_install(L);
    make_functions(L);
    return 0;
}

int ebb_lua_attach(lua_State *L, ebb_runtime *rt, ebb_err *err)
{
    if (!lua_checkstack(L, 8))
        return ebb_err_set(err, EBB_NO_MEMORY, "ebb_lua_attach");
    lua_pushcfunction(L, l_attach);
    lua_pushlightuserdata(L, rt);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK)
        return 0;
    lebb_error_take(L, err, NULL);
    return -1;
}

void ebb_lua_detach(lua_State *L)
{
    lebb_sched *s = lebb_sched_get(L);

    if (s)
        lebb_sched_detach(s);
}

/* ---- a state of ebb's own ---- */

/* What is raised there ends nothing but the finalizer. */
static bool in_finalizer(lua_State *L)
{
    lua_Debug ar;

    for (int level = 0; lua_getstack(L, level, &ar); level++)
        if (lua_getinfo(L, "n", &ar) && ar.name &&
            strcmp(ar.namewhat, "metamethod") == 0 &&
            strcmp(ar.name, "__gc") == 0)
            return true;
    return false;
}

/* os.exit(status): upvalue 1 is the original, for a state that runs nothing. In
 * a finalizer the branch goes on to where it waits next, and ends there. */
static int l_os_exit(lua_State *L)
{
    lebb_sched *s = lebb_sched_get(L);
    lebb_branch *branch = s->current;

    if (!branch) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, 0);
        return 0;
    }
    if (lua_isnoneornil(L, 1) || lua_isboolean(L, 1))
        s->exit_status = lua_isboolean(L, 1) && !lua_toboolean(L, 1);
    else
        s->exit_status = (int)(luaL_checkinteger(L, 1) & 0xff);
    if (branch->cancel == LEBB_CANCEL_NONE && !in_finalizer(L))
        branch->cancel = LEBB_CANCEL_DELIVERED;
    lebb_sched_cancel(s);
    return lebb_raise_code(L, EBB_CANCELLED, "os.exit(%d)", s->exit_status);
}

static void preload(lua_State *L)
{
    static const luaL_Reg modules[] = { { "ebb", luaopen_ebb },
                                        { "e2b", luaopen_e2b },
                                        { "cjson", lebb_open_cjson },
                                        { "cjson.safe", lebb_open_cjson_safe },
                                        { NULL, NULL } };

    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    luaL_setfuncs(L, modules, 0);
    lua_pop(L, 1);
}

int lebb_open_state(lua_State *L)
{
    lua_settop(L, 1);
    lua_pushcfunction(L, l_attach);
    lua_insert(L, 1);
    lua_call(L, 1, 0);
    preload(L);
    lua_getglobal(L, "os");
    lua_getfield(L, -1, "exit");
    lua_pushcclosure(L, l_os_exit, 1);
    lua_setfield(L, -2, "exit");
    return 0;
}
