/* SPDX-License-Identifier: MIT */
/* Functions at once: parallel, map, settle, race, timeout, defer, cancel. */
#include <signal.h>
#include <sys/time.h>

#include "support/lua_rows.h"

#include "lua/lrun.h"

#define HEAD "local e2b, ebb = require 'e2b', require 'ebb' "

static void a_hundred_calls_wait_at_once(void **state)
{
    lua_host *host = lua_host_open();
    double began = ebb_monotonic_ms(host->rt);

    (void)state;
    assert_string_equal(
        lua_host_run(host, HEAD
                     "local t = {} for i = 1, 100 do t[i] = function() "
                     "return e2b.echo{ value = i, ms = 100 }.value end end "
                     "local r, sum = ebb.parallel(t), 0 "
                     "for i = 1, 100 do sum = sum + r[i] end return sum"),
        "5050");
    assert_int_equal(host->running_max, 100);
    assert_true(ebb_monotonic_ms(host->rt) - began < 2000);
    lua_host_close(host);
}

static void results_keep_their_places(void **state)
{
    static const lua_row rows[] = {
        { HEAD "return ebb.parallel{ function() ebb.sleep(0.02) return 'a' "
               "end, function() return 'b' end, function() end }",
          "[\"a\",\"b\"]" },
        { HEAD "return #ebb.parallel{}", "0" },
        { HEAD "return ebb.map({ 3, 1, 2 }, function(x, i) "
               "ebb.sleep(x / 100) return x * 10 + i end)",
          "[31,12,23]" },
        { HEAD "return ebb.map({}, print)", "{}" },
        { HEAD "return ebb.settle{ function() return 1 end, "
               "function() error('no', 0) end, "
               "function() e2b.fail{ code = 'conflict' } end }",
          "[{\"ok\":true,\"value\":1},{\"error\":\"no\",\"ok\":false},"
          "{\"error\":{\"attempts\":1,\"code\":\"conflict\",\"message\":"
          "\"test.fail: as asked\",\"retryable\":false,\"task\":\"e2b.fail\"}"
          ",\"ok\":false}]" },
        { HEAD "return { ebb.race{ function() ebb.sleep(1) end, function() "
               "ebb.sleep(0.01) return 'fast', 2 end } }",
          "[\"fast\",2]" },
        { HEAD "return ebb.race{ function() ebb.sleep(1) end, function() "
               "error('first', 0) end }",
          "script: first" },
        { HEAD "return { ebb.timeout(1, function(a) return a, 'x' end, 5) }",
          "[5,\"x\"]" },
        { HEAD "return ebb.parallel{ function() return ebb.parallel{ "
               "function() return e2b.echo{ value = 1 }.value end } end }",
          "[[1]]" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void map_keeps_its_limit(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    assert_string_equal(
        lua_host_run(host, HEAD "local l = {} for i = 1, 20 do l[i] = i end "
                                "return #ebb.map(l, function(i) return "
                                "e2b.echo{ value = i, ms = 5 }.value end, "
                                "{ limit = 3 })"),
        "20");
    assert_int_equal(host->running_max, 3);
    lua_host_close(host);
}

static void the_first_error_cancels_the_others_and_waits(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    assert_string_equal(
        lua_host_run(
            host,
            HEAD "local log = {} local ok, e = pcall(ebb.parallel, { "
                 "function() local _ <close> = ebb.defer(function() "
                 "e2b.kill{} log[#log + 1] = 'cleaned' end) e2b.hang{} end, "
                 "function() ebb.sleep(0.01) error('second', 0) end, "
                 "function() local _, e = pcall(e2b.hang, {}) "
                 "log[#log + 1] = e.code end }) return { ok, e, log }"),
        "[false,\"second\",[\"cancelled\",\"cleaned\"]]");
    assert_int_equal(host->cancels, 2);
    assert_int_equal(host->kills, 1);
    lua_host_close(host);
}

static void a_timeout_cancels_what_is_in_flight(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    assert_string_equal(
        lua_host_run(host,
                     HEAD "local ok, e = pcall(ebb.timeout, 0.02, function() "
                          "e2b.hang{} end) return { ok, e.code, e.message }"),
        "[false,\"timeout\",\"ebb.timeout: not done within 0.02 s\"]");
    assert_int_equal(host->cancels, 1);
    lua_host_close(host);
}

static void deferred_calls_run_however_the_script_ends(void **state)
{
    static const char *const scripts[] = {
        HEAD "local _ <close> = ebb.defer(e2b.kill, {}) return 1",
        HEAD "local _ <close> = ebb.defer(e2b.kill, {}) error 'plain'",
        HEAD "local _ <close> = ebb.defer(e2b.kill, {}) e2b.fail{}",
        HEAD "local _ <close> = ebb.defer(e2b.kill, {}) os.exit(3)",
        HEAD "ebb.parallel{ function() local _ <close> = "
             "ebb.defer(e2b.kill, {}) os.exit(3) end, e2b.hang }",
        HEAD "pcall(function() local _ <close> = ebb.defer(e2b.kill, {}) "
             "error() end) return 1",
    };
    lua_host *host = lua_host_open();

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        host->kills = 0;
        lua_host_run(host, scripts[i]);
        if (host->kills != 1)
            print_error("%s\n", scripts[i]);
        assert_int_equal(host->kills, 1);
        assert_int_equal(host->running, 0);
    }
    lua_host_close(host);
}

static void a_failing_deferred_call_hides_no_error(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local _ <close> = ebb.defer(e2b.fail, { message = 'kill' }) "
               "return 1",
          "server: kill" },
        { HEAD "local _ <close> = ebb.defer(error, 'kill') "
               "error('first', 0)",
          "script: first" },
    };

    (void)state;
    ebb_log_set(NULL, NULL, EBB_LOG_ERROR);
    LUA_ROWS_CHECK(rows);
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
}

static void misuse_is_named(void **state)
{
    static const lua_row rows[] = {
        { HEAD "e2b.echo(1)", "invalid_input: e2b.echo: expected one table, "
                              "got number (write e2b.echo{…})" },
        { HEAD "e2b.echo({}, {})",
          "invalid_input: e2b.echo: expected one table, got 2 values" },
        { HEAD "return e2b.echo()", "{}" },
        { HEAD "e2b.eko{}", "invalid_input: there is no task e2b.eko (did "
                            "you mean 'echo'?)" },
        { HEAD "ebb.parallel(1)", "invalid_input: ebb.parallel: expected a "
                                  "list of functions, got number" },
        { HEAD "ebb.parallel{ print, 2 }",
          "invalid_input: ebb.parallel: item 2: expected a function, got "
          "number" },
        { HEAD "ebb.race{}",
          "invalid_input: ebb.race: expected at least one function" },
        { HEAD "ebb.map({ 1 }, print, { limit = 0 })",
          "invalid_input: ebb.map: limit: expected an integer from 1, got 0" },
        { HEAD "ebb.map({ 1 }, print, { limt = 1 })",
          "invalid_input: ebb.map: unknown option 'limt' (there is limit)" },
        { HEAD "ebb.sleep 'x'",
          "invalid_input: ebb.sleep: seconds: expected a number, got string" },
        { HEAD "ebb.sleep(-1)",
          "invalid_input: ebb.sleep: seconds: -1 is not from 0 to a "
          "thousand years" },
        { HEAD "ebb.sleep(0/0)",
          "invalid_input: ebb.sleep: seconds: -nan is not from 0 to a "
          "thousand years" },
        { HEAD "ebb.timeout(1)", "invalid_input: ebb.timeout: function: "
                                 "expected a function, got nil" },
        { HEAD "ebb.defer(1)", "invalid_input: ebb.defer: function: "
                               "expected a function, got number" },
        { HEAD "ebb.log('loud', 'x')",
          "invalid_input: ebb.log: level: 'loud' is not debug, info, warn "
          "or error" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void too_many_at_once_is_a_limit(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    assert_string_equal(
        lua_host_run(host, HEAD "local t = {} for i = 1, 10001 do t[i] = "
                                "ebb.sleep end ebb.parallel(t)"),
        "limit_exceeded: more than 10000 functions at once (use ebb.map "
        "with limit)");
    lua_host_close(host);
}

/* Starts the script, lets it run for some ms, cancels it. */
static void start_and_cancel(lua_host *host, const char *script, int ms)
{
    double end;
    ebb_err err;

    assert_int_equal(lua_host_start(host, script), 0);
    end = ebb_monotonic_ms(host->rt) + ms;
    while (ebb_monotonic_ms(host->rt) < end)
        assert_int_equal(ebb_lua_poll(host->lua, 5, &err), 0);
    ebb_lua_cancel(host->lua);
}

static void take_answer(lua_host *host, const char *answer)
{
    ebb_value *out = NULL;
    char *json;

    lua_host_wait_end(host);
    assert_true(ebb_lua_done(host->lua));
    if (ebb_lua_take(host->lua, &out, &host->err) < 0) {
        assert_string_equal(ebb_code_name(host->err.code), answer);
    } else {
        json = ebb_value_write(out, EBB_WRITE_SORTED, NULL);
        assert_string_equal(json, answer);
        ebb_free(json);
    }
    ebb_value_free(out);
    assert_int_equal(host->running, 0);
}

static void a_cancel_raises_at_the_waiting_call_and_cleans_up(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    start_and_cancel(host,
                     HEAD "local _ <close> = ebb.defer(e2b.kill, {}) "
                          "e2b.hang{}",
                     20);
    take_answer(host, "cancelled");
    assert_int_equal(host->kills, 1);
    start_and_cancel(host,
                     HEAD "local _ <close> = ebb.defer(e2b.kill, {}) "
                          "coroutine.wrap(function() local _ <close> = "
                          "ebb.defer(e2b.kill, {}) ebb.parallel{ e2b.hang, "
                          "function() ebb.sleep(100) end } end)()",
                     20);
    take_answer(host, "cancelled");
    assert_int_equal(host->kills, 3);
    start_and_cancel(host,
                     HEAD "local ok, e = pcall(e2b.hang) "
                          "return { e.code, e2b.echo{ value = 1 }.value }",
                     20);
    take_answer(host, "[\"cancelled\",1]");
    lua_host_close(host);
}

static void cleanup_is_not_interrupted_by_a_cancel(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    start_and_cancel(host,
                     HEAD "local said pcall(function() local _ <close> = "
                          "ebb.defer(function() said = e2b.echo{ value = 1, "
                          "ms = 60 }.value end) end) "
                          "local ok, e = pcall(ebb.sleep, 5) "
                          "return { said, ok, e.code }",
                     20);
    take_answer(host, "[1,false,\"cancelled\"]");
    lua_host_close(host);
}

static void a_second_cancel_gives_up(void **state)
{
    lua_host *host = lua_host_open();
    ebb_err err;

    (void)state;
    start_and_cancel(host, HEAD "while true do pcall(e2b.hang) end", 20);
    assert_int_equal(ebb_lua_poll(host->lua, 20, &err), 0);
    ebb_lua_cancel(host->lua);
    take_answer(host, "cancelled");
    /* The next script is not cancelled. */
    assert_string_equal(lua_host_run(host, "return 1"), "1");
    lua_host_close(host);
}

/* Ctrl-C as a program handles it: a signal while Lua computes. */
static ebb_lua *interrupted;
static volatile sig_atomic_t interrupts_left;

static void on_alarm(int signal)
{
    (void)signal;
    if (interrupts_left-- > 0)
        ebb_lua_cancel(interrupted);
}

static void interrupt_every_30_ms(lua_host *host, int times)
{
    static const struct itimerval every = { { 0, 30000 }, { 0, 30000 } };
    static const struct itimerval never;
    struct sigaction action = { .sa_handler = on_alarm };

    interrupted = host->lua;
    interrupts_left = times;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, times > 0 ? &every : &never, NULL);
}

static void a_cancel_stops_a_loop_that_computes(void **state)
{
    static const struct {
        int times;
        const char *script, *answer;
    } rows[] = {
        { 1, "while true do end", "cancelled: cancelled" },
        { 1, "for _ = 1, math.maxinteger do end", "cancelled: cancelled" },
        { 1,
          "local ok, e = pcall(function() while true do end end) "
          "return e.code",
          "\"cancelled\"" },
        { 1, "coroutine.wrap(function() while true do end end)()",
          "cancelled: cancelled" },
        { 1,
          "coroutine.wrap(function() while true do "
          "coroutine.wrap(function() end)() end end)()",
          "cancelled: cancelled" },
        { 2, "while true do pcall(error) end", "cancelled: cancelled" },
        { 2,
          "local t = {} for i = 1, 100 do t[i] = i end "
          "while true do pcall(table.sort, t, function() return true end) "
          "end",
          "cancelled: cancelled" },
        { 1,
          "require 'ebb'.parallel{ function() while true do end end, "
          "function() require 'ebb'.sleep(100) end }",
          "cancelled: cancelled" },
        { 1,
          HEAD "local clock, n = os.clock, 0 pcall(function() "
               "local _ <close> = ebb.defer(function() local till = clock() "
               "+ 0.1 while clock() < till do n = n + 1 end end) end) "
               "return n > 1000 and pcall(ebb.sleep, 1)",
          "false" },
    };
    lua_host *host = lua_host_open();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *answer;
        interrupt_every_30_ms(host, rows[i].times);
        answer = lua_host_run(host, rows[i].script);
        interrupt_every_30_ms(host, 0);
        if (strcmp(answer, rows[i].answer) != 0)
            print_error("%s\n", rows[i].script);
        assert_string_equal(answer, rows[i].answer);
    }
    lua_host_close(host);
}

/* As a function of C that a signal stops. */
static int l_stopped(lua_State *L)
{
    ebb_lua_cancel(interrupted);
    return luaL_error(L, "a signal came");
}

static void a_cancel_keeps_no_cleanup_from_running(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    interrupted = host->lua;
    lua_register(host->lua->L, "stopped", l_stopped);
    lua_host_run(host, HEAD "pcall(function() "
                            "local _ <close> = ebb.defer(e2b.kill, { id = 1 }) "
                            "stopped() end)");
    assert_int_equal(host->kills, 1);
    lua_host_close(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_calls_wait_at_once),
        cmocka_unit_test(results_keep_their_places),
        cmocka_unit_test(map_keeps_its_limit),
        cmocka_unit_test(the_first_error_cancels_the_others_and_waits),
        cmocka_unit_test(a_timeout_cancels_what_is_in_flight),
        cmocka_unit_test(deferred_calls_run_however_the_script_ends),
        cmocka_unit_test(a_failing_deferred_call_hides_no_error),
        cmocka_unit_test(misuse_is_named),
        cmocka_unit_test(too_many_at_once_is_a_limit),
        cmocka_unit_test(a_cancel_raises_at_the_waiting_call_and_cleans_up),
        cmocka_unit_test(cleanup_is_not_interrupted_by_a_cancel),
        cmocka_unit_test(a_second_cancel_gives_up),
        cmocka_unit_test(a_cancel_stops_a_loop_that_computes),
        cmocka_unit_test(a_cancel_keeps_no_cleanup_from_running),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
