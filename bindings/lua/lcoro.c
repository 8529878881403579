/* SPDX-License-Identifier: MIT */
#include "lua/lcoro.h"

#include <lauxlib.h>

#include "lua/lerror.h"
#include "lua/lsched.h"

/* A closed coroutine may catch the error and yield again this often. */
#define CLOSE_TRIES 10

/* Their addresses are the marks. */
static const char wait_mark, end_mark, close_mark;

static void push_mark(lua_State *L, const char *mark)
{
    /* Lua never writes through it; the cast drops const for its signature. */
    lua_pushlightuserdata(L, (void *)(uintptr_t)mark);
}

static bool is_mark(lua_State *L, int index, const char *mark)
{
    return lua_islightuserdata(L, index) &&
           lua_touserdata(L, index) == (const void *)mark;
}

void lebb_coro_push_wait(lua_State *L)
{
    push_mark(L, &wait_mark);
}

bool lebb_coro_is_wait(lua_State *L, int index)
{
    return is_mark(L, index, &wait_mark);
}

/* ---- bodies ---- */

static int body_end(lua_State *L, int status, lua_KContext handler)
{
    if (handler)
        lua_remove(L, 1);
    luaL_checkstack(L, 2, "too many results");
    lua_pushboolean(L, status == LUA_OK || status == LUA_YIELD);
    push_mark(L, &end_mark);
    return lua_gettop(L);
}

static int l_body(lua_State *L)
{
    int args = lua_gettop(L);
    int handler = lua_toboolean(L, lua_upvalueindex(2));

    luaL_checkstack(L, 2, "too many arguments");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    if (handler) {
        lua_pushcfunction(L, lebb_traceback);
        lua_insert(L, 1);
    }
    return body_end(
        L, lua_pcallk(L, args, LUA_MULTRET, handler, handler, body_end),
        handler);
}

void lebb_coro_push_body(lua_State *L, bool handler)
{
    lua_pushboolean(L, handler);
    lua_pushcclosure(L, l_body, 2);
}

bool lebb_coro_ended(lua_State *co, bool *ok)
{
    if (lua_status(co) != LUA_OK || lua_gettop(co) < 2 ||
        !is_mark(co, -1, &end_mark))
        return false;
    *ok = lua_toboolean(co, -2);
    lua_pop(co, 2);
    return true;
}

/* ---- status ---- */

typedef enum co_status {
    CO_RUNNING,
    CO_SUSPENDED,
    CO_NORMAL,
    CO_DEAD
} co_status;

static co_status status_of(lua_State *L, lua_State *co)
{
    lua_Debug ar;

    if (L == co)
        return CO_RUNNING;
    switch (lua_status(co)) {
    case LUA_YIELD:
        /* One that waits has a resumer, which waits with it. */
        return lua_gettop(co) > 0 && lebb_coro_is_wait(co, -1) ? CO_NORMAL
                                                               : CO_SUSPENDED;
    case LUA_OK:
        if (lua_getstack(co, 0, &ar))
            return CO_NORMAL;
        return lua_gettop(co) == 0 ? CO_DEAD : CO_SUSPENDED;
    default:
        return CO_DEAD;
    }
}

static const char *status_name(co_status status)
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

/* ---- resume ---- */

/*
 * Runs co until it yields or ends and leaves true and its values on L, or
 * false and the error; returns how many. When co waits, L waits too, and k
 * goes on.
 */
static int run(lua_State *L, lua_State *co, int args, lua_KContext context,
               lua_KFunction k)
{
    lebb_sched *s = lebb_sched_get(L);
    lua_State *running = s->running, *blocked = s->blocked;
    bool inside = running == L, ok = true;
    int status, n;

    if (inside) {
        if (!blocked && !lua_isyieldable(L))
            s->blocked = L;
        lebb_sched_arm(s, co);
    }
    status = lua_resume(co, L, args, &n);
    s->running = running;
    s->blocked = blocked;
    if (status == LUA_YIELD && n == 1 && lebb_coro_is_wait(co, -1)) {
        /* The mark stays on co: it says that co is not to be resumed. */
        lebb_coro_push_wait(L);
        return lua_yieldk(L, 1, context, k);
    }
    if (status == LUA_OK && lebb_coro_ended(co, &ok))
        n -= 2;
    else if (status != LUA_OK && status != LUA_YIELD)
        ok = false, n = 1;
    if (!lua_checkstack(L, n + 1)) {
        lua_pop(co, n);
        lua_pushboolean(L, false);
        lua_pushliteral(L, "too many results to resume");
        return 2;
    }
    lua_pushboolean(L, ok);
    lua_xmove(co, L, n);
    return n + 1;
}

/* Goes on with a coroutine that waited. */
static int run_on(lua_State *L, lua_State *co, lua_KContext context,
                  lua_KFunction k)
{
    lua_pop(co, 1); /* the mark */
    return run(L, co, 0, context, k);
}

/* Why co cannot be resumed with so many arguments, or NULL. */
static const char *resume_problem(lua_State *L, lua_State *co, int args)
{
    switch (status_of(L, co)) {
    case CO_SUSPENDED:
        return lua_checkstack(co, args) ? NULL : "too many arguments to resume";
    case CO_DEAD:
        return "cannot resume dead coroutine";
    default:
        return "cannot resume non-suspended coroutine";
    }
}

/* Moves the arguments above the first `below` values to co and runs it. */
static int start(lua_State *L, lua_State *co, int below, lua_KFunction k)
{
    int args = lua_gettop(L) - below;
    const char *problem = resume_problem(L, co, args);

    if (problem) {
        lua_pushboolean(L, false);
        lua_pushstring(L, problem);
        return 2;
    }
    lua_xmove(L, co, args);
    return run(L, co, args, 0, k);
}

static int resume_on(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    return run_on(L, lua_tothread(L, 1), context, resume_on);
}

static int l_coroutine_resume(lua_State *L)
{
    return start(L, check_co(L), 1, resume_on);
}

/* ---- wrap ---- */

/* What run left becomes the results of the wrapped function, or its error. */
static int unwrap(lua_State *L, int n)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));

    if (lua_toboolean(L, -n))
        return n - 1;
    if (status_of(L, co) == CO_DEAD)
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
    return unwrap(L, run_on(L, co, context, wrap_on));
}

static int l_wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));

    return unwrap(L, start(L, co, 0, wrap_on));
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
    if (lua_gettop(L) > 0 && is_mark(L, -1, &close_mark)) {
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
    bool ended = status_of(L, co) == CO_DEAD, ok = true;

    while (!ended && tries < CLOSE_TRIES && stopped_at_yield(co)) {
        lua_settop(L, 1);
        push_mark(co, &close_mark);
        n = run(L, co, 1, ++tries, close_on);
        ended = status_of(L, co) == CO_DEAD;
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
    return close_again(L, run_on(L, lua_tothread(L, 1), tries, close_on),
                       tries);
}

static int l_coroutine_close(lua_State *L)
{
    lua_State *co = check_co(L);
    co_status status = status_of(L, co);

    if (status != CO_SUSPENDED && status != CO_DEAD)
        return luaL_error(L, "cannot close a %s coroutine",
                          status_name(status));
    lua_settop(L, 1);
    return close_again(L, 0, 0);
}

/* ---- the rest ---- */

static int l_coroutine_status(lua_State *L)
{
    lua_pushstring(L, status_name(status_of(L, check_co(L))));
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
