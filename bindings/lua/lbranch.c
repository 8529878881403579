/* SPDX-License-Identifier: MIT */
/* One branch's life: the part of lsched.h that is about branches. */
#include "lua/lsched.h"

#include <lauxlib.h>

#include "lua/lcall.h"
#include "lua/lcoro.h"
#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/lplace.h"

#define BRANCH_NAME "ebb.branch"

/* At the end of a branch, or of the state: nobody waits for its call. */
static int l_branch_gc(lua_State *L)
{
    lebb_branch *branch = luaL_checkudata(L, 1, BRANCH_NAME);

    lebb_call_drop(branch);
    ebb_mem_free(branch->path);
    branch->path = NULL;
    return 0;
}

void lebb_branch_init(lua_State *L)
{
    static const luaL_Reg methods[] = { { "__gc", l_branch_gc },
                                        { NULL, NULL } };

    luaL_newmetatable(L, BRANCH_NAME);
    luaL_setfuncs(L, methods, 0);
    lua_pop(L, 1);
}

static void link_branch(lebb_sched *s, lebb_branch *branch)
{
    branch->prev = s->last;
    if (s->last)
        s->last->next = branch;
    else
        s->first = branch;
    s->last = branch;
    s->count++;
}

static void unlink_branch(lebb_sched *s, lebb_branch *branch)
{
    if (branch->prev)
        branch->prev->next = branch->next;
    else
        s->first = branch->next;
    if (branch->next)
        branch->next->prev = branch->prev;
    else
        s->last = branch->prev;
    s->count--;
}

lebb_branch *lebb_branch_new(lua_State *L, lebb_sched *s, int args,
                             bool handler)
{
    int function = lua_gettop(L) - args;
    lebb_branch *branch;

    if (s->count >= LEBB_BRANCHES_MAX)
        lebb_raise_code(L, EBB_LIMIT_EXCEEDED,
                        "more than %d functions at once (use ebb.map "
                        "with limit)",
                        LEBB_BRANCHES_MAX);
    luaL_checkstack(L, 6, NULL);
    lua_pushvalue(L, function);
    lebb_coro_push_body(L, handler);
    lua_replace(L, function);
    branch = lua_newuserdatauv(L, sizeof *branch, 1);
    *branch = (lebb_branch){ .sched = s, .args = args };
    luaL_setmetatable(L, BRANCH_NAME);
    branch->co = lua_newthread(L);
    luaL_checkstack(branch->co, args + LUA_MINSTACK, "too many arguments");
    lua_setiuservalue(L, -2, 1);
    lebb_sched_push_branches(L);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, branch);
    lua_pop(L, 1);
    /* From here on nothing raises: it will run and end. */
    link_branch(s, branch);
    lua_insert(L, function);
    lua_xmove(L, branch->co, args + 1);
    lebb_branch_ready(branch);
    return branch;
}

void lebb_branch_ready(lebb_branch *branch)
{
    lebb_sched *s = branch->sched;

    if (branch->is_ready || branch->ended)
        return;
    branch->is_ready = true;
    branch->next_ready = NULL;
    if (s->ready_last)
        s->ready_last->next_ready = branch;
    else
        s->ready_first = branch;
    s->ready_last = branch;
}

void lebb_branch_interrupt(lebb_branch *branch, bool at_once)
{
    if (branch->call)
        lebb_call_cancel(branch->call, at_once);
    else if (branch->joint && !at_once)
        lebb_call_cancel(branch->joint, false);
    else if (branch->waits)
        lebb_branch_ready(branch);
}

void lebb_branch_cancel(lebb_branch *branch)
{
    if (branch->ended || branch->cancel != LEBB_CANCEL_NONE)
        return;
    branch->cancel = LEBB_CANCEL_WANTED;
    if (branch->shield == 0)
        lebb_branch_interrupt(branch, false);
}

/* ---- waiting ---- */

void lebb_branch_check(lua_State *L, lebb_branch *branch)
{
    bool due = branch->cancel == LEBB_CANCEL_WANTED && branch->shield == 0;

    if (branch->step == 0 && lebb_durable_run(branch))
        due = false;
    if (!due && !branch->sched->gave_up)
        return;
    branch->cancel = LEBB_CANCEL_DELIVERED;
    lebb_raise_cancelled(L);
}

lebb_branch *lebb_branch_enter(lua_State *L, lebb_sched *s, const char *what)
{
    if (!s->current)
        return NULL;
    lebb_place_check(L, s, what);
    if (s->current->step > 0)
        lebb_raise_code(L, EBB_UNSUPPORTED,
                        "%s: not inside ebb.step, whose function runs to "
                        "its end at once",
                        what);
    lebb_branch_check(L, s->current);
    return s->current;
}

int lebb_branch_yield(lua_State *L, lua_KFunction k)
{
    lebb_coro_push_wait(L);
    return lua_yieldk(L, 1, 0, k);
}

void lebb_branch_end(lua_State *L, lebb_branch *branch)
{
    lebb_sched *s = branch->sched;

    branch->ended = true;
    unlink_branch(s, branch);
    if (branch == s->job)
        s->job = NULL;
    lebb_call_drop(branch);
    lebb_sched_push_branches(L);
    lua_rawgetp(L, -1, branch); /* alive until on_end has run */
    lua_pushnil(L);
    lua_rawsetp(L, -3, branch);
    if (branch->on_end)
        branch->on_end(L, branch);
    lua_pop(L, 2);
}
