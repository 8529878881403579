/* SPDX-License-Identifier: MIT */
/*
 * Tasks written in Lua (ebb.task): the core checks their input, retries them
 * and asks for an attempt here; a branch runs it.
 *
 * Ownership: a handler belongs to the runtime, which frees it, and knows the
 * state as long as that lives. A request is C memory until it is answered.
 */
#include <lauxlib.h>

#include "lua/lcheck.h"
#include "lua/lerror.h"
#include "lua/lmodule.h"
#include "lua/lvalue.h"

struct lebb_handler {
    lebb_sched *sched; /* NULL: the state is gone */
    int function;      /* its reference in the registry */
    lebb_handler *next;
};

struct lebb_request {
    ebb_request *request;
    lebb_handler *handler;
    lebb_branch *branch; /* NULL until it was started */
    bool cancelled;
    lebb_request *next;
};

static void unlink_request(lebb_sched *s, lebb_request *request)
{
    lebb_request **link = &s->requests;

    while (*link != request)
        link = &(*link)->next;
    *link = request->next;
}

/* ---- what the core calls ---- */

static void start(void *context, ebb_request *from)
{
    lebb_handler *handler = context;
    lebb_sched *s = handler->sched;
    lebb_request *request = s ? ebb_mem_zero(sizeof *request) : NULL;
    ebb_err err = { 0 };

    if (!request) {
        ebb_err_set(&err, s ? EBB_NO_MEMORY : EBB_CONFLICT, "%s",
                    s ? "no memory" : "the script of this task has ended");
        ebb_request_fail(from, &err, NULL);
        return;
    }
    request->request = from;
    request->handler = handler;
    request->next = s->requests;
    s->requests = request;
}

static void cancel(void *context, ebb_request *from)
{
    lebb_handler *handler = context;
    lebb_request *request = handler->sched ? handler->sched->requests : NULL;

    while (request && request->request != from)
        request = request->next;
    if (!request)
        return;
    request->cancelled = true;
    if (request->branch)
        lebb_branch_cancel(request->branch);
}

static void free_handler(void *context)
{
    lebb_handler *handler = context;
    lebb_handler **link = handler->sched ? &handler->sched->handlers : NULL;

    while (link && *link != handler)
        link = &(*link)->next;
    if (link)
        *link = handler->next;
    ebb_mem_free(handler);
}

/* ---- running an attempt ---- */

/* Answers with the error at the top, which is popped. */
static void fail_request(lua_State *L, lebb_request *request)
{
    ebb_value *object = NULL, *details = NULL;
    ebb_request *from = request->request;
    ebb_err err = { 0 };

    lebb_error_take(L, &err, &object);
    if (ebb_value_find(object, "details"))
        details = ebb_value_copy(ebb_value_find(object, "details"));
    ebb_value_free(object);
    ebb_mem_free(request);
    ebb_request_fail(from, &err, details);
}

/* The value at 1, as JSON, into the ebb_value * at 2. */
static int l_convert_result(lua_State *L)
{
    ebb_value **out = lua_touserdata(L, 2);

    *out = lebb_value_take(lebb_value_check(L, 1, "result", LEBB_VALUE_EXACT));
    return 0;
}

static void request_ended(lua_State *L, lebb_branch *branch)
{
    lebb_request *request = branch->owner;
    ebb_request *from = request->request;
    ebb_value *result = NULL;
    int top = lua_gettop(L);

    unlink_request(branch->sched, request);
    luaL_checkstack(L, 4, NULL);
    lua_settop(branch->co, branch->ok ? 1 : lua_gettop(branch->co));
    lebb_branch_results(L, branch);
    if (branch->ok) {
        lua_settop(L, top + 1);
        lua_pushcfunction(L, l_convert_result);
        lua_insert(L, -2);
        lua_pushlightuserdata(L, &result);
        if (lua_pcall(L, 2, 0, 0) == LUA_OK) {
            ebb_mem_free(request);
            ebb_request_finish(from, result);
            return;
        }
    }
    fail_request(L, request);
}

ebb_request *lebb_branch_request(const lebb_branch *branch)
{
    while (branch && branch->on_end != request_ended)
        branch = lebb_branch_waiter(branch);
    return branch ? ((const lebb_request *)branch->owner)->request : NULL;
}

/* Makes the branch of the request at 1. */
static int l_start_request(lua_State *L)
{
    lebb_request *request = lua_touserdata(L, 1);
    lebb_handler *handler = request->handler;
    lebb_branch *branch;

    lua_rawgeti(L, LUA_REGISTRYINDEX, handler->function);
    lebb_value_push(L, ebb_request_input(request->request), LEBB_VALUE_EXACT);
    lua_pushinteger(L, ebb_request_attempt(request->request));
    branch = lebb_branch_new(L, handler->sched, 2, false);
    branch->owner = request;
    branch->on_end = request_ended;
    request->branch = branch;
    if (request->cancelled)
        lebb_branch_cancel(branch);
    return 0;
}

/* The oldest that was not started: they are few, the newest is first. */
static lebb_request *find_waiting(const lebb_sched *s)
{
    lebb_request *oldest = NULL;

    for (lebb_request *r = s->requests; r; r = r->next)
        if (!r->branch)
            oldest = r;
    return oldest;
}

bool lebb_requests_waiting(const lebb_sched *s)
{
    return find_waiting(s) != NULL;
}

void lebb_requests_start(lua_State *L, lebb_sched *s)
{
    lebb_request *request;

    while ((request = find_waiting(s))) {
        lua_pushcfunction(L, l_start_request);
        lua_pushlightuserdata(L, request);
        if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
            unlink_request(s, request);
            fail_request(L, request);
        }
    }
}

void lebb_handlers_drop(lebb_sched *s)
{
    ebb_err err = { 0 };
    lebb_request *request;

    ebb_err_set(&err, EBB_CANCELLED, "the script of this task has ended");
    while ((request = s->requests)) {
        ebb_request *from = request->request;
        s->requests = request->next;
        if (request->branch) {
            request->branch->owner = NULL;
            request->branch->on_end = NULL;
        }
        ebb_mem_free(request);
        ebb_request_fail(from, &err, NULL);
    }
    for (lebb_handler *h = s->handlers; h; h = h->next)
        h->sched = NULL;
    s->handlers = NULL;
}

/* ---- ebb.task ---- */

/* register(name, run, class, help, fields) */
static int l_handler_register(lua_State *L)
{
    lebb_sched *s = lebb_sched_check(L);
    ebb_task_config config = { .start = start,
                               .cancel = cancel,
                               .free = free_handler };
    lebb_handler *handler;
    int function;
    ebb_err err;

    config.name = lebb_check_text(L, 1, "ebb.task", "name");
    lebb_check_callable(L, 2, config.name, "run");
    config.retry_class =
        lua_isnil(L, 3) ? "none" : lebb_check_text(L, 3, config.name, "class");
    config.help =
        lua_isnil(L, 4) ? "" : lebb_check_text(L, 4, config.name, "help");
    if (!lua_isnil(L, 5))
        config.fields = *lebb_value_check(L, 5, config.name, LEBB_VALUE_EXACT);
    lua_pushvalue(L, 2);
    function = luaL_ref(L, LUA_REGISTRYINDEX);
    handler = ebb_mem_zero(sizeof *handler);
    if (!handler)
        return lebb_raise_code(L, EBB_NO_MEMORY, "ebb.task: no memory");
    *handler = (lebb_handler){ .sched = s, .function = function };
    config.context = handler;
    if (ebb_register(s->rt, &config, &err) < 0) {
        ebb_mem_free(handler);
        luaL_unref(L, LUA_REGISTRYINDEX, function);
        return lebb_raise(L, &err);
    }
    handler->next = s->handlers;
    s->handlers = handler;
    return 0;
}

void lebb_add_handler(lua_State *L)
{
    static const luaL_Reg functions[] = { { "register", l_handler_register },
                                          { NULL, NULL } };

    luaL_setfuncs(L, functions, 0);
}
