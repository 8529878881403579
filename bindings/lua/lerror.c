/* SPDX-License-Identifier: MIT */
#include "lua/lerror.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lua/lvalue.h"

#define ERROR_NAME "ebb.error"

/* The string under key of the table at index, or NULL; pushes it. */
static const char *push_text(lua_State *L, int index, const char *key)
{
    lua_pushstring(L, key);
    lua_rawget(L, index);
    return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
}

/* "e2b.readFile: /x: no such file (file_not_found)", and what could help. */
static int l_error_tostring(lua_State *L)
{
    const char *task, *message, *code, *hint;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    task = push_text(L, 1, "task");
    message = push_text(L, 1, "message");
    code = push_text(L, 1, "code");
    hint = push_text(L, 1, "hint");
    message = message ? message : "failed";
    if (task && strncmp(message, task, strlen(task)) == 0)
        task = NULL;
    lua_pushfstring(L, "%s%s%s%s%s%s%s%s", task ? task : "", task ? ": " : "",
                    message, code ? " (" : "", code ? code : "",
                    code ? ")" : "", hint ? "; " : "", hint ? hint : "");
    return 1;
}

static int l_error_concat(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

void lebb_error_init(lua_State *L)
{
    static const luaL_Reg methods[] = { { "__tostring", l_error_tostring },
                                        { "__concat", l_error_concat },
                                        { NULL, NULL } };

    luaL_newmetatable(L, ERROR_NAME);
    luaL_setfuncs(L, methods, 0);
    lua_pop(L, 1);
}

void lebb_error_push(lua_State *L, const ebb_err *err, const ebb_value *object)
{
    luaL_checkstack(L, 4, NULL);
    if (ebb_value_type(object) == EBB_OBJECT) {
        lebb_value_push(L, object, LEBB_VALUE_EXACT);
    } else {
        lua_createtable(L, 0, 6);
        lua_pushstring(L, ebb_code_name(err->code));
        lua_setfield(L, -2, "code");
        lua_pushstring(L, err->msg);
        lua_setfield(L, -2, "message");
        lua_pushboolean(L, ebb_code_retryable(err->code));
        lua_setfield(L, -2, "retryable");
        lua_pushinteger(L, 0);
        lua_setfield(L, -2, "attempts");
        if (err->status) {
            lua_pushinteger(L, err->status);
            lua_setfield(L, -2, "status");
        }
    }
    luaL_setmetatable(L, ERROR_NAME);
}

int lebb_raise(lua_State *L, const ebb_err *err)
{
    lebb_error_push(L, err, NULL);
    return lua_error(L);
}

int lebb_raise_code(lua_State *L, ebb_code code, const char *fmt, ...)
{
    ebb_err err = { 0 };
    char message[2 * EBB_ERR_MSG_BYTES]; /* ebb_err_set cuts it well */
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    ebb_err_set(&err, code, "%s", message);
    return lebb_raise(L, &err);
}

int lebb_raise_cancelled(lua_State *L)
{
    return lebb_raise_code(L, EBB_CANCELLED, "cancelled");
}

/* ---- the end of a script ---- */

/* Whether the value is a table that says its code and message. */
static bool is_error_table(lua_State *L, int index)
{
    bool is;

    if (!lua_istable(L, index))
        return false;
    is = push_text(L, index, "code") != NULL;
    is = push_text(L, index, "message") && is;
    lua_pop(L, 2);
    return is;
}

int lebb_traceback(lua_State *L)
{
    lua_settop(L, 1);
    if (!is_error_table(L, 1)) {
        lua_createtable(L, 0, 5);
        lua_pushstring(L, ebb_code_name(EBB_SCRIPT));
        lua_setfield(L, -2, "code");
        luaL_tolstring(L, 1, NULL);
        lua_setfield(L, -2, "message");
        lua_pushboolean(L, false);
        lua_setfield(L, -2, "retryable");
        luaL_setmetatable(L, ERROR_NAME);
    }
    if (!push_text(L, lua_gettop(L), "traceback")) {
        lua_pushliteral(L, "traceback");
        luaL_traceback(L, L, NULL, 1);
        lua_rawset(L, -4);
    }
    lua_pop(L, 1);
    return 1;
}

int lebb_pcall(lua_State *L, int args, int results)
{
    int base = lua_gettop(L) - args, status;

    lua_pushcfunction(L, lebb_traceback);
    lua_insert(L, base);
    status = lua_pcall(L, args, results, base);
    lua_remove(L, base);
    return status;
}

/* Converts the error value at 1; the lightuserdata at 2 is where to. */
static int l_error_convert(lua_State *L)
{
    ebb_value **out = lua_touserdata(L, 2);
    ebb_value **box = lebb_value_check(L, 1, "error", LEBB_VALUE_RELAXED);

    *out = lebb_value_take(box);
    return 0;
}

/* Copies code and message of the value at 1 into the ebb_err at 2. */
static int l_error_read(lua_State *L)
{
    ebb_err *err = lua_touserdata(L, 2);
    const char *name, *message;
    ebb_code code = EBB_OK;

    if (!is_error_table(L, 1)) {
        ebb_err_set(err, EBB_SCRIPT, "%s", luaL_tolstring(L, 1, NULL));
        return 0;
    }
    name = push_text(L, 1, "code");
    message = push_text(L, 1, "message");
    code = ebb_code_find(name);
    ebb_err_set(err, code ? code : EBB_SCRIPT, "%s", message);
    lua_getfield(L, 1, "status");
    err->status = (int)lua_tointeger(L, -1);
    lua_getfield(L, 1, "retryAfterMs");
    err->retry_after_ms = lua_tointeger(L, -1);
    return 0;
}

/* Calls fn(error value, where); false when that failed. */
static bool try_read(lua_State *L, lua_CFunction fn, void *where)
{
    bool ok;

    lua_pushcfunction(L, fn);
    lua_pushvalue(L, -2);
    lua_pushlightuserdata(L, where);
    ok = lua_pcall(L, 2, 0, 0) == LUA_OK;
    if (!ok)
        lua_pop(L, 1);
    return ok;
}

/* What is left when the whole object does not convert. */
static ebb_value *plain_object(const ebb_err *err)
{
    ebb_value *object = ebb_value_object();

    ebb_value_set(object, "code", ebb_value_text(ebb_code_name(err->code)));
    ebb_value_set(object, "message", ebb_value_text(err->msg));
    ebb_value_set(object, "retryable",
                  ebb_value_bool(ebb_code_retryable(err->code)));
    return object;
}

void lebb_error_take(lua_State *L, ebb_err *err, ebb_value **out)
{
    ebb_value *object = NULL;

    if (!lua_checkstack(L, 4) || !try_read(L, l_error_read, err))
        ebb_err_set(err, EBB_SCRIPT, "the error cannot be read");
    if (out) {
        if (!lua_istable(L, -1) || !try_read(L, l_error_convert, &object))
            object = plain_object(err);
        *out = object;
    }
    lua_pop(L, 1);
}
