/* SPDX-License-Identifier: MIT */
/* A host's own state, closing in every order, and memory that runs out. */
#include <lualib.h>

#include "support/lua_rows.h"

#define HEAD "local e2b, ebb = require 'e2b', require 'ebb' "

static lua_State *open_state(lua_host *host)
{
    lua_State *L = luaL_newstate();

    luaL_openlibs(L);
    assert_int_equal(
        luaL_dostring(L, "original, leave = coroutine.wrap, coroutine.yield"),
        0);
    assert_int_equal(ebb_lua_attach(L, host->rt, &host->err), 0);
    luaL_requiref(L, "ebb", luaopen_ebb, 0);
    luaL_requiref(L, "e2b", luaopen_e2b, 0);
    lua_settop(L, 0);
    return L;
}

/* What the code returns, or its error, as text on the state's stack. */
static const char *evaluate(lua_State *L, const char *code)
{
    lua_settop(L, 0);
    if (luaL_dostring(L, code) == LUA_OK && lua_gettop(L) == 0)
        return "nothing";
    return luaL_tolstring(L, -1, NULL);
}

static void calls_from_a_hosts_state_run_the_loop(void **state)
{
    static const struct {
        const char *code, *answer;
    } rows[] = {
        { HEAD "return e2b.echo{ value = 5, ms = 5 }.value", "5" },
        { HEAD "ebb.sleep(0.001)", "nothing" },
        { HEAD "return ebb.parallel{ function() return e2b.echo{ value = 1, "
               "ms = 20 }.value end, function() return 2 end }[1]",
          "1" },
        { HEAD "return select(2, pcall(e2b.fail, { code = 'conflict' })).code",
          "conflict" },
        { HEAD "return select(2, pcall(ebb.timeout, 0.01, e2b.hang)).code",
          "timeout" },
        { HEAD "return coroutine.wrap(function() coroutine.yield(1) return "
               "e2b.echo{ value = 2 }.value end)()",
          "1" },
        { HEAD "local f = coroutine.wrap(function() coroutine.yield(1) "
               "return e2b.echo{ value = 2 }.value end) f() return f()",
          "2" },
        { HEAD "return original(function() return e2b.echo{ value = 3 }"
               ".value end)()",
          "3" },
        /* Outside the scheduler nothing needs to be yielded. */
        { HEAD "return (('x'):gsub('x', function() return e2b.echo{ value = "
               "'y' }.value end))",
          "y" },
        { HEAD "do local _ <close> = ebb.defer(e2b.kill, {}) end return 'ok'",
          "ok" },
        { "return coroutine.isyieldable()", "false" },
        { "return select(2, coroutine.running())", "true" },
        { "coroutine.yield()", "attempt to yield from outside a coroutine" },
        { HEAD "ebb.parallel{ function() leave() end }",
          "attempt to yield from outside a coroutine" },
    };
    lua_host *host = lua_host_open();
    lua_State *L = open_state(host);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(evaluate(L, rows[i].code), rows[i].answer);
    assert_int_equal(host->kills, 1);
    assert_int_equal(host->running, 0);
    lua_close(L);
    lua_host_close(host);
}

static void a_foreign_coroutine_inside_a_branch_is_told(void **state)
{
    lua_host *host = lua_host_open();
    lua_State *L = open_state(host);

    (void)state;
    assert_string_equal(
        evaluate(L, HEAD "return ebb.parallel{ function() return select(2, "
                         "pcall(original(function() e2b.echo{} end))).message "
                         "end }[1]"),
        "e2b.echo: cannot wait inside a coroutine that ebb did not make");
    lua_close(L);
    lua_host_close(host);
}

static void a_detached_state_says_that_its_runtime_is_closed(void **state)
{
    lua_host *host = lua_host_open();
    lua_State *L = open_state(host);

    (void)state;
    assert_int_equal(ebb_lua_attach(L, host->rt, &host->err), -1);
    assert_int_equal(host->err.code, EBB_CONFLICT);
    ebb_lua_detach(L);
    ebb_lua_detach(L);
    lua_host_close(host);
    assert_string_equal(evaluate(L, HEAD "e2b.echo{}"),
                        "the ebb runtime is closed (conflict)");
    assert_string_equal(evaluate(L, HEAD "ebb.sleep(0)"),
                        "the ebb runtime is closed (conflict)");
    assert_string_equal(evaluate(L, HEAD "return ebb.json.encode{ 1 }"), "[1]");
    lua_close(L);
}

static void an_unattached_state_is_told_what_to_do(void **state)
{
    lua_State *L = luaL_newstate();

    (void)state;
    luaL_openlibs(L);
    lua_pushcfunction(L, luaopen_e2b);
    assert_int_equal(lua_pcall(L, 0, 1, 0), LUA_ERRRUN);
    assert_non_null(strstr(lua_tostring(L, -1), "ebb_lua_attach"));
    ebb_lua_detach(L);
    lua_close(L);
}

static void answers_after_the_state_is_gone_do_no_harm(void **state)
{
    lua_host *host = lua_host_open();
    ebb_err err;

    (void)state;
    assert_int_equal(
        lua_host_start(host,
                       HEAD "local t = {} for i = 1, 10 do t[i] = function() "
                            "e2b.stubborn{ ms = 300 } end end "
                            "ebb.parallel(t)"),
        0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ebb_lua_poll(host->lua, 5, &err), 0);
    assert_int_equal(host->running, 10);
    ebb_lua_cancel(host->lua);
    assert_int_equal(ebb_lua_poll(host->lua, 5, &err), 0);
    assert_false(ebb_lua_done(host->lua)); /* it waits for the answers */
    ebb_lua_cancel(host->lua);
    lua_host_wait_end(host);
    assert_int_equal(host->running, 10);
    ebb_lua_close(host->lua);
    host->lua = NULL;
    lua_host_close(host);
}

static void closing_waits_for_what_cannot_be_cancelled(void **state)
{
    lua_host *host = lua_host_open();
    ebb_err err;

    (void)state;
    assert_int_equal(lua_host_start(host, HEAD "e2b.stubborn{ ms = 100 }"), 0);
    assert_int_equal(ebb_lua_poll(host->lua, 5, &err), 0);
    assert_int_equal(ebb_lua_poll(host->lua, 5, &err), 0);
    ebb_lua_close(host->lua);
    host->lua = NULL;
    assert_int_equal(host->running, 0);
    lua_host_close(host);
}

static void finalizers_called_by_hand_are_harmless(void **state)
{
    static const lua_row rows[] = {
        { "local found = 0 for _, v in pairs(debug.getregistry()) do "
          "if type(v) == 'table' and rawget(v, '__gc') and "
          "tostring(rawget(v, '__name')):find '^ebb' then found = found + 1 "
          "pcall(v.__gc) pcall(v.__gc, 1) pcall(v.__gc, io.stdout) end end "
          "return found > 3",
          "true" },
        { HEAD "local t = setmetatable({}, { __gc = function() os.exit(1) "
               "end }) t = nil collectgarbage() return 1",
          "nothing" },
    };

    (void)state;
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    LUA_ROWS_CHECK(rows);
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
}

/* ---- failing allocations ---- */

static long allocations_left;

static void *failing_resize(void *context, void *block, size_t size)
{
    (void)context;
    if (size == 0) {
        free(block);
        return NULL;
    }
    if (allocations_left > 0 && --allocations_left == 0) {
        allocations_left = 1; /* and every one after it */
        return NULL;
    }
    return realloc(block, size);
}

static void every_failing_allocation_is_an_error_and_no_leak(void **state)
{
    static const ebb_allocator allocator = { failing_resize, NULL };
    static const char script[] =
        HEAD "local _ <close> = ebb.defer(e2b.kill, {}) "
             "local r = ebb.parallel{ function() return e2b.echo{ value = { "
             "1, { x = 'y' } } } end, coroutine.wrap(function() "
             "return ebb.json.decode(ebb.json.encode{ 1, 2 }) end) } "
             "pcall(e2b.fail, { details = { a = { 1 } } }) return r";
    long tried = 0, failed = 0;

    (void)state;
    ebb_mem_set(&allocator);
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    for (long n = 1; n < 4000; n += n < 400 ? 1 : 7) {
        lua_host *host = lua_host_open();
        allocations_left = n;
        lua_host_run(host, script);
        tried++;
        if (allocations_left == 1)
            failed++;
        allocations_left = 0;
        lua_host_close(host);
        if (failed < tried)
            break; /* the script needs fewer */
    }
    ebb_mem_set(NULL);
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
    assert_true(failed > 100);
    assert_true(tried > failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_from_a_hosts_state_run_the_loop),
        cmocka_unit_test(a_foreign_coroutine_inside_a_branch_is_told),
        cmocka_unit_test(a_detached_state_says_that_its_runtime_is_closed),
        cmocka_unit_test(an_unattached_state_is_told_what_to_do),
        cmocka_unit_test(answers_after_the_state_is_gone_do_no_harm),
        cmocka_unit_test(closing_waits_for_what_cannot_be_cancelled),
        cmocka_unit_test(finalizers_called_by_hand_are_harmless),
        cmocka_unit_test(every_failing_allocation_is_an_error_and_no_leak),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
