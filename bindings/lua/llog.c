/* SPDX-License-Identifier: MIT */
/*
 * ebb.log. In a durable run a line belongs to the step whose function writes
 * it, else to the step that comes next; it goes to stderr and the run's log
 * once for each execution of that step. So a resumed run counts what it wrote
 * before each step, and leaves out as many as the journal has. What a task of
 * the script writes has the number of its attempt.
 */
#include <lauxlib.h>
#include <string.h>

#include "lua/lcheck.h"
#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lvalue.h"

/* Its address is the key of the recorded lines' numbers by path. */
static const char recorded_key;

static ebb_log_level check_level(lua_State *L)
{
    const char *name = lebb_check_text(L, 1, "ebb.log", "level");

    for (int level = EBB_LOG_DEBUG; level <= EBB_LOG_ERROR; level++)
        if (strcmp(name, ebb_log_level_name((ebb_log_level)level)) == 0)
            return (ebb_log_level)level;
    lebb_raise_code(L, EBB_INVALID_INPUT,
                    "ebb.log: level: '%s' is not debug, info, warn or error",
                    name);
    return EBB_LOG_INFO;
}

/* Pushes {path = how many lines}, of what earlier executions wrote. */
static void count_recorded(lua_State *L, lebb_sched *s)
{
    ebb_value **show = lebb_value_box(L), *lines;
    ebb_err err = { 0 };

    if (ebb_runs_show(s->rt, ebb_run_id(s->run), show, &err) < 0)
        lebb_raise(L, &err);
    lua_newtable(L);
    lines = ebb_value_find(*show, "log");
    for (size_t i = 0; i < ebb_value_size(lines); i++) {
        const char *path =
            ebb_value_find_string(ebb_value_at(lines, i), "step");
        if (!path)
            continue;
        lua_getfield(L, -1, path);
        lua_pushinteger(L, lua_tointeger(L, -1) + 1);
        lua_setfield(L, -3, path);
        lua_pop(L, 1);
    }
    lua_remove(L, -2);
}

/* The lines that are recorded at path. */
static lua_Integer recorded(lua_State *L, lebb_sched *s, const char *path)
{
    lua_Integer count;

    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &recorded_key) != LUA_TTABLE) {
        lua_pop(L, 1);
        count_recorded(L, s);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &recorded_key);
    }
    lua_getfield(L, -1, path);
    count = lua_tointeger(L, -1);
    lua_pop(L, 2);
    return count;
}

/* Whether the line is a new one; sets the path it belongs to. */
static bool is_new(lua_State *L, lebb_branch *branch,
                   char path[LEBB_PATH_BYTES])
{
    if (branch->step > 0) {
        lebb_durable_place(branch, 0, path);
        return true;
    }
    lebb_durable_place(branch, 1, path);
    if (branch->lines_before != branch->steps + 1) {
        branch->lines_before = branch->steps + 1;
        branch->lines = 0;
    }
    return ++branch->lines > recorded(L, branch->sched, path);
}

/* log(level, message, fields) */
static int l_log(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    ebb_log_level level = check_level(L);
    const char *message = lebb_check_text(L, 2, "ebb.log", "message");
    const ebb_value *fields = NULL;
    ebb_run *run = lebb_durable_run(s->current);
    ebb_request *request = lebb_branch_request(s->current);
    char path[LEBB_PATH_BYTES];

    if (!lua_isnoneornil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        fields = *lebb_value_check(L, 3, "ebb.log", LEBB_VALUE_EXACT);
    }
    if (request) {
        ebb_request_log(request, level, message, fields);
        return 0;
    }
    if (run && !is_new(L, s->current, path))
        return 0;
    if (run)
        ebb_run_log(run, path, level, message, fields);
    ebb_log(s->rt, level, message, fields);
    return 0;
}

void lebb_add_log(lua_State *L)
{
    lua_pushcfunction(L, l_log);
    lua_setfield(L, -2, "log");
}
