/* SPDX-License-Identifier: MIT */
/* What a program does with a state: start, take, show, close. */
#include "support/lua_rows.h"

#include <unistd.h>

#define HEAD "local e2b, ebb = require 'e2b', require 'ebb' "

static void a_script_gets_its_arguments(void **state)
{
    static const char *const args[] = { "one", "two words" };
    static const char text[] =
        "#!/usr/bin/env ebb\n"
        "return { arg[0], arg[1], arg[2], #arg, select('#', ...), (...) }";
    ebb_lua_script script = { .path = "x/y.lua",
                              .text = text,
                              .text_n = sizeof text - 1,
                              .args = args,
                              .args_count = 2 };
    lua_host *host = lua_host_open();
    ebb_value *out = NULL;
    char *json;

    (void)state;
    assert_int_equal(ebb_lua_start(host->lua, &script, &host->err), 0);
    lua_host_wait_end(host);
    assert_int_equal(ebb_lua_take(host->lua, &out, &host->err), 0);
    json = ebb_value_write(out, EBB_WRITE_COMPACT, NULL);
    assert_string_equal(json,
                        "[\"x/y.lua\",\"one\",\"two words\",2,2,\"one\"]");
    ebb_free(json);
    ebb_value_free(out);
    lua_host_close(host);
}

static void a_script_is_read_from_its_file(void **state)
{
    char path[] = "/tmp/ebb-test-XXXXXX";
    int fd = mkstemp(path);
    ebb_lua_script script = { .path = path };
    lua_host *host = lua_host_open();
    ebb_value *out = NULL;

    (void)state;
    assert_int_equal(write(fd, "#!x\nreturn 42", 13), 13);
    close(fd);
    assert_int_equal(ebb_lua_start(host->lua, &script, &host->err), 0);
    lua_host_wait_end(host);
    assert_int_equal(ebb_lua_take(host->lua, &out, &host->err), 0);
    assert_int_equal(ebb_value_get_int(out), 42);
    ebb_value_free(out);
    unlink(path);
    assert_int_equal(ebb_lua_start(host->lua, &script, &host->err), -1);
    assert_int_equal(host->err.code, EBB_FILE_NOT_FOUND);
    assert_non_null(strstr(host->err.msg, path));
    lua_host_close(host);
}

static void what_cannot_start_says_why(void **state)
{
    static const char binary[] = "\x1bLua";
    ebb_lua_script script = { .path = "b",
                              .text = binary,
                              .text_n = sizeof binary - 1 };
    lua_host *host = lua_host_open();
    ebb_value *out;

    (void)state;
    assert_string_equal(lua_host_run(host, "return return"),
                        "script: test.lua:1: unexpected symbol near "
                        "'return'");
    assert_int_equal(ebb_lua_start(host->lua, &script, &host->err), -1);
    assert_int_equal(host->err.code, EBB_SCRIPT);
    script = (ebb_lua_script){ 0 };
    assert_int_equal(ebb_lua_start(host->lua, &script, &host->err), -1);
    assert_int_equal(host->err.code, EBB_INVALID_INPUT);
    assert_int_equal(ebb_lua_take(host->lua, &out, &host->err), -1);
    assert_int_equal(host->err.code, EBB_CONFLICT);
    assert_int_equal(lua_host_start(host, "require 'ebb'.sleep(60)"), 0);
    assert_int_equal(lua_host_start(host, "return 1"), -1);
    assert_int_equal(host->err.code, EBB_CONFLICT);
    assert_int_equal(ebb_lua_take(host->lua, &out, &host->err), -1);
    assert_int_equal(host->err.code, EBB_CONFLICT);
    lua_host_close(host);
}

static void an_uncaught_error_is_whole(void **state)
{
    lua_host *host = lua_host_open();
    ebb_value *out;

    (void)state;
    assert_int_equal(
        lua_host_start(host, "local function f() error 'boom' end\nf()"), 0);
    lua_host_wait_end(host);
    assert_int_equal(ebb_lua_take(host->lua, &out, &host->err), -1);
    assert_int_equal(host->err.code, EBB_SCRIPT);
    assert_string_equal(ebb_value_find_string(out, "code"), "script");
    assert_string_equal(ebb_value_find_string(out, "message"),
                        "test.lua:1: boom");
    assert_non_null(
        strstr(ebb_value_find_string(out, "traceback"), "test.lua:2:"));
    ebb_value_free(out);
    assert_int_equal(lua_host_start(host,
                                    HEAD "\n\ne2b.fail{ code = 'not_found', "
                                         "details = { list = {} } }"),
                     0);
    lua_host_wait_end(host);
    assert_int_equal(ebb_lua_take(host->lua, &out, &host->err), -1);
    assert_int_equal(host->err.code, EBB_NOT_FOUND);
    assert_string_equal(ebb_value_find_string(out, "task"), "e2b.fail");
    assert_non_null(
        strstr(ebb_value_find_string(out, "traceback"), "test.lua:3:"));
    ebb_value_free(out);
    lua_host_close(host);
}

static void odd_errors_and_results_are_still_told(void **state)
{
    static const lua_row rows[] = {
        { "error()", "script: nil" },
        { "error(nil)", "script: nil" },
        { "error({})", "script: table: 0x" },
        { "error(setmetatable({}, { __tostring = function() return 'mine' "
          "end }))",
          "script: mine" },
        { "error(setmetatable({}, { __tostring = function() error 'x' end "
          "}))",
          "script: " },
        { "error({ code = 'mine', message = 'own', f = print })",
          "script: own" },
        { "error({ code = 'timeout', message = 'own' })", "timeout: own" },
        { "return print", "script: the script's result: a function is not "
                          "JSON" },
        { "return { x = '\\xff' }",
          "script: the script's result: x: a string that is not UTF-8 (send "
          "base64)" },
        { "return", "nothing" },
        { "return nil, 2", "nothing" },
        { "return false", "false" },
        { "return ''", "\"\"" },
        { "return {}", "{}" },
        { "return 1, 2", "1" },
        { "local function f() return f() + 1 end f()", "script: " },
        { "return ('x'):rep(1 << 40)", "script: " },
    };
    lua_host *host = lua_host_open();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *answer = lua_host_run(host, rows[i].script);
        if (strncmp(answer, rows[i].answer, strlen(rows[i].answer)) != 0)
            fail_msg("%s gave %s", rows[i].script, answer);
    }
    lua_host_close(host);
}

static void os_exit_ends_the_script_with_its_status(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    assert_string_equal(lua_host_run(host, "os.exit(3)"), "nothing");
    assert_int_equal(ebb_lua_exit_status(host->lua), 3);
    assert_string_equal(lua_host_run(host, "os.exit(false)"), "nothing");
    assert_int_equal(ebb_lua_exit_status(host->lua), 1);
    assert_string_equal(lua_host_run(host, "os.exit(true, true)"), "nothing");
    assert_int_equal(ebb_lua_exit_status(host->lua), 0);
    assert_string_equal(lua_host_run(host, "return 1"), "1");
    assert_int_equal(ebb_lua_exit_status(host->lua), -1);
    lua_host_close(host);
}

static void what_is_in_flight_can_be_shown(void **state)
{
    ebb_lua_activity list[2];
    lua_host *host = lua_host_open();
    ebb_err err;

    (void)state;
    assert_int_equal(lua_host_start(host,
                                    HEAD "ebb.parallel{ e2b.hang, function() "
                                         "ebb.sleep(9) end, e2b.hang }"),
                     0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ebb_lua_poll(host->lua, 5, &err), 0);
    assert_int_equal(ebb_lua_activities(host->lua, list, 2), 3);
    assert_string_equal(list[0].task, "e2b.hang");
    assert_int_equal(list[0].attempt, 1);
    assert_true(list[0].elapsed_ms > 0);
    assert_string_equal(list[1].task, "ebb.sleep");
    assert_true(list[1].wait_ms > 8000);
    ebb_lua_close(host->lua); /* cancels them */
    assert_int_equal(host->cancels, 2);
    host->lua = NULL;
    lua_host_close(host);
}

/* Runs one chunk; its text, or the error's message. Freed by the next. */
static const char *prompt(lua_host *host, const char *text)
{
    static char answer[4096];
    char *shown = NULL;
    ebb_value *error = NULL;
    bool incomplete = false;

    if (ebb_lua_start_chunk(host->lua, text, strlen(text), &incomplete,
                            &host->err) < 0)
        return incomplete ? "incomplete" : host->err.msg;
    lua_host_wait_end(host);
    if (ebb_lua_take_text(host->lua, 0, &shown, &error, &host->err) < 0)
        snprintf(answer, sizeof answer, "%s", host->err.msg);
    else
        snprintf(answer, sizeof answer, "%s", shown);
    ebb_free(shown);
    ebb_value_free(error);
    return answer;
}

static void chunks_share_their_globals_and_are_shown_prettily(void **state)
{
    static const struct {
        const char *chunk, *shown;
    } rows[] = {
        { "1 + 1", "2" },
        { "x = 5", "" },
        { "x, 'a\\n', nil", "5\n\"a\\n\"\nnil" },
        { "2^53, 1e300, 0.1, -0.0, 1/0", "9007199254740992.0\n1e+300\n0.1\n"
                                         "-0.0\ninf" },
        { "{ b = 1, a = { 1, 2 }, ['x y'] = true }",
          "{ a = { 1, 2 }, b = 1, [\"x y\"] = true }" },
        { "{}", "{}" },
        { "{ null = require 'ebb'.null }", "{ null = ebb.null }" },
        { "for i = 1, 2 do", "incomplete" },
        { "'open\nx", "prompt:1: unfinished string near ''open'" },
        { "return return", "prompt:1: unexpected symbol near 'return'" },
        { "error('no', 0)", "no" },
        { "require 'e2b'.echo{ value = 'é\\xff' }",
          "e2b.echo: value: a string that is not UTF-8 (send base64)" },
        { "'é', '\\xff'", "\"é\"\n\"\\xff\"" },
        { "require 'e2b'.echo{ value = { 1 } }", "{ value = { 1 } }" },
        { "setmetatable({}, { __tostring = function() return 'me' end })",
          "me" },
        { "t = {} t.t = t", "" },
        { "t", "{ t = {…itself…} }" },
    };
    lua_host *host = lua_host_open();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *shown = prompt(host, rows[i].chunk);
        assert_string_equal(shown, rows[i].shown);
    }
    lua_host_close(host);
}

static void large_values_are_cut_where_they_are_shown(void **state)
{
    lua_host *host = lua_host_open();

    (void)state;
    assert_non_null(
        strstr(prompt(host, "('é'):rep(5000)"), "\" … 8000 bytes more"));
    assert_non_null(strstr(
        prompt(host, "(function() local t = {} for i = 1, 300 do t[i] = i "
                     "end return t end)()"),
        "… 100 more"));
    assert_non_null(strstr(prompt(host, "{{{{{{{{{1}}}}}}}}}"), "{…}"));
    lua_host_close(host);
}

static void names_are_completed_without_calling_anything(void **state)
{
    static const struct {
        const char *text, *names;
    } rows[] = {
        { "string.le", "[\"string.len\"]" },
        { "print(math.ma", "[\"math.max\",\"math.maxinteger\"]" },
        { "corou", "[\"coroutine\"]" },
        { "own.sub.x", "[\"own.sub.x1\",\"own.sub.x2\"]" },
        { "trap.a", "[]" },
        { "nowhere.a", "[]" },
        { "1 + ", NULL },
    };
    lua_host *host = lua_host_open();

    (void)state;
    prompt(host, "own = { sub = { x2 = 1, x1 = 2, ['x y'] = 3 } } "
                 "trap = setmetatable({}, { __index = error, __pairs = error "
                 "})");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ebb_value *names =
            ebb_lua_complete(host->lua, rows[i].text, &host->err);
        char *json = ebb_value_write(names, EBB_WRITE_COMPACT, NULL);
        assert_non_null(names);
        if (rows[i].names)
            assert_string_equal(json, rows[i].names);
        else
            assert_true(ebb_value_size(names) > 20);
        ebb_free(json);
        ebb_value_free(names);
    }
    lua_host_close(host);
}

static void closing_lets_cleanup_end(void **state)
{
    lua_host *host = lua_host_open();
    ebb_err err;

    (void)state;
    assert_int_equal(
        lua_host_start(host,
                       HEAD "local _ <close> = ebb.defer(e2b.kill, {}) "
                            "local co = coroutine.wrap(function() e2b.hang{} "
                            "end) co()"),
        0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ebb_lua_poll(host->lua, 5, &err), 0);
    ebb_lua_close(host->lua);
    host->lua = NULL;
    assert_int_equal(host->kills, 1);
    assert_int_equal(host->running, 0);
    lua_host_close(host);
}

static void a_script_ends_with_everything_it_started(void **state)
{
    static const lua_row rows[] = {
        /* A generator that was never finished holds a group open. */
        { HEAD "local co = coroutine.wrap(function() ebb.parallel{ "
               "function() e2b.hang{} end, function() coroutine.yield() end "
               "} end) pcall(co) return 1",
          "1" },
        { HEAD "local co = coroutine.create(function() "
               "local _ <close> = ebb.defer(e2b.kill, {}) coroutine.yield() "
               "end) coroutine.resume(co) co = nil collectgarbage() "
               "return 1",
          "1" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_gets_its_arguments),
        cmocka_unit_test(a_script_is_read_from_its_file),
        cmocka_unit_test(what_cannot_start_says_why),
        cmocka_unit_test(an_uncaught_error_is_whole),
        cmocka_unit_test(odd_errors_and_results_are_still_told),
        cmocka_unit_test(os_exit_ends_the_script_with_its_status),
        cmocka_unit_test(what_is_in_flight_can_be_shown),
        cmocka_unit_test(chunks_share_their_globals_and_are_shown_prettily),
        cmocka_unit_test(large_values_are_cut_where_they_are_shown),
        cmocka_unit_test(names_are_completed_without_calling_anything),
        cmocka_unit_test(closing_lets_cleanup_end),
        cmocka_unit_test(a_script_ends_with_everything_it_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
