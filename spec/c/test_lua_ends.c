/* SPDX-License-Identifier: MIT */
/*
 * Functions that ebb calls for a script, and handles, when the coroutine, the
 * caller or the whole state they belong to has ended or is about to.
 */
#include "support/case.h"
#include "support/lua_rows.h"

#define HEAD "local e2b, ebb = require 'e2b', require 'ebb' "

/* What ebb.lua has of the C side, which scripts do not. */
#define CORE                                                                   \
    HEAD "local core for i = 1, 20 do local n, v = "                           \
         "debug.getupvalue(ebb.parallel, i) "                                  \
         "if n == 'core' then core = v end end "

/* ---- functions that ebb calls (C09) ---- */

static void functions_end_with_who_asked_for_them(void **state)
{
    static const lua_row rows[] = {
        /* Its coroutine was dropped, its answer still comes. */
        { HEAD "local got = ebb.race{ function() return e2b.echo{ value = 1, "
               "ms = 30 } end, function() collectgarbage() return 2 end } "
               "collectgarbage() ebb.sleep(0.04) return got",
          "2" },
        { HEAD "local f = coroutine.wrap(function() coroutine.yield(1) "
               "return e2b.echo{ value = 2, ms = 5 } end) local one = f() "
               "f = nil collectgarbage() ebb.sleep(0.01) return one",
          "1" },
        { HEAD "local co = coroutine.create(function() "
               "local _ <close> = ebb.defer(e2b.kill, {}) "
               "coroutine.yield(1) e2b.hang{} end) coroutine.resume(co) "
               "local ok = coroutine.close(co) collectgarbage() "
               "return { ok, coroutine.status(co) }",
          "[true,\"dead\"]" },
        /* Its caller gave up while it waited: it ends, cleanup included. */
        { HEAD "local ends = 0 local slow = ebb.task{ name = 'my.slow', "
               "class = 'none', run = function() "
               "local _ <close> = ebb.defer(function() ends = ends + 1 end) "
               "e2b.hang{} end } "
               "local ok, err = pcall(ebb.timeout, 0.01, slow, {}) "
               "collectgarbage() return { ok, err.code, ends }",
          "[false,\"timeout\",1]" },
        /* Its error reaches the caller, once. */
        { HEAD "local calls = 0 local bad = ebb.task{ name = 'my.bad', "
               "class = 'none', run = function() calls = calls + 1 "
               "error({ code = 'conflict', message = 'no' }) end } "
               "local ok, err = pcall(bad, {}) "
               "return { ok, err.code, err.task, calls }",
          "[false,\"conflict\",\"my.bad\",1]" },
        { HEAD "local odd = ebb.task{ name = 'my.odd', class = 'none', "
               "run = function() return print end } "
               "local ok, err = pcall(odd, {}) return { ok, type(err) }",
          "[false,\"table\"]" },
        { HEAD "local calls = 0 local ok, err = pcall(ebb.map, { 1, 2, 3 }, "
               "function(x) calls = calls + 1 e2b.echo{ ms = x } "
               "error('at ' .. x, 0) end, { limit = 1 }) "
               "return { ok, err, calls }",
          "[false,\"at 1\",1]" },
        /* It starts others, at once, which start others. */
        { HEAD "local inner = ebb.task{ name = 'my.inner', class = 'none', "
               "run = function(i) return e2b.echo{ value = i.n, ms = 2 } end, "
               "fields = { { name = 'n', type = 'int' } } } "
               "local outer = ebb.task{ name = 'my.outer', class = 'none', "
               "run = function() local sum = 0 "
               "for _, r in ipairs(ebb.map({ 1, 2, 3 }, function(n) "
               "collectgarbage() return inner{ n = n } end)) do "
               "sum = sum + r.value end return { sum = sum } end } "
               "return ebb.map({ 1, 2 }, function() return outer{}.sum end)",
          "[6,6]" },
        /* It ends the group that it is part of. */
        { HEAD "local ok, err = pcall(ebb.parallel, { e2b.hang, function() "
               "ebb.sleep(0.005) error{ code = 'conflict' } end, e2b.hang }) "
               "collectgarbage() return { ok, err.code }",
          "[false,\"conflict\"]" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

/* ---- handles (C10) ---- */

static void a_closed_handle_says_so(void **state)
{
    static const lua_row rows[] = {
        { CORE "local g = core.group('mine', {}) g:start(print) "
               "local mt = debug.getmetatable(g) "
               "mt.__close(g) mt.__close(g) mt.__gc(g) mt.__gc(g) "
               "local said = {} "
               "for i, call in ipairs{ g.start, g.next, g.decide } do "
               "local ok, err = pcall(call, g, i == 3 and 1 or print, 'x') "
               "said[i] = err.message end return said",
          "[\"the group is closed\",\"the group is closed\","
          "\"the group is closed\"]" },
        /* Somebody waits for it when its finalizer is called by hand. */
        { CORE "local g local ok, err = pcall(ebb.parallel, { function() "
               "g = core.group('mine', {}) g:start(ebb.sleep, 9) "
               "return g:next() end, function() ebb.sleep(0.01) "
               "local mt = debug.getmetatable(g) mt.__gc(g) mt.__gc(g) end }) "
               "return { ok, err.message }",
          "[false,\"the group is closed\"]" },
        { CORE "local g = core.group('mine', {}) g:start(ebb.sleep, 9) "
               "g = nil collectgarbage() collectgarbage() return 'ok'",
          "\"ok\"" },
        { HEAD "setmetatable({}, { __gc = function() error('no') end }) "
               "collectgarbage() collectgarbage() return 1",
          "1" },
        { HEAD "setmetatable({}, { __gc = function() e2b.echo{} end }) "
               "collectgarbage() collectgarbage() return 1",
          "1" },
        { HEAD "local ok, err = pcall(function() local _ <close> = "
               "setmetatable({}, { __close = function() error('no', 0) end }) "
               "return e2b.echo{ ms = 2 } end) return { ok, err }",
          "[false,\"no\"]" },
    };

    (void)state;
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    LUA_ROWS_CHECK(rows);
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
}

/* All there are, each twice, while they are in use. */
static void every_finalizer_called_by_hand_does_no_harm(void **state)
{
    static const char script[] = CORE
        "local group = core.group('mine', {}) "
        "local seen = {} "
        "local function visit(v) local kind = type(v) "
        "if kind ~= 'table' and kind ~= 'userdata' or seen[v] then "
        "return end seen[v] = true "
        "if kind == 'table' then for k, x in next, v do visit(k) "
        "visit(x) end return end "
        "local mt = debug.getmetatable(v) or {} "
        "for i = 1, 2 do visit((debug.getuservalue(v, i))) end "
        "if tostring(rawget(mt, '__name')):find '^ebb' and mt.__gc then "
        "found = (found or 0) + 1 pcall(mt.__gc, v) pcall(mt.__gc, v) end end "
        "return select(2, pcall(ebb.parallel, { e2b.hang, "
        "function() ebb.sleep(9) end, function() ebb.sleep(0.01) "
        "visit(group) visit(debug.getregistry()) collectgarbage() "
        "end }))";
    ebb_err err = { 0 };
    lua_host *host = lua_host_open();

    (void)state;
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    assert_int_equal(lua_host_start(host, script), 0);
    for (int i = 0; i < 10; i++)
        (void)ebb_lua_poll(host->lua, 10, &err);
    lua_getglobal(host->lua->L, "found");
    assert_true(lua_tointeger(host->lua->L, -1) >= 5);
    lua_host_close(host);
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
}

static void os_exit_works_wherever_it_is_called(void **state)
{
    static const char *const scripts[] = {
        HEAD "os.exit(7)",
        HEAD "ebb.parallel{ e2b.hang, function() os.exit(7) end }",
        HEAD "ebb.task{ name = 'my.exit', class = 'none', "
             "run = function() os.exit(7) end }{}",
        HEAD "ebb.task{ name = 'my.late', class = 'none', "
             "run = function() e2b.echo{ ms = 2 } os.exit(7) end }{}",
        HEAD "coroutine.wrap(function() ebb.sleep(0.001) os.exit(7) end)()",
        HEAD "pcall(pcall, function() os.exit(7) end) ebb.sleep(9)",
        HEAD "local _ <close> = setmetatable({}, { __close = function() "
             "os.exit(7) end })",
        HEAD "setmetatable({}, { __gc = function() os.exit(7) end }) "
             "collectgarbage() collectgarbage() ebb.sleep(9)",
        HEAD "table.sort({ 3, 2, 1 }, function() os.exit(7) end)",
        HEAD "ebb.step('exit', function() os.exit(7) end)",
    };

    (void)state;
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        lua_host *host = lua_host_open();
        const char *answer = lua_host_run(host, scripts[i]);

        if (strcmp(answer, "nothing") != 0 ||
            ebb_lua_exit_status(host->lua) != 7)
            fail_msg("%s: %s, %d", scripts[i], answer,
                     ebb_lua_exit_status(host->lua));
        assert_int_equal(host->running, 0);
        lua_host_close(host);
    }
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
}

static void a_state_may_close_in_the_middle_of_everything(void **state)
{
    static const char script[] =
        CORE "handles = {} for i = 1, 100 do "
             "handles[i] = core.group('mine', {}) "
             "setmetatable({}, { __gc = function() error('no') end }) end "
             "local fns = {} for i = 1, 10 do fns[i] = i % 2 == 0 and e2b.hang "
             "or function() local _ <close> = ebb.defer(e2b.kill, {}) "
             "handles[i]:start(e2b.hang, {}) handles[i]:next() end end "
             "ebb.parallel(fns)";

    (void)state;
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    for (int turns = 0; turns < 4; turns++) {
        lua_host *host = lua_host_open();
        ebb_err err = { 0 };

        assert_int_equal(lua_host_start(host, script), 0);
        for (int i = 0; i < turns || (turns == 3 && host->running < 10); i++)
            assert_int_equal(ebb_lua_poll(host->lua, 5, &err), 0);
        ebb_lua_close(host->lua);
        host->lua = NULL;
        assert_int_equal(host->running, 0);
        if (turns == 3) { /* they had begun: what was deferred went out */
            assert_int_equal(host->kills, 5);
            assert_int_equal(host->cancels, 10);
        }
        lua_host_close(host);
    }
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(functions_end_with_who_asked_for_them, "C09"),
        CASE(a_closed_handle_says_so, "C10"),
        CASE(every_finalizer_called_by_hand_does_no_harm, "C10"),
        CASE(os_exit_works_wherever_it_is_called, "C10"),
        CASE(a_state_may_close_in_the_middle_of_everything, "C10"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
