/* SPDX-License-Identifier: MIT */
#include "lua/lcoro.h"

#include <lauxlib.h>

#include "lua/lerror.h"
#include "lua/lsched.h"

/* Their addresses are the marks. */
static const char wait_mark, end_mark;

void lebb_coro_push_mark(lua_State *L, const char *mark)
{
    /* Lua's signature has no const; it never writes through it. */
    union {
        const char *from;
        void *to;
    } address = { .from = mark };

    lua_pushlightuserdata(L, address.to);
}

bool lebb_coro_is_mark(lua_State *L, int index, const char *mark)
{
    return lua_islightuserdata(L, index) &&
           lua_touserdata(L, index) == (const void *)mark;
}

void lebb_coro_push_wait(lua_State *L)
{
    lebb_coro_push_mark(L, &wait_mark);
}

bool lebb_coro_is_wait(lua_State *L, int index)
{
    return lebb_coro_is_mark(L, index, &wait_mark);
}

/* ---- bodies ---- */

static int body_end(lua_State *L, int status, lua_KContext handler)
{
    if (handler)
        lua_remove(L, 1);
    luaL_checkstack(L, 2, "too many results");
    lua_pushboolean(L, status == LUA_OK || status == LUA_YIELD);
    lebb_coro_push_mark(L, &end_mark);
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
        !lebb_coro_is_mark(co, -1, &end_mark))
        return false;
    *ok = lua_toboolean(co, -2);
    lua_pop(co, 2);
    return true;
}

/* ---- status ---- */

lebb_coro_status lebb_coro_look(lua_State *L, lua_State *co)
{
    lua_Debug ar;

    if (L == co)
        return LEBB_CORO_RUNNING;
    switch (lua_status(co)) {
    case LUA_YIELD:
        /* One that waits has a resumer, which waits with it. */
        return lua_gettop(co) > 0 && lebb_coro_is_wait(co, -1)
                   ? LEBB_CORO_NORMAL
                   : LEBB_CORO_SUSPENDED;
    case LUA_OK:
        if (lua_getstack(co, 0, &ar))
            return LEBB_CORO_NORMAL;
        return lua_gettop(co) == 0 ? LEBB_CORO_DEAD : LEBB_CORO_SUSPENDED;
    default:
        return LEBB_CORO_DEAD;
    }
}

/* ---- resume ---- */

int lebb_coro_run(lua_State *L, lua_State *co, int args, lua_KContext context,
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

int lebb_coro_run_on(lua_State *L, lua_State *co, lua_KContext context,
                     lua_KFunction k)
{
    lua_pop(co, 1); /* the mark */
    return lebb_coro_run(L, co, 0, context, k);
}

/* Why co cannot be resumed with so many arguments, or NULL. */
static const char *resume_problem(lua_State *L, lua_State *co, int args)
{
    switch (lebb_coro_look(L, co)) {
    case LEBB_CORO_SUSPENDED:
        return lua_checkstack(co, args) ? NULL : "too many arguments to resume";
    case LEBB_CORO_DEAD:
        return "cannot resume dead coroutine";
    default:
        return "cannot resume non-suspended coroutine";
    }
}

int lebb_coro_start(lua_State *L, lua_State *co, int below, lua_KFunction k)
{
    int args = lua_gettop(L) - below;
    const char *problem = resume_problem(L, co, args);

    if (problem) {
        lua_pushboolean(L, false);
        lua_pushstring(L, problem);
        return 2;
    }
    lua_xmove(L, co, args);
    return lebb_coro_run(L, co, args, 0, k);
}
