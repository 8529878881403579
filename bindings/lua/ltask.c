/* SPDX-License-Identifier: MIT */
/* Calling a task, and sleeping: what a script waits for. */
#include <lauxlib.h>

#include "lua/lcall.h"
#include "lua/lcheck.h"
#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lsched.h"
#include "lua/lvalue.h"

/* Of the result of ebb.step, as JSON. */
#define LEBB_STEP_BYTES_MAX 4000000

static int call_on(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    (void)context;
    return lebb_call_finish(L, lebb_sched_check(L)->current);
}

/*
 * Waits for the branch's call. In a run a cancel that came before ends the
 * step that was asked for now: so the journal has it.
 */
static int wait_for_call(lua_State *L, lebb_branch *branch, lua_KFunction k)
{
    if (branch->cancel == LEBB_CANCEL_WANTED && branch->shield == 0 &&
        lebb_durable_run(branch))
        lebb_call_cancel(branch->call, false);
    return lebb_branch_yield(L, k);
}

/* A task's function: upvalue 1 is its name. */
static int l_task_call(lua_State *L)
{
    const char *name = lua_tostring(L, lua_upvalueindex(1));
    lebb_sched *s = lebb_sched_check(L);
    ebb_value **input = NULL;
    lebb_branch *branch;
    ebb_err err;

    lebb_check_input(L, name);
    branch = lebb_branch_enter(L, s, name);
    if (!branch)
        return lebb_sched_block(L);
    if (lua_istable(L, 1))
        input = lebb_value_check(L, 1, name, LEBB_VALUE_EXACT);
    if (lebb_call_start(branch, name, input ? *input : NULL, &err) < 0)
        return lebb_raise(L, &err);
    if (input)
        ebb_value_free(lebb_value_take(input));
    return wait_for_call(L, branch, call_on);
}

/* call(name): the function of the task. */
static int l_task_function(lua_State *L)
{
    lebb_check_text(L, 1, "call", "name");
    lua_settop(L, 1);
    lua_pushcclosure(L, l_task_call, 1);
    return 1;
}

/* tasks(): the registry, as `ebb tasks --json` shows it. */
static int l_task_list(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    ebb_value **box = lebb_value_box(L);

    *box = ebb_tasks(s->rt);
    lebb_value_push(L, *box, LEBB_VALUE_EXACT);
    return 1;
}

static int l_task_sleep(lua_State *L)
{
    int64_t ms = lebb_check_seconds(L, 1, "ebb.sleep");
    lebb_sched *s = lebb_sched_check(L);
    lebb_branch *branch = lebb_branch_enter(L, s, "ebb.sleep");
    ebb_err err;

    if (!branch)
        return lebb_sched_block(L);
    if (lebb_call_sleep(branch, ms, &err) < 0)
        return lebb_raise(L, &err);
    return wait_for_call(L, branch, call_on);
}

/* now(): seconds since 1970, with fraction; a step. */
static int l_task_now(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    lebb_step_ask ask = { .kind = LEBB_STEP_NOW,
                          .name = "ebb.now",
                          .step_class = "read" };
    ebb_value **input;
    lebb_branch *branch;
    ebb_err err;

    if (!lebb_durable_derives(s->current)) {
        lua_pushnumber(L, (lua_Number)lebb_wall_ms() / 1000);
        return 1;
    }
    branch = lebb_branch_enter(L, s, ask.name);
    input = lebb_value_box(L);
    *input = ebb_value_object();
    ask.input = *input;
    lebb_call_drop(branch);
    branch->call = lebb_step_start(branch, &ask, NULL, &err);
    if (!branch->call)
        return lebb_raise(L, &err);
    return wait_for_call(L, branch, call_on);
}

/* ---- ebb.step ---- */

static int step_begun(lua_State *L, int status, lua_KContext context)
{
    lebb_branch *branch = lebb_sched_check(L)->current;

    (void)status;
    (void)context;
    if (branch->call && lebb_step_given(branch->call)) {
        lua_pushboolean(L, true);
        return 1;
    }
    lua_pushboolean(L, false);
    return lebb_call_finish(L, branch) + 1;
}

/*
 * step_begin(name, class): true, and the function is to be run, then step_end;
 * or false and the recorded result; nil outside a run.
 */
static int l_step_begin(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    lebb_step_ask ask = { .kind = LEBB_STEP_BODY };
    ebb_value **input;
    lebb_branch *branch;
    ebb_err err;

    ask.name = lebb_check_text(L, 1, "ebb.step", "name");
    ask.step_class = luaL_optstring(L, 2, "none");
    if (!lebb_durable_run(s->current))
        return 0;
    branch = lebb_branch_enter(L, s, "ebb.step");
    input = lebb_value_box(L);
    *input = ebb_value_object();
    ask.input = *input;
    lebb_call_drop(branch);
    branch->call = lebb_step_start(branch, &ask, NULL, &err);
    if (!branch->call)
        return lebb_raise(L, &err);
    return wait_for_call(L, branch, step_begun);
}

/* The value at 1 into the ebb_value * at 2, if it may be recorded. */
static int l_step_convert(lua_State *L)
{
    ebb_value **out = lua_touserdata(L, 2);
    ebb_value **box =
        lebb_value_check(L, 1, "ebb.step: result", LEBB_VALUE_EXACT);

    size_t n = ebb_value_length(*box);

    if (n > LEBB_STEP_BYTES_MAX)
        lebb_raise_code(L, EBB_LIMIT_EXCEEDED,
                        "ebb.step: the result has %zu bytes as JSON, at most "
                        "%d are kept; write it to a file and return its name",
                        n, LEBB_STEP_BYTES_MAX);
    *out = lebb_value_take(box);
    return 0;
}

/* step_end(ok, value): records what the function returned or raised, and
 * returns or raises it as every later execution will. */
static int l_step_end(lua_State *L)
{
    lebb_branch *branch = lebb_sched_check(L)->current;
    ebb_value *out = NULL;
    ebb_err err = { 0 };
    bool ok = lua_toboolean(L, 1);

    lua_settop(L, 2);
    if (ok) {
        lua_pushcfunction(L, l_step_convert);
        lua_pushvalue(L, 2);
        lua_pushlightuserdata(L, &out);
        ok = lua_pcall(L, 2, 0, 0) == LUA_OK;
    }
    if (!branch || !branch->call || !lebb_step_given(branch->call)) {
        ebb_value_free(out);
        return lebb_raise_cancelled(L); /* it was given up meanwhile */
    }
    if (!ok)
        lebb_error_take(L, &err, &out);
    lebb_step_end(branch->call, out, ok ? NULL : &err);
    return lebb_branch_yield(L, call_on);
}

void lebb_add_task(lua_State *L)
{
    static const luaL_Reg functions[] = { { "call", l_task_function },
                                          { "tasks", l_task_list },
                                          { "sleep", l_task_sleep },
                                          { "now", l_task_now },
                                          { "step_begin", l_step_begin },
                                          { "step_end", l_step_end },
                                          { NULL, NULL } };

    luaL_setfuncs(L, functions, 0);
}
