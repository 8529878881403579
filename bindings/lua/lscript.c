/* SPDX-License-Identifier: MIT */
/* Starting a script or a chunk, and taking what it left. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lrun.h"
#include "lua/lvalue.h"

#define CHUNK_NAME "=prompt"

/* Its address is the key of the script's branch in the registry. */
static const char job_key;

/* What the protected functions below are given. */
typedef struct starting {
    ebb_lua *lua;
    const ebb_lua_script *script;
    const char *text; /* of a chunk */
    size_t n;
    ebb_code code; /* why it failed, if it was not memory */
    bool incomplete;
} starting;

/* ---- loading ---- */

/* A first line that starts with # is for the shell. */
static int load_text(lua_State *L, const ebb_lua_script *script)
{
    const char *text = script->text, *end = text + script->text_n;
    const char *name = script->path ? script->path : "script";

    if (text < end && *text == '#')
        while (text < end && *text != '\n')
            text++;
    return luaL_loadbufferx(L, text, (size_t)(end - text),
                            lua_pushfstring(L, "@%s", name), "t");
}

static void load_script(lua_State *L, starting *from)
{
    const ebb_lua_script *script = from->script;
    int status = script->text ? load_text(L, script)
                              : luaL_loadfilex(L, script->path, "t");

    if (status == LUA_OK)
        return;
    from->code = status == LUA_ERRFILE ? EBB_FILE_NOT_FOUND : EBB_SCRIPT;
    lua_error(L);
}

static bool ends_in_eof(lua_State *L)
{
    static const char eof[] = "<eof>";
    size_t n;
    const char *message = lua_tolstring(L, -1, &n);

    return message && n >= sizeof eof - 1 &&
           strcmp(message + n - (sizeof eof - 1), eof) == 0;
}

/* As an expression, else as statements. */
static void load_chunk(lua_State *L, starting *from)
{
    lua_pushliteral(L, "return ");
    lua_pushlstring(L, from->text, from->n);
    lua_concat(L, 2);
    if (luaL_loadbufferx(L, lua_tostring(L, -1), lua_rawlen(L, -1), CHUNK_NAME,
                         "t") == LUA_OK)
        return;
    if (luaL_loadbufferx(L, from->text, from->n, CHUNK_NAME, "t") == LUA_OK)
        return;
    from->code = EBB_SCRIPT;
    from->incomplete = ends_in_eof(L);
    lua_error(L);
}

/* ---- starting ---- */

/* Sets arg and pushes the arguments. */
static int push_args(lua_State *L, const ebb_lua_script *script)
{
    int n = (int)script->args_count;

    luaL_checkstack(L, n + 4, "too many arguments");
    lua_createtable(L, n, 1);
    lua_pushstring(L, script->path ? script->path : "script");
    lua_rawseti(L, -2, 0);
    for (int i = 0; i < n; i++) {
        lua_pushstring(L, script->args[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setglobal(L, "arg");
    for (int i = 0; i < n; i++)
        lua_pushstring(L, script->args[i]);
    return n;
}

/* What the script did not wait for ends with it. */
static void job_ended(lua_State *L, lebb_branch *branch)
{
    (void)L;
    lebb_sched_cancel(branch->sched);
}

static int l_start(lua_State *L)
{
    starting *from = lua_touserdata(L, 1);
    lebb_sched *s = from->lua->sched;
    lebb_branch *branch;
    int args = 0;

    if (from->script)
        load_script(L, from);
    else
        load_chunk(L, from);
    if (from->script)
        args = push_args(L, from->script);
    branch = lebb_branch_new(L, s, args, true);
    branch->on_end = job_ended;
    branch->durable = from->script && s->run;
    lua_rawsetp(L, LUA_REGISTRYINDEX, &job_key);
    from->lua->job = branch;
    s->job = branch;
    s->cancels = s->cancels_seen = 0;
    s->gave_up = false;
    s->exit_status = -1;
    return 0;
}

static int start(starting *from, ebb_err *err)
{
    ebb_lua *lua = from->lua;

    if (lua->job)
        return ebb_err_set(err, EBB_CONFLICT,
                           "a script runs in this state already");
    lua_pushcfunction(lua->L, l_start);
    lua_pushlightuserdata(lua->L, from);
    if (lua_pcall(lua->L, 1, 0, 0) != LUA_OK) {
        lebb_error_take(lua->L, err, NULL);
        if (from->code)
            err->code = from->code;
        return -1;
    }
    ebb_wake(lua->rt); /* a host that waits for its descriptor polls */
    return 0;
}

int ebb_lua_start(ebb_lua *lua, const ebb_lua_script *script, ebb_err *err)
{
    starting from = { .lua = lua, .script = script };

    if (!script->text && !script->path)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "ebb_lua_start: neither a path nor a text");
    return start(&from, err);
}

int ebb_lua_start_chunk(ebb_lua *lua, const char *text, size_t n,
                        bool *incomplete, ebb_err *err)
{
    starting from = { .lua = lua, .text = text, .n = n };
    int result = start(&from, err);

    if (incomplete)
        *incomplete = from.incomplete;
    return result;
}

/* ---- taking ---- */

/*
 * Moves what the script left to L, its n results or its error; the branch is
 * let go. Allocates in checked ways only: nothing here may raise.
 */
static bool end_job(ebb_lua *lua, int *n)
{
    lua_State *L = lua->L;
    lebb_branch *job = lua->job;
    bool ok = job->ok;

    *n = 0;
    if (lua_checkstack(L, lua_gettop(job->co) + 4))
        *n = lebb_branch_results(L, job);
    else
        ok = true; /* more results than Lua's stack holds: none are shown */
    lua->job = NULL;
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &job_key);
    return ok;
}

/* The first result at 1 as JSON, into the ebb_value * at 2. */
static int l_take_value(lua_State *L)
{
    ebb_value **out = lua_touserdata(L, 2);

    if (!lua_isnil(L, 1))
        *out = lebb_value_take(
            lebb_value_check(L, 1, "the script's result", LEBB_VALUE_EXACT));
    return 0;
}

typedef struct text_out {
    char *text;
    unsigned how;
} text_out;

/* All results from 2 on, as text into the text_out at 1. */
static int l_take_text(lua_State *L)
{
    text_out *out = lua_touserdata(L, 1);
    int results = lua_gettop(L) - 1;
    size_t n;
    const char *text;

    lebb_open_embedded(L, "pretty");
    lua_insert(L, 2);
    lua_pushboolean(L, (out->how & EBB_LUA_COLOUR) != 0);
    lua_insert(L, 3);
    lua_call(L, results + 1, 1);
    text = luaL_checklstring(L, -1, &n);
    out->text = ebb_mem_dup_n(text, n);
    if (!out->text)
        return lebb_raise_code(L, EBB_NO_MEMORY, "no memory for the results");
    return 0;
}

/* Whether there is something to take; else err. */
static int check_done(const ebb_lua *lua, ebb_err *err)
{
    if (lua->job && ebb_lua_done(lua))
        return 0;
    return ebb_err_set(err, EBB_CONFLICT,
                       lua->job ? "the script has not ended"
                                : "there is no script to take from");
}

/* As ebb_lua_take, of a script that is done. */
static int take(ebb_lua *lua, ebb_value **out, ebb_err *err)
{
    lua_State *L = lua->L;
    int top = lua_gettop(L), n;
    bool ok;

    ok = end_job(lua, &n);
    if (lua->sched->exit_status >= 0) {
        lua_settop(L, top);
        return 0;
    }
    if (ok) {
        lua_settop(L, top + 1);
        lua_pushcfunction(L, l_take_value);
        lua_insert(L, -2);
        lua_pushlightuserdata(L, out);
        if (lua_pcall(L, 2, 0, 0) == LUA_OK)
            return 0;
    }
    lebb_error_take(L, err, out);
    if (ok) { /* the result is no JSON */
        err->code = EBB_SCRIPT;
        ebb_value_set(*out, "code", ebb_value_text(ebb_code_name(EBB_SCRIPT)));
    }
    return -1;
}

int ebb_lua_take(ebb_lua *lua, ebb_value **out, ebb_err *err)
{
    *out = NULL;
    if (check_done(lua, err) < 0)
        return -1;
    return lebb_run_finish(lua, take(lua, out, err), out, err);
}

int ebb_lua_take_text(ebb_lua *lua, unsigned how, char **text,
                      ebb_value **error, ebb_err *err)
{
    lua_State *L = lua->L;
    text_out out = { .how = how };
    int n;

    *text = NULL;
    *error = NULL;
    if (check_done(lua, err) < 0)
        return -1;
    if (end_job(lua, &n)) {
        lua_pushcfunction(L, l_take_text);
        lua_insert(L, -n - 1);
        lua_pushlightuserdata(L, &out);
        lua_insert(L, -n - 1);
        if (lebb_pcall(L, n + 1, 0) == LUA_OK) {
            *text = out.text;
            return 0;
        }
    }
    lebb_error_take(L, err, error);
    return -1;
}
