/* SPDX-License-Identifier: MIT */
/* A state of ebb's own: opening it, polling, and what a program shows. */
#include "lua/lrun.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "lua/lcall.h"
#include "lua/ldurable.h"
#include "lua/lerror.h"
#include "lua/linit.h"
#include "lua/lmodule.h"
#include "lua/lvalue.h"

/* How long ebb_lua_close lets cleanup go on, and then what gave up. */
#define CLOSE_MS   10000
#define GIVE_UP_MS 1000

/* Turns in one poll, so that the loop is looked at between them. */
#define TURNS_MAX 16

void ebb_lua_config_init(ebb_lua_config *config)
{
    *config = (ebb_lua_config){ .size = sizeof *config };
}

static void *allocate(void *context, void *block, size_t old, size_t size)
{
    (void)context;
    (void)old;
    if (size > 0)
        return ebb_mem_resize(block, size);
    ebb_mem_free(block);
    return NULL;
}

/* Lua's warnings, an error in a finalizer for one, are lines of the log. */
static void warn(void *context, const char *text, int more)
{
    ebb_lua *lua = context;
    size_t n = strlen(lua->warning);

    if (n == 0 && !more && text[0] == '@')
        return; /* a control message: warnings are always on */
    snprintf(lua->warning + n, sizeof lua->warning - n, "%s", text);
    if (more)
        return;
    ebb_log_write(EBB_LOG_WARN, "lua: %s", lua->warning);
    lua->warning[0] = '\0';
}

/* open(runtime, run) */
static int l_open(lua_State *L)
{
    ebb_run *run = lua_touserdata(L, 2);

    luaL_openlibs(L);
    lua_settop(L, 1);
    lebb_open_state(L);
    if (run) {
        lebb_sched_get(L)->run = run;
        lebb_durable_install(L);
        lebb_pairs_install(L);
    }
    return 0;
}

ebb_lua *ebb_lua_open(const ebb_lua_config *config, ebb_err *err)
{
    ebb_lua *lua = ebb_mem_zero(sizeof *lua);

    if (!lua) {
        ebb_err_set(err, EBB_NO_MEMORY, "ebb_lua_open");
        return NULL;
    }
    lua->before = config->before;
    lua->context = config->context;
    lua->rt = config->runtime;
    lua->L = lua_newstate(allocate, NULL);
    if (!lua->L) {
        ebb_mem_free(lua);
        ebb_err_set(err, EBB_NO_MEMORY, "ebb_lua_open: no memory for Lua");
        return NULL;
    }
    lua_setwarnf(lua->L, warn, lua);
    lua_pushcfunction(lua->L, l_open);
    lua_pushlightuserdata(lua->L, lua->rt);
    lua_pushlightuserdata(lua->L, config->run);
    if (lua_pcall(lua->L, 2, 0, 0) != LUA_OK) {
        lebb_error_take(lua->L, err, NULL);
        ebb_lua_close(lua);
        return NULL;
    }
    lua->sched = lebb_sched_get(lua->L);
    return lua;
}

static bool wait_done(ebb_lua *lua, int64_t ms)
{
    double end = ebb_monotonic_ms(lua->rt) + (double)ms;
    ebb_err err;

    while (!ebb_lua_done(lua) && ebb_monotonic_ms(lua->rt) < end)
        if (ebb_lua_poll(lua, 100, &err) < 0)
            break;
    return ebb_lua_done(lua);
}

void ebb_lua_close(ebb_lua *lua)
{
    if (!lua)
        return;
    if (lua->sched && !ebb_lua_done(lua)) {
        lebb_sched_cancel(lua->sched);
        if (!wait_done(lua, CLOSE_MS)) {
            lebb_sched_give_up(lua->sched);
            wait_done(lua, GIVE_UP_MS);
        }
    }
    ebb_lua_detach(lua->L);
    lua_close(lua->L);
    ebb_mem_free(lua);
}

/* ---- polling ---- */

/* turn(scheduler): false when nothing was ready. */
static int l_turn(lua_State *L)
{
    lua_pushboolean(L, lebb_sched_turn(L, lua_touserdata(L, 1)));
    return 1;
}

static bool is_ready(const lebb_sched *s)
{
    return s->ready_first || lebb_requests_waiting(s);
}

static int turn(ebb_lua *lua, ebb_err *err)
{
    lua_State *L = lua->L;

    lua_pushcfunction(L, l_turn);
    lua_pushlightuserdata(L, lua->sched);
    if (lebb_pcall(L, 1, 0) == LUA_OK)
        return 0;
    lebb_error_take(L, err, NULL);
    return -1;
}

int ebb_lua_poll(ebb_lua *lua, int timeout_ms, ebb_err *err)
{
    lebb_sched *s = lua->sched;

    if (s->turning)
        return ebb_err_set(err, EBB_CONFLICT,
                           "ebb_lua_poll: called from inside Lua");
    lebb_sched_look(s);
    if (!is_ready(s))
        lebb_durable_idle(s);
    /* A host that runs the loop itself polls here for the turns alone. */
    if (ebb_poll(lua->rt, is_ready(s) ? 0 : timeout_ms, err) < 0 &&
        err->code != EBB_UNSUPPORTED)
        return -1;
    lebb_sched_look(s);
    if (is_ready(s) && lua->before)
        lua->before(lua->context);
    for (int i = 0; i < TURNS_MAX && is_ready(s); i++)
        if (turn(lua, err) < 0)
            return -1;
    if (is_ready(s))
        ebb_wake(lua->rt);
    return 0;
}

void ebb_lua_cancel(ebb_lua *lua)
{
    lebb_sched_interrupt(lua->sched);
    ebb_wake(lua->rt);
}

bool ebb_lua_done(const ebb_lua *lua)
{
    return !lua->job || (lua->job->ended && lua->sched->count == 0);
}

int ebb_lua_exit_status(const ebb_lua *lua)
{
    return lua->sched->exit_status;
}

/* ---- what a program shows ---- */

size_t ebb_lua_activities(const ebb_lua *lua, ebb_lua_activity *list,
                          size_t max)
{
    size_t n = 0;

    for (lebb_branch *b = lua->sched->first; b; b = b->next) {
        if (!b->call || lebb_call_done(b->call))
            continue;
        if (n < max)
            lebb_call_show(b->call, &list[n]);
        n++;
    }
    return n;
}

typedef struct completing {
    const char *text;
    ebb_value *names;
} completing;

static int l_complete(lua_State *L)
{
    completing *c = lua_touserdata(L, 1);

    lebb_open_embedded(L, "complete");
    lua_pushstring(L, c->text);
    lua_call(L, 1, 1);
    c->names =
        lebb_value_take(lebb_value_check(L, -1, "complete", LEBB_VALUE_EXACT));
    return 0;
}

ebb_value *ebb_lua_complete(ebb_lua *lua, const char *text, ebb_err *err)
{
    completing c = { .text = text };

    lua_pushcfunction(lua->L, l_complete);
    lua_pushlightuserdata(lua->L, &c);
    if (lebb_pcall(lua->L, 1, 0) == LUA_OK)
        return c.names;
    lebb_error_take(lua->L, err, NULL);
    return NULL;
}
