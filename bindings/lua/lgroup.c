/* SPDX-License-Identifier: MIT */
/*
 * Groups: functions that run at once and end together. ebb.lua makes parallel,
 * map, settle, race and timeout of them.
 *
 * Invariant: when a group is closed, every function it started has ended; a
 * branch that closes one is not interrupted by a cancel, since its functions'
 * cleanup is under way. In a durable run a group is a step, which has ended
 * then as well.
 */
#include <lauxlib.h>

#include "lua/lcall.h"
#include "lua/lcheck.h"
#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lvalue.h"

#define GROUP_NAME "ebb.group"

/* The first user value holds the started branches by index until told of; in
 * a run the second is the branch that waits, to which its step answers. */
struct lebb_group {
    lebb_sched *sched;
    lebb_branch *waiter; /* in next or close, or NULL */
    lebb_branch *ended_first, *ended_last;
    lua_Integer started, running;
    lebb_call *call; /* in a run: its step */
    char *path;      /* and where that is */
    bool timed;      /* ebb.timeout: the step may end first, by its time */
    bool closed;     /* nothing may be started or waited for any more */
};

static lebb_group *check_group(lua_State *L)
{
    return luaL_checkudata(L, 1, GROUP_NAME);
}

/* Scripts never see a group; one that got it all the same is told. */
static lebb_group *check_open(lua_State *L)
{
    lebb_group *group = check_group(L);

    if (group->closed)
        lebb_raise_code(L, EBB_INVALID_INPUT, "the group is closed");
    return group;
}

/* The step of the group, asked for at once; its branches do not wait. */
static void begin_step(lua_State *L, lebb_group *group, lebb_branch *branch)
{
    char path[LEBB_PATH_BYTES];
    lebb_step_ask ask = { .kind = LEBB_STEP_GROUP,
                          .name = lua_tostring(L, 1),
                          .step_class = "read" };
    ebb_err err;

    ask.input = *lebb_value_check(L, 2, ask.name, LEBB_VALUE_EXACT);
    if (!lua_isnil(L, 3)) {
        group->timed = true;
        ask.kind = LEBB_STEP_TIMEOUT;
        ask.step_class = "lifecycle"; /* the time is recorded first */
        ask.wake_ms = lebb_wall_ms() + lebb_check_seconds(L, 3, ask.name);
    }
    group->call = lebb_step_start(branch, &ask, path, &err);
    if (!group->call)
        lebb_raise(L, &err);
    group->path = ebb_mem_dup(path);
    if (!group->path)
        lebb_raise_code(L, EBB_NO_MEMORY, "%s: no memory", ask.name);
    if (branch->cancel == LEBB_CANCEL_WANTED && branch->shield == 0)
        lebb_call_cancel(group->call, false);
    lua_pop(L, 1);
}

static void anchor(lua_State *L, const lebb_branch *branch)
{
    lebb_sched_push_branches(L);
    lua_rawgetp(L, -1, branch);
    lua_setiuservalue(L, -3, 2);
    lua_pop(L, 1);
}

/* group(name, input, seconds): of a combinator; seconds of ebb.timeout */
static int l_group_new(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    lebb_branch *branch;
    lebb_group *group;

    lua_settop(L, 3);
    luaL_checkstring(L, 1);
    group = lua_newuserdatauv(L, sizeof *group, 2);
    *group = (lebb_group){ .sched = s };
    lua_newtable(L);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, GROUP_NAME);
    if (lebb_durable_run(s->current)) {
        branch = lebb_branch_enter(L, s, lua_tostring(L, 1));
        anchor(L, branch);
        begin_step(L, group, branch);
    }
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

lebb_branch *lebb_branch_waiter(const lebb_branch *branch)
{
    return branch->on_end == child_ended
               ? ((const lebb_group *)branch->owner)->waiter
               : NULL;
}

/* group:start(fn, ...) → its index */
static int l_group_start(lua_State *L)
{
    lebb_group *group = check_open(L);
    lebb_branch *child;

    lebb_check_callable(L, 2, "group:start", "function");
    if (group->sched->current && group->sched->current->step > 0)
        return lebb_raise_code(L, EBB_UNSUPPORTED,
                               "ebb.step: its function may not start others");
    child = lebb_branch_new(L, group->sched, lua_gettop(L) - 2, false);
    child->owner = group;
    if (group->path)
        lebb_durable_adopt(L, child, group->path, group->started + 1);
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
    branch->joint = group->call;
    return lebb_branch_yield(L, k);
}

static void stop_waiting(lebb_group *group)
{
    if (group->waiter) {
        group->waiter->waits = NULL;
        group->waiter->joint = NULL;
    }
    group->waiter = NULL;
}

static bool is_answered(const lebb_group *group)
{
    return group->call && lebb_call_done(group->call);
}

/* What is recorded is not what happened here. */
static int mismatch(lua_State *L, lebb_group *group, lua_Integer here)
{
    const ebb_value *outcome = lebb_step_outcome(group->call);
    const char *word = ebb_value_find_string(outcome, "outcome");
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_REPLAY_MISMATCH,
                "step %s: recorded is that branch %lld decided (%s), but "
                "here it was %lld; what the branches do must depend on steps "
                "alone",
                group->path,
                (long long)ebb_value_find_int(outcome, "branch", 0),
                word ? word : "damaged", (long long)here);
    lebb_durable_stop(group->sched, &err);
    return lebb_raise(L, &err);
}

/* The step's own end came before that of a branch: cancelled, or the time of
 * ebb.timeout was up, of which nothing is returned. */
static int report_answer(lua_State *L, lebb_group *group)
{
    if (lebb_step_failed(group->call))
        return lebb_call_raise(L, group->sched->current, group->call);
    return group->timed ? 0 : mismatch(L, group, 0);
}

static int next_on(lua_State *L, int status, lua_KContext context)
{
    lebb_group *group = check_group(L);

    (void)status;
    (void)context;
    stop_waiting(group);
    lebb_branch_check(L, group->sched->current);
    check_open(L);
    if (is_answered(group))
        return report_answer(L, group);
    if (group->ended_first)
        return report(L, group);
    if (group->running == 0)
        return 0;
    return wait_for(L, group, group->sched->current, next_on);
}

/* group:next() → index, ok, results… of the next to end; nil: all have */
static int l_group_next(lua_State *L)
{
    lebb_group *group = check_open(L);

    lua_settop(L, 1);
    if (is_answered(group))
        return report_answer(L, group);
    if (group->ended_first)
        return report(L, group);
    if (group->running == 0)
        return 0;
    if (!lebb_branch_enter(L, group->sched, "ebb.parallel"))
        return lebb_sched_block(L);
    return next_on(L, LUA_OK, 0);
}

static int decide_on(lua_State *L, int status, lua_KContext context)
{
    lebb_group *group = check_group(L);
    lua_Integer here = lua_tointeger(L, 2), recorded;

    (void)status;
    (void)context;
    stop_waiting(group);
    lebb_branch_check(L, group->sched->current);
    check_open(L);
    if (!is_answered(group))
        return wait_for(L, group, group->sched->current, decide_on);
    if (lebb_step_failed(group->call))
        return lebb_call_raise(L, group->sched->current, group->call);
    recorded = ebb_value_find_int(lebb_step_outcome(group->call), "branch", 0);
    /* A branch of ebb.timeout may end after its time was found to be up. */
    if (recorded != here && !(group->timed && recorded == 0))
        return mismatch(L, group, here);
    lua_pushinteger(L, recorded);
    return 1;
}

/*
 * group:decide(branch, word) → branch. In a run it waits until that outcome
 * is recorded, or was; 0 of ebb.timeout says that its time was up before.
 */
static int l_group_decide(lua_State *L)
{
    lebb_group *group = check_open(L);

    lua_settop(L, 3);
    luaL_checkinteger(L, 2);
    luaL_checkstring(L, 3);
    if (!group->call) {
        lua_settop(L, 2);
        return 1;
    }
    lebb_step_decide(group->call, lua_tointeger(L, 2), lua_tostring(L, 3));
    return decide_on(L, LUA_OK, 0);
}

/* group:is_step() → whether its outcome is recorded */
static int l_group_is_step(lua_State *L)
{
    lua_pushboolean(L, check_group(L)->call != NULL);
    return 1;
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
    if (group->running > 0 ||
        (group->call && !is_answered(group) && !group->sched->gave_up))
        return wait_for(L, group, branch, close_on);
    branch->shield--;
    return 0;
}

/* __close: ends what runs and waits for it. */
static int l_group_close(lua_State *L)
{
    lebb_group *group = check_group(L);
    lebb_sched *s = group->sched;

    group->closed = true;
    cancel_children(group);
    if (group->call && !is_answered(group))
        lebb_call_cancel(group->call, false);
    if ((group->running == 0 && (!group->call || is_answered(group))) || !s->rt)
        return 0;
    if (!s->current)
        return lebb_sched_block(L);
    if (s->running != L || s->blocked || !lua_isyieldable(L))
        return 0; /* they end by themselves, before the script does */
    s->current->shield++;
    lua_settop(L, 1);
    return close_on(L, LUA_OK, 0);
}

/*
 * Collected without being closed: nobody hears of its functions' ends. Called
 * by hand there may be a branch that waits; it is told.
 */
static int l_group_gc(lua_State *L)
{
    lebb_group *group = check_group(L);
    lebb_branch *waiter = group->waiter;

    group->closed = true;
    group->running = 0;
    stop_waiting(group);
    if (waiter)
        lebb_branch_ready(waiter);
    cancel_children(group);
    for (lebb_branch *b = group->sched->first; b; b = b->next) {
        if (b->owner == group) {
            b->owner = NULL;
            b->on_end = NULL;
        }
    }
    lebb_call_release(group->call);
    group->call = NULL;
    ebb_mem_free(group->path);
    group->path = NULL;
    return 0;
}

void lebb_add_group(lua_State *L)
{
    static const luaL_Reg methods[] = { { "start", l_group_start },
                                        { "next", l_group_next },
                                        { "decide", l_group_decide },
                                        { "is_step", l_group_is_step },
                                        { "__close", l_group_close },
                                        { "__gc", l_group_gc },
                                        { NULL, NULL } };
    static const luaL_Reg functions[] = { { "group", l_group_new },
                                          { NULL, NULL } };

    lua_pushcfunction(L, l_group_close);
    lebb_sched_add_scope(L, -1);
    lua_pop(L, 1);
    luaL_newmetatable(L, GROUP_NAME);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
}
