/* SPDX-License-Identifier: MIT */
/* Calling a task, and sleeping: what a script waits for. */
#include <lauxlib.h>

#include "lua/lcall.h"
#include "lua/lcheck.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lsched.h"
#include "lua/lvalue.h"

static int call_on(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    (void)context;
    return lebb_call_finish(L, lebb_sched_check(L)->current);
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
    return lebb_branch_yield(L, call_on);
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
    return lebb_branch_yield(L, call_on);
}

void lebb_add_task(lua_State *L)
{
    static const luaL_Reg functions[] = { { "call", l_task_function },
                                          { "tasks", l_task_list },
                                          { "sleep", l_task_sleep },
                                          { NULL, NULL } };

    luaL_setfuncs(L, functions, 0);
}
