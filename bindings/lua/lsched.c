/* SPDX-License-Identifier: MIT */
#include "lua/lsched.h"

#include <lauxlib.h>

#include "lua/lcall.h"
#include "lua/lcoro.h"
#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"

#define SCHED_NAME "ebb.scheduler"

/* The scheduler's user values: the branches that have not ended, by address,
 * and the error of one that was cancelled before it began. */
#define BRANCHES 1
#define REFUSED  2

/* Its address is the scheduler's key in the registry. */
static const char sched_key;

lebb_sched *lebb_sched_get(lua_State *L)
{
    lebb_sched *s;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &sched_key);
    s = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return s;
}

lebb_sched *lebb_sched_check(lua_State *L)
{
    lebb_sched *s = lebb_sched_get(L);

    if (!s || !s->rt)
        lebb_raise_code(L, EBB_CONFLICT, "the ebb runtime is closed");
    return s;
}

void lebb_sched_push_branches(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sched_key);
    lua_getiuservalue(L, -1, BRANCHES);
    lua_remove(L, -2);
}

static int l_sched_gc(lua_State *L)
{
    lebb_sched *s = luaL_checkudata(L, 1, SCHED_NAME);

    lebb_sched_detach(s);
    return 0;
}

lebb_sched *lebb_sched_new(lua_State *L, ebb_runtime *rt)
{
    static const luaL_Reg methods[] = { { "__gc", l_sched_gc },
                                        { NULL, NULL } };
    lebb_sched *s = lua_newuserdatauv(L, sizeof *s, 2);
    ebb_err err = { 0 };

    *s = (lebb_sched){ .rt = rt, .exit_status = -1 };
    luaL_newmetatable(L, SCHED_NAME);
    luaL_setfuncs(L, methods, 0);
    lua_setmetatable(L, -2);
    lua_newtable(L);
    lua_setiuservalue(L, -2, BRANCHES);
    ebb_err_set(&err, EBB_CANCELLED, "cancelled before it began");
    lebb_error_push(L, &err, NULL);
    lua_setiuservalue(L, -2, REFUSED);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sched_key);
    lebb_branch_init(L);
    return s;
}

/* ---- cancelling ---- */

void lebb_sched_give_up(lebb_sched *s)
{
    s->gave_up = true;
    if (s->run)
        ebb_run_give_up(s->run); /* what is dropped is no outcome */
    for (lebb_branch *b = s->first; b; b = b->next)
        lebb_branch_interrupt(b, true);
}

void lebb_sched_detach(lebb_sched *s)
{
    if (!s->rt)
        return;
    for (lebb_branch *b = s->first; b; b = b->next)
        if (b->call)
            lebb_branch_interrupt(b, true);
    lebb_handlers_drop(s);
    s->rt = NULL;
}

void lebb_sched_cancel(lebb_sched *s)
{
    if (s->job) {
        lebb_branch_cancel(s->job);
        return;
    }
    for (lebb_branch *b = s->first; b; b = b->next)
        lebb_branch_cancel(b);
}

void lebb_sched_look(lebb_sched *s)
{
    int cancels = s->cancels;

    if (cancels == s->cancels_seen)
        return;
    s->cancels_seen = cancels;
    if (cancels > 1)
        lebb_sched_give_up(s);
    else
        lebb_sched_cancel(s);
}

void lebb_sched_add_scope(lua_State *L, int index)
{
    lebb_sched *s = lebb_sched_get(L);
    int i = 0;

    while (i < LEBB_SCOPES_MAX - 1 && s->scopes[i])
        i++;
    s->scopes[i] = lua_topointer(L, index); /* a module loaded anew: again */
}

static bool is_scope(lua_State *L, lua_Debug *ar)
{
    const lebb_sched *s = lebb_sched_get(L);
    const void *function;
    bool is = false;

    lua_getinfo(L, "f", ar);
    function = lua_topointer(L, -1);
    lua_pop(L, 1);
    for (int i = 0; i < LEBB_SCOPES_MAX; i++)
        is = is || (function && s->scopes[i] == function);
    return is;
}

/*
 * Runs in a coroutine that computes, once a cancel was noted. A first cancel
 * raises once; after a second one every step raises, so that no pcall in a
 * loop can go on.
 */
static void stop_hook(lua_State *L, lua_Debug *ar)
{
    lebb_sched *s = lebb_sched_get(L);

    if (!s->gave_up && is_scope(L, ar))
        return; /* the next step comes here again */
    if (s->cancels != s->cancels_seen) {
        lebb_sched_look(s);
        if (s->current)
            lebb_branch_cancel(s->current);
    }
    if (!s->gave_up)
        lua_sethook(L, NULL, 0, 0);
    if (s->current)
        lebb_branch_check(L, s->current);
}

static void set_hook(lua_State *co)
{
    lua_sethook(co, stop_hook,
                LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void lebb_sched_interrupt(lebb_sched *s)
{
    lua_State *running = s->running;

    s->cancels++;
    if (running)
        set_hook(running); /* made to be called from signal handlers */
}

void lebb_sched_arm(lebb_sched *s, lua_State *co)
{
    s->running = co;
    if (s->cancels != s->cancels_seen || s->gave_up)
        set_hook(co);
}

/* ---- turns ---- */

/* A branch that was cancelled before it began does not begin. Its error was
 * made with the scheduler, so that this cannot fail. */
static void refuse(lua_State *L, lebb_branch *branch)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sched_key);
    lua_getiuservalue(L, -1, REFUSED);
    lua_remove(L, -2);
    lua_settop(branch->co, 0);
    lua_xmove(L, branch->co, 1);
    lebb_branch_end(L, branch);
}

/*
 * A cancel that comes before it begins. The script of a run begins all the
 * same: the journal may have steps of it, and the first one that it does not
 * have is the one that is cancelled.
 */
static bool is_refused(const lebb_branch *branch)
{
    const lebb_sched *s = branch->sched;

    if (branch == s->job && lebb_durable_run(branch))
        return s->gave_up;
    return branch->cancel != LEBB_CANCEL_NONE || s->gave_up;
}

static void run_branch(lua_State *L, lebb_branch *branch)
{
    lebb_sched *s = branch->sched;
    lua_State *co = branch->co;
    int args = branch->args, status, n;

    if (args >= 0 && is_refused(branch)) {
        refuse(L, branch);
        return;
    }
    branch->args = -1;
    s->current = branch;
    s->blocked = NULL;
    if (lua_gettop(co) > 0 && lebb_coro_is_wait(co, -1))
        lua_pop(co, 1);
    s->turning = true;
    lebb_sched_arm(s, co);
    status = lua_resume(co, L, args < 0 ? 0 : args, &n);
    s->running = NULL;
    s->current = NULL;
    s->turning = false;
    if (status == LUA_YIELD && n == 1 && lebb_coro_is_wait(co, -1))
        return;
    if (!lebb_coro_ended(co, &branch->ok)) {
        /* Some C function yielded to nobody, or there was no memory. */
        branch->ok = false;
        if (status == LUA_YIELD) {
            lua_resetthread(co);
            lua_pushliteral(L, "attempt to yield from outside a coroutine");
            lua_xmove(L, co, 1);
        }
    }
    lebb_branch_end(L, branch);
}

bool lebb_sched_turn(lua_State *L, lebb_sched *s)
{
    lebb_branch *branch, *last;
    bool any;

    if (s->turning)
        return false;
    lebb_requests_start(L, s);
    branch = s->ready_first;
    last = s->ready_last;
    any = branch != NULL;
    while (branch) {
        bool was_last = branch == last;
        s->ready_first = branch->next_ready;
        if (!s->ready_first)
            s->ready_last = NULL;
        branch->is_ready = false;
        run_branch(L, branch);
        branch = was_last ? NULL : s->ready_first;
    }
    return any;
}

int lebb_branch_results(lua_State *L, lebb_branch *branch)
{
    lua_State *co = branch->co;
    int n = branch->ok ? lua_gettop(co) : 1;

    luaL_checkstack(L, n, "too many results");
    lua_xmove(co, L, n);
    return n;
}

/* Pushes the function that runs on L. */
static void push_self(lua_State *L)
{
    lua_Debug ar;

    lua_getstack(L, 0, &ar);
    lua_getinfo(L, "f", &ar);
}

int lebb_sched_block(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    int args = lua_gettop(L), n;
    lebb_branch *branch;
    ebb_err err;

    luaL_checkstack(L, 4, NULL);
    push_self(L);
    lua_insert(L, 1);
    branch = lebb_branch_new(L, s, args, false);
    while (!branch->ended) {
        lebb_sched_look(s);
        if (lebb_sched_turn(L, s))
            continue;
        lebb_durable_idle(s);
        if (!s->rt || ebb_poll(s->rt, -1, &err) < 0) {
            lebb_branch_cancel(branch);
            return s->rt ? lebb_raise(L, &err)
                         : lebb_raise_code(L, EBB_CONFLICT,
                                           "the ebb runtime is closed");
        }
    }
    n = lebb_branch_results(L, branch);
    return branch->ok ? n : lua_error(L);
}
