/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "support/case.h"
#include "support/lua_rows.h"

#define ROUND "local json = require 'ebb'.json return json.encode(json.decode"

static void json_round_trips_exactly(void **state)
{
    static const lua_row rows[] = {
        { ROUND "'9007199254740993')", "\"9007199254740993\"" },
        { ROUND "'9223372036854775807')", "\"9223372036854775807\"" },
        { ROUND "'-9223372036854775808')", "\"-9223372036854775808\"" },
        { ROUND "'1.0')", "\"1.0\"" },
        { ROUND "'-0.0')", "\"-0.0\"" },
        { ROUND "'0.1')", "\"0.1\"" },
        { ROUND "'[[],{}]')", "\"[[],{}]\"" },
        { ROUND "'[null,{\"a\":null}]')", "\"[null,{\\\"a\\\":null}]\"" },
        { ROUND "'{\"b\":1,\"a\":[true,\"\\\\u0000\"]}')",
          "\"{\\\"a\\\":[true,\\\"\\\\u0000\\\"],\\\"b\\\":1}\"" },
        { "return math.type(require 'ebb'.json.decode('1e3'))", "\"float\"" },
        { "return require 'ebb'.json.decode('9007199254740993') == "
          "9007199254740993",
          "true" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void what_is_not_json_is_refused_when_decoded(void **state)
{
    static const char *const texts[] = { "9223372036854775808",
                                         "18446744073709551615",
                                         "nan",
                                         "0x10",
                                         "[1,]",
                                         "{\"a\":1,\"a\":2}",
                                         "\"\xff\"",
                                         "\"\xed\xa0\x80\"",
                                         "" };
    lua_host *host = lua_host_open();

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char script[200];
        snprintf(script, sizeof script, "return require 'ebb'.json.decode '%s'",
                 texts[i]);
        assert_memory_equal(lua_host_run(host, script), "invalid_input: ebb",
                            18);
    }
    lua_host_close(host);
}

#define ENCODE "return require 'ebb'.json.encode"
#define BAD    "invalid_input: ebb.json.encode: "

static void tables_that_are_no_json_are_named_by_path(void **state)
{
    static const lua_row rows[] = {
        { ENCODE "{ a = { b = print } }", BAD "a.b: a function is not JSON" },
        { ENCODE "{ files = { {}, { content = coroutine.create(print) } } }",
          BAD "files[2].content: a thread is not JSON" },
        { ENCODE "{ 1, 2, [4] = 4 }",
          BAD "a list with holes (use ebb.null for an empty item)" },
        { ENCODE "{ l = { 1, x = 2 } }",
          BAD "l: the keys are neither 1..n nor all strings" },
        { ENCODE "{ [0] = 1 }",
          BAD "the keys are neither 1..n nor all strings" },
        { ENCODE "{ [1.5] = 1 }",
          BAD "a key is neither a string nor an integer" },
        { ENCODE "{ [true] = 1 }",
          BAD "a key is neither a string nor an integer" },
        { ENCODE "{ n = 0/0 }", BAD "n: NaN and infinity are not JSON" },
        { ENCODE "{ n = -1/0 }", BAD "n: NaN and infinity are not JSON" },
        { ENCODE "{ s = 'a\\xff\\xe2\\x82' }",
          BAD "s: a string that is not UTF-8 (send base64)" },
        { ENCODE "{ s = '\\xed\\xa0\\x80' }",
          BAD "s: a string that is not UTF-8 (send base64)" },
        { ENCODE "{ ['a\\0b'] = 1 }", BAD "a key holds a NUL byte" },
        { "local t = {} t.t = { t } " ENCODE "(t)",
          BAD "t[1]: the table contains itself" },
        { "local t = {} for _ = 1, 200 do t = { t } end " ENCODE "(t)",
          BAD "[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]"
              "[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]"
              "[1][1][1][1][1][1][1][1][1][1][1][1][1]: nested deeper than "
              "100" },
        { "local ebb = require 'ebb' local t = ebb.array{} t.x = 1 "
          "return ebb.json.encode(t)",
          BAD "the keys are neither 1..n nor all strings" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void a_hundred_levels_pass_and_a_million_do_not_crash(void **state)
{
    static const lua_row rows[] = {
        { "local t = 1 for _ = 1, 99 do t = { t } end "
          "return #require 'ebb'.json.encode(t)",
          "199" },
        { "local t = 1 for _ = 1, 1000000 do t = { t } end "
          "return pcall(require 'ebb'.json.encode, t)",
          "false" },
        { "return pcall(require 'ebb'.json.decode, ('['):rep(1000000))",
          "false" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

/*
 * Finalizers run wherever memory is asked for. This one changes the table `t`,
 * which has keys that are long enough to be collected.
 */
#define FINALIZER(what)                                                        \
    "local json, t, n, long = require 'ebb'.json, {}, 0, ('k'):rep(50) "       \
    "local function fill() for k = 1, 50 do t[long .. k] = k end end fill() "  \
    "local function arm() setmetatable({}, { __gc = function() n = n + "       \
    "1 " what " if n < 1000 then arm() end end }) end arm() "                  \
    "collectgarbage('setpause', 1) collectgarbage('setstepmul', 1000) "        \
    "for i = 1, 200 do fill() json.encode(t) end return n > 20"

static void a_table_that_changes_while_it_is_read_does_no_harm(void **state)
{
    static const lua_row rows[] = {
        { FINALIZER("t[n] = nil t[long .. 'x' .. n] = n"), "true" },
        { FINALIZER("for k in next, t do t[k] = nil end"), "true" },
    };

    (void)state;
    for (int gc = LUA_ROWS_AS_IT_IS; gc <= LUA_ROWS_GENERATIONAL; gc++)
        lua_rows_check(rows, sizeof rows / sizeof *rows, (lua_rows_gc)gc);
}

/* What a host may give a thread: no level may cost a kilobyte. */
#define STACK_BYTES (64u << 10)

static void *run_on_small_stack(void *context)
{
    static const char script[] =
        "local e2b, ebb, cjson = require 'e2b', require 'ebb', require 'cjson' "
        "local text = ('['):rep(98) .. '1' .. (']'):rep(98) "
        "local t = ebb.json.decode(text) "
        "local r = e2b.echo{ value = t }.value "
        "local deep = 1 for _ = 1, 1000000 do deep = { deep } end "
        "local said = {} "
        "for i, f in ipairs{ ebb.json.encode, cjson.encode, ebb.array, "
        "function(x) return e2b.echo{ value = x } end, "
        "function(x) error(x) end } do said[i] = pcall(f, deep) end "
        "return { ebb.json.encode(r) == text, cjson.encode(t) == text, "
        "pcall(ebb.json.decode, ('['):rep(1000000)), "
        "table.unpack(said, 1, 2) }";
    lua_host *host = lua_host_open();

    (void)context;
    assert_string_equal(lua_host_run(host, script),
                        "[true,true,false,false,false]");
    lua_host_close(host);
    return NULL;
}

static void levels_fit_a_small_stack(void **state)
{
    pthread_attr_t attr;
    pthread_t thread;

    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* its frames are several times as large */
#endif
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_on_small_stack, NULL),
                     0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

/* More than the C API's stack takes is an error, wherever it would go. */
static void thousands_of_values_pass_and_a_million_do_not_crash(void **state)
{
    static const lua_row rows[] = {
#define LIST "local l = {} for i = 1, N do l[i] = i end "
#define HEAD "local e2b, ebb = require 'e2b', require 'ebb' "
        { HEAD "local N = 8000 " LIST
               "return select('#', coroutine.wrap(function() e2b.echo{} "
               "return table.unpack(l) end)())",
          "8000" },
        { HEAD "local N = 8000 " LIST
               "return select('#', ebb.timeout(9, function(...) e2b.echo{} "
               "return ... end, table.unpack(l)))",
          "8000" },
        { HEAD "local N = 8000 " LIST
               "return #e2b.echo{ value = { table.unpack(l) } }.value",
          "8000" },
        { HEAD "local N = 900000 " LIST
               "local ok, err = pcall(function() return select('#', "
               "ebb.race{ function() e2b.echo{} return table.unpack(l) end }) "
               "end) return { ok and err == 900000 or not ok }",
          "[true]" },
        { HEAD "local N = 900000 " LIST
               "local co = coroutine.wrap(function(...) while true do "
               "coroutine.yield(...) end end) "
               "local ok, err = pcall(function() "
               "return select('#', co(table.unpack(l))) end) "
               "return { ok and err == 900000 or not ok }",
          "[true]" },
    };

    (void)state;
    lua_rows_check(rows, sizeof rows / sizeof *rows, LUA_ROWS_AS_IT_IS);
}

static void results_come_as_plain_tables(void **state)
{
    static const lua_row rows[] = {
        { "local r = require 'e2b'.echo{ value = "
          "require 'ebb'.json.decode '{\"a\":null,\"l\":[null]}' } "
          "return { r.value.a == nil, r.value.l[1] == require 'ebb'.null, "
          "require 'ebb'.null == require 'cjson'.null }",
          "[true,true,true]" },
        { "return require 'e2b'.echo{ value = require 'ebb'.array{} }",
          "{\"value\":[]}" },
        { "return require 'e2b'.echo{ value = {} }", "{\"value\":{}}" },
        { "local r = require 'e2b'.echo{ value = { 1 } }.value "
          "table.remove(r) return r",
          "[]" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void cjson_is_debians_with_keys_in_order(void **state)
{
    static const lua_row rows[] = {
        { "return require 'cjson'._NAME", "\"cjson\"" },
        { "return require 'cjson'.encode{ c = 1, b = 2, a = { y = 1, x = 2 } "
          "}",
          "\"{\\\"a\\\":{\\\"x\\\":2,\\\"y\\\":1},\\\"b\\\":2,\\\"c\\\":1}\"" },
        { "local c = require 'cjson' return c.encode(c.decode '[1,2.5]')",
          "\"[1,2.5]\"" },
        { "return require 'cjson'.encode{ 1, nil, 3 }", "\"[1,null,3]\"" },
        { "return require 'cjson'.encode{ 1, x = 2 }",
          "\"{\\\"1\\\":1,\\\"x\\\":2}\"" },
        { "return require 'cjson'.encode{ 9007199254740993 }",
          "\"[9007199254740993]\"" },
        { "return require 'cjson'.encode{ [1] = 1, ['1'] = 2, x = 1 }",
          "invalid_input: cjson.encode: 1: the key is there as integer and "
          "as string" },
        { "return select('#', require 'cjson.safe'.encode(print))", "2" },
        { "return require 'cjson'.new().encode{ b = 1, a = 2 }",
          "\"{\\\"a\\\":2,\\\"b\\\":1}\"" },
        { "return require 'e2b'.echo(require 'cjson'.decode "
          "'{\"value\":1,\"ms\":2}')",
          "{\"value\":1.0}" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

static void array_marks_a_table_once(void **state)
{
    static const lua_row rows[] = {
        { "local t = {} return require 'ebb'.array(t) == t", "true" },
        { "return pcall(require 'ebb'.array, setmetatable({}, {}))", "false" },
        { "return pcall(require 'ebb'.array, 1)", "false" },
    };

    (void)state;
    LUA_ROWS_CHECK(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(json_round_trips_exactly, "B01, B02"),
        CASE(what_is_not_json_is_refused_when_decoded, "B01, B04"),
        CASE(tables_that_are_no_json_are_named_by_path, "B04"),
        CASE(a_hundred_levels_pass_and_a_million_do_not_crash, "C12"),
        cmocka_unit_test(a_table_that_changes_while_it_is_read_does_no_harm),
        CASE(levels_fit_a_small_stack, "C12"),
        CASE(thousands_of_values_pass_and_a_million_do_not_crash, "C12"),
        cmocka_unit_test(results_come_as_plain_tables),
        cmocka_unit_test(cjson_is_debians_with_keys_in_order),
        cmocka_unit_test(array_marks_a_table_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
