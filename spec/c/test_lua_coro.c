/* SPDX-License-Identifier: MIT */
/* Scripts' own coroutines, with tasks inside. */
#include "support/lua_rows.h"

#define HEAD "local e2b, ebb = require 'e2b', require 'ebb' "

static void generators_may_call_tasks(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local function gen() for i = 1, 3 do "
               "coroutine.yield(e2b.echo{ value = i, ms = 1 }.value) end end "
               "local t = {} for v in coroutine.wrap(gen) do t[#t + 1] = v "
               "end return t",
          "[1,2,3]" },
        { HEAD "local outer = coroutine.wrap(function() "
               "local inner = coroutine.wrap(function() "
               "for i = 1, 2 do coroutine.yield(e2b.echo{ value = i }.value) "
               "ebb.sleep(0.001) end end) "
               "for v in inner do coroutine.yield(v * 10) end "
               "return 'end' end) return { outer(), outer(), outer() }",
          "[10,20,\"end\"]" },
        { HEAD "local co = coroutine.create(function(a, b) "
               "local c = coroutine.yield(a + b) "
               "return e2b.echo{ value = c }.value, nil, 'x' end) "
               "local _, s = coroutine.resume(co, 1, 2) "
               "local r = table.pack(coroutine.resume(co, 7)) "
               "return { s, r.n, r[2], r[4], coroutine.status(co) }",
          "[3,4,7,\"x\",\"dead\"]" },
        { HEAD "local co = coroutine.wrap(function() return pcall(function() "
               "return ebb.parallel{ function() return e2b.echo{ value = 1 }"
               ".value end, function() ebb.sleep(0.002) return 2 end } end) "
               "end) return { co() }",
          "[true,[1,2]]" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void two_branches_interleave_their_generators(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local log = {} local function gen(name) return coroutine.wrap("
               "function() for i = 1, 3 do ebb.sleep(0.01) "
               "log[#log + 1] = name .. i coroutine.yield(i) end end) end "
               "local function use(name) return function() local n = 0 "
               "for v in gen(name) do n = n + v end return n end end "
               "local r = ebb.parallel{ use 'a', use 'b' } "
               "return { r, table.concat(log, ' ') }",
          "[[6,6],\"a1 b1 a2 b2 a3 b3\"]" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void errors_cross_coroutines_as_they_are(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local f = coroutine.wrap(function() e2b.fail{ "
               "code = 'timeout' } end) local ok, e = pcall(f) "
               "return { ok, e.code, e.task }",
          "[false,\"timeout\",\"e2b.fail\"]" },
        { HEAD "local co = coroutine.create(function() e2b.echo{} "
               "error({ my = 1 }) end) local ok, e = coroutine.resume(co) "
               "return { ok, e.my, coroutine.status(co) }",
          "[false,1,\"dead\"]" },
        { "return select(2, pcall(function() "
          "coroutine.wrap(function() error 'x' end)() end))",
          "\"test.lua:1: test.lua:1: x\"" },
        { "local f = coroutine.wrap(function() end) f() "
          "local ok, e = pcall(f) return e",
          "\"cannot resume dead coroutine\"" },
        { "local co co = coroutine.create(function() "
          "return coroutine.resume(co) end) "
          "return select(3, coroutine.resume(co))",
          "\"cannot resume non-suspended coroutine\"" },
        { "return pcall(coroutine.yield)", "false" },
        { "return select(2, pcall(coroutine.yield))",
          "\"attempt to yield from outside a coroutine\"" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void one_that_waits_cannot_be_resumed_by_another(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local co = coroutine.create(function() ebb.sleep(0.02) "
               "return 'slept' end) "
               "return ebb.parallel{ function() "
               "return { coroutine.resume(co) } end, function() "
               "ebb.sleep(0.005) local s = coroutine.status(co) "
               "local ok, e = coroutine.resume(co) "
               "local closed, ce = pcall(coroutine.close, co) "
               "return { s, ok, e, closed, ce } end }",
          "[[true,\"slept\"],[\"normal\",false,\"cannot resume "
          "non-suspended coroutine\",false,\"cannot close a normal "
          "coroutine\"]]" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void the_library_reports_as_lua_does(void **state)
{
    static const lua_row rows[] = {
        { "local co, main = coroutine.running() "
          "return { type(co), main, coroutine.isyieldable() }",
          "[\"thread\",true,false]" },
        { "return coroutine.wrap(function() local co, main = "
          "coroutine.running() return { main, coroutine.isyieldable(), "
          "coroutine.status(co) } end)()",
          "[false,true,\"running\"]" },
        { "return coroutine.status(coroutine.create(print))", "\"suspended\"" },
        { "return { coroutine.close(coroutine.create(print)) }", "[true]" },
        { "local co = coroutine.create(print) coroutine.close(co) "
          "return coroutine.status(co)",
          "\"dead\"" },
        { "return pcall(coroutine.create, 1)", "false" },
        { "return pcall(coroutine.resume, 1)", "false" },
        { "local n = 0 for i in coroutine.wrap(function() for i = 1, 1e5 do "
          "coroutine.yield(i) end end) do n = n + i end return n",
          "5000050000" },
        { "local function deep(n) if n == 0 then return 'bottom' end "
          "return coroutine.wrap(deep)(n - 1) end return deep(80)",
          "\"bottom\"" },
        { "local function deep(n) return coroutine.wrap(deep)(n + 1) end "
          "local ok, e = pcall(deep, 1) return e:find('C stack overflow') "
          "~= nil",
          "true" },
        { "local co = coroutine.wrap(function(...) "
          "return select('#', ...) end) "
          "return co(table.unpack({}, 1, 8000))",
          "8000" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void close_runs_what_was_deferred_even_if_it_waits(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local log = {} local co = coroutine.create(function() "
               "local _ <close> = ebb.defer(function() "
               "e2b.kill{ id = 1 } log[#log + 1] = 'killed' end) "
               "coroutine.yield() end) coroutine.resume(co) "
               "local ok = coroutine.close(co) "
               "return { ok, log, coroutine.status(co) }",
          "[true,[\"killed\"],\"dead\"]" },
        { HEAD "local log = {} local co = coroutine.create(function() "
               "local _ <close> = ebb.defer(function() "
               "e2b.kill{ id = 1 } log[#log + 1] = 'killed' end) "
               "error 'plain' end) local _, e = coroutine.resume(co) "
               "return { e, log }",
          "[\"test.lua:1: plain\",[\"killed\"]]" },
        { HEAD "local log = {} local co = coroutine.create(function() "
               "local _ <close> = setmetatable({}, { __close = function() "
               "e2b.kill{} log[#log + 1] = 'outer' end }) "
               "local _ <close> = setmetatable({}, { __close = function() "
               "e2b.kill{} log[#log + 1] = 'inner' error('in close', 0) end }"
               ") coroutine.yield() end) coroutine.resume(co) "
               "local ok, e = coroutine.close(co) return { ok, e, log }",
          "[false,\"in close\",[\"inner\",\"outer\"]]" },
        { "local co = coroutine.create(function() while true do "
          "pcall(coroutine.yield) end end) coroutine.resume(co) "
          "return { coroutine.close(co), coroutine.status(co) }",
          "[true,\"dead\"]" },
        { HEAD "local co = coroutine.create(function() "
               "local _ <close> = ebb.defer(e2b.kill, {}) "
               "return pcall(coroutine.yield) end) coroutine.resume(co) "
               "return { coroutine.close(co) }",
          "[true]" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

#define SORT                                                                   \
    HEAD "local t = { 1, 2, 3 } return table.sort(t, function(a, b) "          \
         "e2b.echo{} return a < b end)"
#define CANNOT "unsupported: e2b.echo: cannot wait inside "
#define WAY                                                                    \
    ", which runs its functions to their end; call the task before and "       \
    "use its result"

static void a_wait_where_lua_cannot_yield_names_the_place(void **state)
{
    static const lua_row rows[] = {
        { SORT, CANNOT "table.sort" WAY },
        { HEAD "return (('x'):gsub('x', function() "
               "return e2b.echo{ value = 'y' }.value end))",
          CANNOT "string.gsub" WAY },
        { HEAD "return tostring(setmetatable({}, { __tostring = function() "
               "return e2b.echo{ value = 'y' }.value end }))",
          CANNOT "tostring" WAY },
        { HEAD "local co = coroutine.wrap(function() "
               "pcall(error) return e2b.echo{} end) "
               "return (('x'):gsub('x', function() return co() end))",
          CANNOT "string.gsub" WAY },
        { HEAD "package.preload.mine = function() e2b.echo{} end "
               "require 'mine'",
          CANNOT "require" WAY },
        { HEAD "local said setmetatable({}, { __gc = function() "
               "local _, e = pcall(e2b.echo, {}) said = e.message end }) "
               "collectgarbage() return said",
          "\"e2b.echo: cannot wait inside a finalizer" WAY "\"" },
        /* Through these a wait passes. */
        { HEAD "return setmetatable({}, { __index = function(_, k) "
               "return e2b.echo{ value = k }.value end }).key",
          "\"key\"" },
        { HEAD "return select(2, xpcall(pcall, print, e2b.echo, { value = 1 "
               "})) == true",
          "true" },
        { HEAD "local mt = { __add = function(a, b) return e2b.echo{ value = "
               "5 }.value end } return setmetatable({}, mt) + 1",
          "5" },
        { HEAD "local function it() local r = e2b.echo{ value = 1 } "
               "return nil end for _ in it do end return 'ok'",
          "\"ok\"" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generators_may_call_tasks),
        cmocka_unit_test(two_branches_interleave_their_generators),
        cmocka_unit_test(errors_cross_coroutines_as_they_are),
        cmocka_unit_test(one_that_waits_cannot_be_resumed_by_another),
        cmocka_unit_test(the_library_reports_as_lua_does),
        cmocka_unit_test(close_runs_what_was_deferred_even_if_it_waits),
        cmocka_unit_test(a_wait_where_lua_cannot_yield_names_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
