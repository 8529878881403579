/* SPDX-License-Identifier: MIT */
/* Tasks of the script's own, steps, and what a script asks of the machine. */
#include "support/lua_rows.h"

#define HEAD "local e2b, ebb = require 'e2b', require 'ebb' "

/* Each name once: a task stays registered as long as the runtime lives. */
static void a_task_of_the_script_is_checked_retried_and_run(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local double = ebb.task{ name = 'my.double', fields = { { "
               "name = 'n', type = 'int', required = true } }, "
               "run = function(input) ebb.sleep(0.001) "
               "return { n = input.n * 2 } end } "
               "local ok, e = pcall(double, { m = 1 }) "
               "return { double{ n = 21 }.n, e.code, e.message }",
          "[42,\"invalid_input\",\"my.double: unknown field 'm' (did you "
          "mean 'n'?)\"]" },
        { HEAD "local fail = ebb.task{ name = 'my.fail', run = function() "
               "error('no luck', 0) end } local ok, e = pcall(fail, {}) "
               "return { e.code, e.message, e.task, e.attempts }",
          "[\"script\",\"no luck\",\"my.fail\",1]" },
        { HEAD "local odd = ebb.task{ name = 'my.odd', run = function() "
               "return { f = print } end } local ok, e = pcall(odd) "
               "return { e.code, e.message }",
          "[\"invalid_input\",\"result: f: a function is not JSON\"]" },
        { HEAD "local inner = ebb.task{ name = 'my.inner', "
               "run = function(i, n) return { n, e2b.echo{ value = i.v } } "
               "end } local outer = ebb.task{ name = 'my.outer', "
               "run = function(i) return inner{ v = i.v } end } "
               "return outer{ v = 'x' }",
          "[1,{\"value\":\"x\"}]" },
        { HEAD "local nothing = ebb.task{ name = 'my.nothing', "
               "run = function() end } return nothing() == ebb.null",
          "true" },
        { HEAD "local code = ebb.task{ name = 'my.code', run = function() "
               "e2b.fail{ code = 'conflict', details = { d = 1 } } end } "
               "local ok, e = pcall(code) return { e.code, e.details.d }",
          "[\"conflict\",1]" },
        { HEAD "local slow = ebb.task{ name = 'my.slow', run = function() "
               "local _ <close> = ebb.defer(e2b.kill, {}) ebb.sleep(50) end "
               "} local ok, e = pcall(ebb.timeout, 0.02, slow) "
               "return e.code",
          "\"timeout\"" },
    };
    lua_host *host;

    (void)state;
    LUA_ROWS_CHECK(rows);
    host = lua_host_open();
    assert_string_equal(lua_host_run(host, rows[6].script), "\"timeout\"");
    assert_int_equal(host->kills, 1);
    lua_host_close(host);
}

static void a_bad_task_is_refused(void **state)
{
    static const lua_row rows[] = {
        { HEAD "ebb.task(1)",
          "invalid_input: ebb.task: expected one table, got number" },
        { HEAD "ebb.task{ run = print }",
          "invalid_input: ebb.task: name: expected a string, got nil" },
        { HEAD "ebb.task{ name = 'x.y' }",
          "invalid_input: x.y: run: expected a function, got nil" },
        { HEAD "ebb.task{ name = 'x.y', runs = print }",
          "invalid_input: ebb.task: unknown field 'runs'" },
        { HEAD "ebb.task{ name = 'x.y', run = print, class = 'often' }",
          "invalid_input: x.y: unknown class 'often' (lifecycle, read or "
          "none)" },
        { HEAD "ebb.task{ name = 'e2b.echo', run = print }",
          "conflict: a task named e2b.echo is already registered" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void a_step_gives_the_json_form_and_may_not_wait(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local n = 0 local r = ebb.step('s', function() n = n + 1 "
               "return { 1.0, a = nil } end) return { n, math.type(r[1]) }",
          "[1,\"float\"]" },
        { HEAD "return ebb.step('s', function() end) == nil", "true" },
        { HEAD "ebb.step('s', function() return { f = print } end)",
          "invalid_input: ebb.step 's': f: a function is not JSON" },
        { HEAD "ebb.step('s', function() e2b.echo{} end)",
          "unsupported: e2b.echo: not inside ebb.step, whose function runs "
          "to its end at once" },
        { HEAD "ebb.step('s', function() ebb.step('t', print) end)",
          "unsupported: ebb.step: not inside another ebb.step" },
        { HEAD "ebb.step('s', function() ebb.parallel{ print } end)",
          "unsupported: ebb.step: its function may not start others" },
        { HEAD "pcall(ebb.step, 's', error) return e2b.echo{ value = 1 }",
          "{\"value\":1}" },
        { HEAD "ebb.step('', print)", "invalid_input: ebb.step: name: "
                                      "expected a string, got an empty one" },
        { HEAD "ebb.step('s')", "invalid_input: ebb.step: function: expected "
                                "a function, got nil" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void the_clock_and_random_bits_are_plausible(void **state)
{
    static const lua_row rows[] = {
        { HEAD "local u, v = ebb.uuid(), ebb.uuid() return u ~= v and "
               "u:match('^%x+-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x+$') == u "
               "and #u",
          "36" },
        { HEAD "return math.abs(ebb.now() - os.time()) < 2", "true" },
        { HEAD "local a = ebb.monotonic() ebb.sleep(0.02) "
               "local d = ebb.monotonic() - a return d >= 0.02 and d < 2",
          "true" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void keep_line(void *context, ebb_log_level level, const char *message)
{
    snprintf(context, 200, "%s %s", ebb_log_level_name(level), message);
}

static void log_lines_reach_the_sink_with_their_fields(void **state)
{
    char line[200] = "";
    lua_host *host = lua_host_open();

    (void)state;
    ebb_log_set(keep_line, line, EBB_LOG_DEBUG);
    assert_string_equal(
        lua_host_run(host, HEAD "ebb.log('warn', 'tide', { m = 6.9 })"),
        "nothing");
    ebb_log_set(NULL, NULL, EBB_LOG_INFO);
    assert_non_null(strstr(line, "warn "));
    assert_non_null(strstr(line, "tide"));
    assert_non_null(strstr(line, "6.9"));
    lua_host_close(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_of_the_script_is_checked_retried_and_run),
        cmocka_unit_test(a_bad_task_is_refused),
        cmocka_unit_test(a_step_gives_the_json_form_and_may_not_wait),
        cmocka_unit_test(the_clock_and_random_bits_are_plausible),
        cmocka_unit_test(log_lines_reach_the_sink_with_their_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
