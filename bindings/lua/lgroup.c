/* SPDX-License-Identifier: MIT */
/*
 * Groups: functions that run at once and end together. ebb.lua makes parallel,
 * map, settle, race and timeout of them.
 *
 * Invariant: when a group is closed, every function it started has ended; a
 * branch that closes one is not interrupted by a cancel, since its functions'
 * cleanup is under way.
 */
#include <lauxlib.h>

#include "lua/lcheck.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lsched.h"

#define GROUP_NAME  "ebb.group"
#define SHIELD_NAME "ebb.shield"

/* The user value holds the started branches by index until told of. */
struct lebb_group {
    lebb_sched *sched;
    lebb_branch *waiter; /* in next or close, or NULL */
    lebb_branch *ended_first, *ended_last;
    lua_Integer started, running;
};

static lebb_group *check_group(lua_State *L)
{
    return luaL_checkudata(L, 1, GROUP_NAME);
}

static int l_group_new(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    lebb_group *group = lua_newuserdatauv(L, sizeof *group, 1);

    *group = (lebb_group){ .sched = s };
    lua_newtable(L);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, GROUP_NAME);
    return 1;
}

static void child_ended(lua_State *L, lebb_branch *child)
{
    lebb_group *group = child->owner;

    (void)L;
    child->next_ended = NULL;
    if (group->ended_last)
        group->ended_last->next_ended = child;
    else
        group->ended_first = child;
    group->ended_last = child;
    group->running--;
    if (group->waiter)
        lebb_branch_ready(group->waiter);
}

/* group:start(fn, ...) → its index */
static int l_group_start(lua_State *L)
{
    lebb_group *group = check_group(L);
    lebb_branch *child;

    lebb_check_callable(L, 2, "group:start", "function");
    if (group->sched->current && group->sched->current->step > 0)
        return lebb_raise_code(L, EBB_UNSUPPORTED,
                               "ebb.step: its function may not start others");
    child = lebb_branch_new(L, group->sched, lua_gettop(L) - 2, false);
    child->owner = group;
    child->on_end = child_ended;
    child->index = ++group->started;
    group->running++;
    lua_getiuservalue(L, 1, 1);
    lua_insert(L, -2);
    lua_rawseti(L, -2, child->index);
    lua_pushinteger(L, child->index);
    return 1;
}

/* Pushes index, ok and the results, or the error, of one that has ended. */
static int report(lua_State *L, lebb_group *group)
{
    lebb_branch *child = group->ended_first;
    int n;

    group->ended_first = child->next_ended;
    if (!group->ended_first)
        group->ended_last = NULL;
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 1);
    lua_rawgeti(L, 2, child->index); /* anchors it */
    lua_pushnil(L);
    lua_rawseti(L, 2, child->index);
    lua_pushinteger(L, child->index);
    lua_pushboolean(L, child->ok);
    n = lebb_branch_results(L, child);
    return n + 2;
}

static int wait_for(lua_State *L, lebb_group *group, lebb_branch *branch,
                    lua_KFunction k)
{
    group->waiter = branch;
    branch->waits = group;
    return lebb_branch_yield(L, k);
}

static void stop_waiting(lebb_group *group)
{
    if (group->waiter)
        group->waiter->waits = NULL;
    group->waiter = NULL;
}

static int next_on(lua_State *L, int status, lua_KContext context)
{
    lebb_group *group = check_group(L);

    (void)status;
    (void)context;
    stop_waiting(group);
    lebb_branch_check(L, group->sched->current);
    if (group->ended_first)
        return report(L, group);
    if (group->running == 0)
        return 0;
    return wait_for(L, group, group->sched->current, next_on);
}

/* group:next() → index, ok, results… of the next to end; nil: all have */
static int l_group_next(lua_State *L)
{
    lebb_group *group = check_group(L);

    lua_settop(L, 1);
    if (group->ended_first)
        return report(L, group);
    if (group->running == 0)
        return 0;
    if (!lebb_branch_enter(L, group->sched, "ebb.parallel"))
        return lebb_sched_block(L);
    return next_on(L, LUA_OK, 0);
}

static void cancel_children(lebb_group *group)
{
    for (lebb_branch *b = group->sched->first; b; b = b->next)
        if (b->owner == group)
            lebb_branch_cancel(b);
}

static int close_on(lua_State *L, int status, lua_KContext context)
{
    lebb_group *group = check_group(L);
    lebb_branch *branch = group->sched->current;

    (void)status;
    (void)context;
    stop_waiting(group);
    if (group->running > 0)
        return wait_for(L, group, branch, close_on);
    branch->shield--;
    return 0;
}

/* __close: ends what runs and waits for it. */
static int l_group_close(lua_State *L)
{
    lebb_group *group = check_group(L);
    lebb_sched *s = group->sched;

    cancel_children(group);
    if (group->running == 0 || !s->rt)
        return 0;
    if (!s->current)
        return lebb_sched_block(L);
    if (s->running != L || s->blocked || !lua_isyieldable(L))
        return 0; /* they end by themselves, before the script does */
    s->current->shield++;
    lua_settop(L, 1);
    return close_on(L, LUA_OK, 0);
}

/* Collected without being closed: nobody hears of its functions' ends. */
static int l_group_gc(lua_State *L)
{
    lebb_group *group = check_group(L);

    cancel_children(group);
    for (lebb_branch *b = group->sched->first; b; b = b->next) {
        if (b->owner == group) {
            b->owner = NULL;
            b->on_end = NULL;
        }
    }
    return 0;
}

/* ---- shields and steps ---- */

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

void lebb_add_group(lua_State *L)
{
    static const luaL_Reg methods[] = { { "start", l_group_start },
                                        { "next", l_group_next },
                                        { "__close", l_group_close },
                                        { "__gc", l_group_gc },
                                        { NULL, NULL } };
    static const luaL_Reg held[] = { { "__close", l_shield_close },
                                     { NULL, NULL } };
    static const luaL_Reg functions[] = { { "group", l_group_new },
                                          { "shield", l_shield },
                                          { "hold_step", l_step },
                                          { NULL, NULL } };

    luaL_newmetatable(L, GROUP_NAME);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    luaL_newmetatable(L, SHIELD_NAME);
    luaL_setfuncs(L, held, 0);
    lua_pop(L, 2);
    luaL_setfuncs(L, functions, 0);
}
