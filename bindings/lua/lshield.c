/* SPDX-License-Identifier: MIT */
/* Scopes of a branch: cleanup that a cancel does not interrupt, and the
 * function of ebb.step, which may not wait. */
#include <lauxlib.h>

#include "lua/lerror.h"
#include "lua/lmodule.h"

#define SHIELD_NAME "ebb.shield"

typedef struct shield {
    lebb_branch *branch; /* NULL: let go */
    bool step;
} shield;

/* A value to be closed in the same scope, in the same branch. */
static int new_shield(lua_State *L, bool step)
{
    lebb_branch *branch = lebb_sched_check(L)->current;
    shield *held = lua_newuserdatauv(L, sizeof *held, 0);

    *held = (shield){ .branch = NULL, .step = step };
    luaL_setmetatable(L, SHIELD_NAME);
    if (branch && step && branch->step > 0)
        return lebb_raise_code(L, EBB_UNSUPPORTED,
                               "ebb.step: not inside another ebb.step");
    held->branch = branch;
    if (branch && step)
        branch->step++;
    else if (branch)
        branch->shield++;
    return 1;
}

static int l_shield(lua_State *L)
{
    return new_shield(L, false);
}

static int l_step(lua_State *L)
{
    return new_shield(L, true);
}

static int l_shield_close(lua_State *L)
{
    shield *held = luaL_checkudata(L, 1, SHIELD_NAME);

    if (held->branch && held->step)
        held->branch->step--;
    else if (held->branch)
        held->branch->shield--;
    held->branch = NULL;
    return 0;
}

/* scope(fn): fn opens or closes a scope, which no cancel interrupts */
static int l_scope(lua_State *L)
{
    lebb_sched_add_scope(L, 1);
    return 0;
}

static void add_scopes(lua_State *L)
{
    static const lua_CFunction scopes[] = { l_shield, l_shield_close };

    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        lua_pushcfunction(L, scopes[i]);
        lebb_sched_add_scope(L, -1);
        lua_pop(L, 1);
    }
}

void lebb_add_shield(lua_State *L)
{
    static const luaL_Reg held[] = { { "__close", l_shield_close },
                                     { NULL, NULL } };
    static const luaL_Reg functions[] = { { "shield", l_shield },
                                          { "hold_step", l_step },
                                          { "scope", l_scope },
                                          { NULL, NULL } };

    add_scopes(L);

    luaL_newmetatable(L, SHIELD_NAME);
    luaL_setfuncs(L, held, 0);
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
}
