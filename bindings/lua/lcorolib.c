/* SPDX-License-Identifier: MIT */
/* The functions of the table `coroutine`, over lcoro.c. */
#include "lua/lcoro.h"

#include <lauxlib.h>

#include "lua/lerror.h"
#include "lua/lsched.h"

/* A closed coroutine may catch the error and yield again this often. */
#define CLOSE_TRIES 10

/*
 * Its address tells a coroutine that yielded to raise, and is the key of the
 * error it raises in the registry.
 */
static const char close_mark;

static const char *status_name(lebb_coro_status status)
{
    static const char *const names[] = { "running", "suspended", "normal",
                                         "dead" };

    return names[status];
}

static lua_State *check_co(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);

    luaL_argexpected(L, co, 1, "coroutine");
    return co;
}

static int resume_on(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    return lebb_coro_run_on(L, lua_tothread(L, 1), context, resume_on);
}

static int l_coroutine_resume(lua_State *L)
{
    return lebb_coro_start(L, check_co(L), 1, resume_on);
}

/* ---- wrap ---- */

/* What run left becomes the results of the wrapped function, or its error. */
static int unwrap(lua_State *L, int n)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));

    if (lua_toboolean(L, -n))
        return n - 1;
    if (lebb_coro_look(L, co) == LEBB_CORO_DEAD)
        lua_resetthread(co);
    if (lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int wrap_on(lua_State *L, int status, lua_KContext context)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));

    (void)status;
    return unwrap(L, lebb_coro_run_on(L, co, context, wrap_on));
}

static int l_wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));

    return unwrap(L, lebb_coro_start(L, co, 0, wrap_on));
}

static int l_coroutine_create(lua_State *L)
{
    lua_State *co;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lebb_coro_push_body(L, false);
    lua_xmove(L, co, 1);
    return 1;
}

static int l_coroutine_wrap(lua_State *L)
{
    l_coroutine_create(L);
    lua_pushcclosure(L, l_wrapped, 1);
    return 1;
}

/* ---- yield and close ---- */

static void push_closed_error(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &close_mark);
}

static int yield_on(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    (void)context;
    if (lua_gettop(L) > 0 && lebb_coro_is_mark(L, -1, &close_mark)) {
        push_closed_error(L);
        return lua_error(L);
    }
    return lua_gettop(L);
}

static int l_coroutine_yield(lua_State *L)
{
    lebb_sched *s = lebb_sched_get(L);

    if (s->current && s->current->co == L)
        return luaL_error(L, "attempt to yield from outside a coroutine");
    return lua_yieldk(L, lua_gettop(L), 0, yield_on);
}

/* Whether co stopped in the function above, so that it knows the mark. */
static bool stopped_at_yield(lua_State *co)
{
    lua_Debug ar;
    bool is;

    if (!lua_getstack(co, 0, &ar) || !lua_checkstack(co, 1))
        return false;
    lua_getinfo(co, "f", &ar);
    is = lua_tocfunction(co, -1) == l_coroutine_yield;
    lua_pop(co, 1);
    return is;
}

static int close_on(lua_State *L, int status, lua_KContext tries);

/*
 * The coroutine at 1 gets the error as long as it yields; run left its values
 * (n of them) on L.
 */
static int close_again(lua_State *L, int n, lua_KContext tries)
{
    lua_State *co = lua_tothread(L, 1);
    bool ended = lebb_coro_look(L, co) == LEBB_CORO_DEAD, ok = true;

    while (!ended && tries < CLOSE_TRIES && stopped_at_yield(co)) {
        lua_settop(L, 1);
        lebb_coro_push_mark(co, &close_mark);
        n = lebb_coro_run(L, co, 1, ++tries, close_on);
        ended = lebb_coro_look(L, co) == LEBB_CORO_DEAD;
    }
    if (ended && n > 0 && !lua_toboolean(L, -n)) {
        push_closed_error(L);
        ok = lua_rawequal(L, -1, -2);
        lua_pop(L, 1);
    }
    if (lua_resetthread(co) != LUA_OK && ok) {
        ok = false;
        lua_settop(L, 1);
        lua_xmove(co, L, 1);
    }
    lua_pushboolean(L, ok);
    if (ok)
        return 1;
    lua_insert(L, -2);
    return 2;
}

static int close_on(lua_State *L, int status, lua_KContext tries)
{
    (void)status;
    return close_again(
        L, lebb_coro_run_on(L, lua_tothread(L, 1), tries, close_on), tries);
}

static int l_coroutine_close(lua_State *L)
{
    lua_State *co = check_co(L);
    lebb_coro_status status = lebb_coro_look(L, co);

    if (status != LEBB_CORO_SUSPENDED && status != LEBB_CORO_DEAD)
        return luaL_error(L, "cannot close a %s coroutine",
                          status_name(status));
    lua_settop(L, 1);
    return close_again(L, 0, 0);
}

/* ---- the rest ---- */

static int l_coroutine_status(lua_State *L)
{
    lua_pushstring(L, status_name(lebb_coro_look(L, check_co(L))));
    return 1;
}

/* A branch is a main program to the script in it. */
static bool is_main(lua_State *L)
{
    lebb_sched *s = lebb_sched_get(L);

    return s->current && s->current->co == L;
}

static int l_coroutine_running(lua_State *L)
{
    bool main = lua_pushthread(L) == 1;

    lua_pushboolean(L, main || is_main(L));
    return 2;
}

static int l_coroutine_isyieldable(lua_State *L)
{
    lua_State *co = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;

    lua_pushboolean(L, lua_isyieldable(co) && !is_main(co));
    return 1;
}

void lebb_coro_install(lua_State *L)
{
    static const luaL_Reg functions[] = { { "close", l_coroutine_close },
                                          { "create", l_coroutine_create },
                                          { "isyieldable",
                                            l_coroutine_isyieldable },
                                          { "resume", l_coroutine_resume },
                                          { "running", l_coroutine_running },
                                          { "status", l_coroutine_status },
                                          { "wrap", l_coroutine_wrap },
                                          { "yield", l_coroutine_yield },
                                          { NULL, NULL } };
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_CANCELLED, "the coroutine was closed");
    lebb_error_push(L, &err, NULL);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &close_mark);
    lua_getglobal(L, "coroutine");
    if (lua_istable(L, -1))
        luaL_setfuncs(L, functions, 0);
    lua_pop(L, 1);
}
