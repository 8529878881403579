/* SPDX-License-Identifier: MIT */
#include "base/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static ebb_value *parse(const char *text)
{
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse(text, strlen(text), 0, &err);

    if (value == NULL)
        fail_msg("%s: %s", text, err.msg);
    return value;
}

static void assert_refused(const char *text, size_t n, const char *why)
{
    ebb_err err = { 0 };

    if (ebb_value_parse(text, n, 0, &err) != NULL)
        fail_msg("accepted: %s", text);
    assert_int_equal(err.code, EBB_PROTOCOL);
    if (strstr(err.msg, why) == NULL)
        fail_msg("%s: expected \"%s\" in \"%s\"", text, why, err.msg);
}

/* Writes value, checks the text and the announced length, frees both. */
static void assert_written(ebb_value *value, unsigned how, const char *text)
{
    size_t n;
    char *written = ebb_value_write(value, how, &n);

    assert_non_null(written);
    assert_string_equal(written, text);
    assert_int_equal(n, strlen(text));
    if (how == EBB_WRITE_COMPACT)
        assert_int_equal(ebb_value_length(value), n);
    ebb_mem_free(written);
    ebb_value_free(value);
}

static void assert_stays(const char *text)
{
    assert_written(parse(text), EBB_WRITE_COMPACT, text);
}

static void integers_are_exact_over_all_of_int64(void **state)
{
    (void)state;
    assert_stays("9223372036854775807");
    assert_stays("-9223372036854775808");
    assert_stays("9007199254740993");
    for (int bit = 0; bit < 63; bit++) {
        int64_t i = INT64_C(1) << bit;

        for (int64_t d = -1; d <= 1; d++) {
            char text[32];
            ebb_value *value;

            snprintf(text, sizeof text, "%lld", (long long)(-i + d));
            value = parse(text);
            assert_int_equal(ebb_value_type(value), EBB_INT);
            assert_true(ebb_value_get_int(value) == -i + d);
            assert_written(value, EBB_WRITE_COMPACT, text);
        }
    }
    assert_refused("9223372036854775808", 19, "too big");
    assert_refused("-9223372036854775809", 20, "too big");
    assert_refused("[1e999]", 7, "overflow");
}

static void floats_are_written_short_and_stay_floats(void **state)
{
    static const char *const same[] = {
        "0.1",
        "1.0",
        "-0.0",
        "2.5",
        "1e+300",
        "1e-07",
        "123.0",
        "0.3",
        "1e+16",
        "5.0",
        "1.7976931348623157e+308",
        "0.0",
        "1.1",
        "100.0",
        "3.14",
        "2.2250738585072014e-308",
    };

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_stays(same[i]);
    assert_written(parse("1E2"), EBB_WRITE_COMPACT, "100.0");
    assert_written(parse("0.1000000000000000055"), EBB_WRITE_COMPACT, "0.1");
    assert_written(ebb_value_float(1e20), EBB_WRITE_COMPACT, "1e+20");
    assert_null(ebb_value_float(NAN));
    assert_null(ebb_value_float(INFINITY));
}

/* 200,000 bit patterns: each reads back as the same float. */
static void every_float_reads_back_the_same(void **state)
{
    uint64_t bits = 88172645463325252;
    char *text;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        ebb_value *value, *back;
        double d, e;

        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&d, &bits, sizeof d);
        if (isnan(d) || isinf(d))
            continue;
        value = ebb_value_float(d);
        text = ebb_value_write(value, EBB_WRITE_COMPACT, NULL);
        back = parse(text);
        e = ebb_value_get_float(back);
        assert_int_equal(ebb_value_type(back), EBB_FLOAT);
        assert_memory_equal(&d, &e, sizeof d);
        ebb_mem_free(text);
        ebb_value_free(value);
        ebb_value_free(back);
    }
}

static void nesting_is_bounded_at_a_hundred(void **state)
{
    char text[300];
    ebb_value *outer = ebb_value_array(), *inner;

    (void)state;
    memset(text, '[', 101);
    memset(text + 101, ']', 101);
    text[202] = '\0';
    assert_refused(text, 202, "deeper than 100");
    memset(text, '{', 101);
    assert_refused(text, 101, "deeper than 100");

    memset(text, '[', 101);
    inner = ebb_value_parse(text + 1, 200, 0, NULL);
    assert_non_null(inner);
    assert_int_equal(ebb_value_length(inner), 200);
    assert_int_equal(ebb_value_add(outer, inner), 0);
    assert_null(ebb_value_write(outer, EBB_WRITE_COMPACT, NULL));
    assert_null(ebb_value_write(outer, EBB_WRITE_SORTED, NULL));
    assert_null(ebb_value_copy(outer));
    assert_int_equal(ebb_value_length(outer), 0);
    ebb_value_free(outer);
}

static void what_is_not_strict_json_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "[1,]",
        "{\"a\":1,}",
        "[1 2]",
        "01",
        "+1",
        ".5",
        "1.",
        "0x10",
        "NaN",
        "Infinity",
        "'a'",
        "{a:1}",
        "[1]x",
        "\"\\x\"",
        "\"a",
        "nul",
        "[",
        "]",
        "\"\t\"",
        "// c\n1",
        "-",
        "1e",
        "True",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "{\"a\"}",
        "[1:2]",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"a\":{\"b\":1,\"b\":1}}",
        ":",
        ",",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_refused(texts[i], strlen(texts[i]), "line 1, column");
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
    static const char *const bad[] = {
        "\"\xFF\"",     "\"\xC0\x80\"",         "\"\xED\xA0\x80\"",
        "\"\xE2\x82\"", "\"\xF4\x90\x80\x80\"", "{\"\xFF\":1}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(bad[i], strlen(bad[i]), "");
    assert_null(ebb_value_string("\xFF", 1));
    assert_null(ebb_value_text("\xC0\x80"));
}

static void the_place_of_an_error_is_named(void **state)
{
    (void)state;
    assert_refused("{\n \"a\": 1,\n \"a\": 2}", 19, "line 3");
    assert_refused("[1,2,oops]", 10, "column 9");
}

static void values_are_counted_before_anything_is_built(void **state)
{
    const size_t count = 10000000;
    char *text = malloc(5 * count + 2);
    ebb_err err;

    (void)state;
    text[0] = '[';
    for (size_t i = 0; i < count; i++)
        memcpy(text + 1 + 5 * i, "null,", 5);
    text[5 * count] = ']';
    assert_null(ebb_value_parse(text, 5 * count + 1, 0, &err));
    assert_int_equal(err.code, EBB_PROTOCOL);
    assert_non_null(strstr(err.msg, "1000000 values"));
    free(text);
}

static void the_count_is_exact_and_leaves_keys_out(void **state)
{
    static const struct {
        const char *text;
        size_t values;
    } cases[] = {
        { "1", 1 },
        { "[]", 1 },
        { "[1,2,3,{\"a\":4}]", 6 },
        { "{\"a\":\"x,[{\\\"y\",\"b\":[true,null],\"c\":{}}", 6 },
        { " [ 1.5e3 , \"\" , { } ] ", 4 },
        { "{\"a\":{\"b\":{\"c\":[[[]]]}}}", 6 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        ebb_err err;
        ebb_value *v =
            ebb_value_parse(text, strlen(text), cases[i].values, &err);

        assert_non_null(v);
        ebb_value_free(v);
        if (cases[i].values > 1)
            assert_null(
                ebb_value_parse(text, strlen(text), cases[i].values - 1, &err));
    }
}

static void strings_may_hold_nul_and_any_character(void **state)
{
    ebb_value *value = parse("\"a\\u0000b\\ud83d\\ude00\\u007f\"");
    size_t n;
    const char *bytes = ebb_value_get_string(value, &n);

    (void)state;
    assert_int_equal(n, 8);
    assert_memory_equal(bytes, "a\0b\xF0\x9F\x98\x80\x7F", 9);
    assert_written(value, EBB_WRITE_COMPACT,
                   "\"a\\u0000b\xF0\x9F\x98\x80\x7F\"");
    assert_written(ebb_value_string("\0\0", 2), EBB_WRITE_COMPACT,
                   "\"\\u0000\\u0000\"");
    assert_refused("{\"a\\u0000\":1}", 13, "NUL");
    assert_stays("\"\xE2\x80\xA8\xE2\x80\xA9/\"");
    assert_stays("\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\"");
}

static void ascii_mode_escapes_every_other_character(void **state)
{
    (void)state;
    assert_written(parse("\"a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z\""),
                   EBB_WRITE_ASCII, "\"a\\u00e9\\u20ac\\ud83d\\ude00z\"");
    assert_written(parse("{\"\xEF\xBF\xBF\":\"\xF4\x8F\xBF\xBF\"}"),
                   EBB_WRITE_ASCII, "{\"\\uffff\":\"\\udbff\\udfff\"}");
}

static void pretty_and_sorted_do_what_they_say(void **state)
{
    const char *text = "{\"b\":[1,{}],\"\":[],\"a\":{\"z\":1,\"y\":2}}";

    (void)state;
    assert_written(parse(text), EBB_WRITE_SORTED,
                   "{\"\":[],\"a\":{\"y\":2,\"z\":1},\"b\":[1,{}]}");
    assert_written(parse(text), EBB_WRITE_PRETTY | EBB_WRITE_SORTED,
                   "{\n  \"\": [],\n  \"a\": {\n    \"y\": 2,\n    \"z\": 1\n"
                   "  },\n  \"b\": [\n    1,\n    {}\n  ]\n}");
    assert_written(parse("{\"\xC3\xA9\":1,\"z\":2,\"Z\":3}"), EBB_WRITE_SORTED,
                   "{\"Z\":3,\"z\":2,\"\xC3\xA9\":1}");
    assert_stays(text); /* otherwise the order of insertion */
}

static void an_empty_array_is_no_empty_object(void **state)
{
    ebb_value *array = parse("[]"), *object = parse("{}");

    (void)state;
    assert_int_equal(ebb_value_type(array), EBB_ARRAY);
    assert_int_equal(ebb_value_type(object), EBB_OBJECT);
    assert_false(ebb_value_equal(array, object));
    assert_written(array, EBB_WRITE_COMPACT, "[]");
    assert_written(object, EBB_WRITE_PRETTY, "{}");
}

static void members_move_in_also_on_failure(void **state)
{
    ebb_value *object = ebb_value_object(), *array = ebb_value_array();

    (void)state;
    assert_int_equal(ebb_value_set(object, "n", ebb_value_int(1)), 0);
    assert_int_equal(ebb_value_set(object, "n", ebb_value_int(2)), 0);
    assert_int_equal(ebb_value_set(object, "x", NULL), -1);
    assert_int_equal(ebb_value_set(object, "\xFF", ebb_value_int(1)), -1);
    assert_int_equal(ebb_value_set(array, "x", ebb_value_int(1)), -1);
    assert_int_equal(ebb_value_set_n(object, "a\0b", 3, ebb_value_int(1)), -1);
    assert_int_equal(ebb_value_set_n(object, "keyrest", 3, ebb_value_null()),
                     0);
    assert_int_equal(ebb_value_add(array, NULL), -1);
    assert_int_equal(ebb_value_add(object, ebb_value_array()), -1);
    assert_int_equal(ebb_value_add(array, ebb_value_bool(true)), 0);
    assert_int_equal(ebb_value_size(object), 2);
    assert_int_equal(ebb_value_del(object, "n"), 0);
    assert_int_equal(ebb_value_del(object, "n"), -1);
    assert_written(array, EBB_WRITE_COMPACT, "[true]");
    assert_written(object, EBB_WRITE_COMPACT, "{\"key\":null}");
}

static void reading_another_type_gives_its_zero(void **state)
{
    ebb_value *v =
        parse("{\"s\":\"x\",\"i\":3,\"f\":1.5,\"b\":true,\"n\":null}");

    (void)state;
    assert_int_equal(ebb_value_get_int(ebb_value_find(v, "f")), 0);
    assert_true(ebb_value_get_float(ebb_value_find(v, "i")) == 3.0);
    assert_true(ebb_value_get_float(ebb_value_find(v, "s")) == 0.0);
    assert_false(ebb_value_get_bool(ebb_value_find(v, "i")));
    assert_null(ebb_value_get_string(ebb_value_find(v, "i"), NULL));
    assert_null(ebb_value_find(v, "none"));
    assert_null(ebb_value_at(v, 0));
    assert_null(ebb_value_find(ebb_value_find(v, "s"), "x"));
    assert_string_equal(ebb_value_find_string(v, "s"), "x");
    assert_null(ebb_value_find_string(v, "n"));
    assert_int_equal(ebb_value_find_int(v, "n", 7), 7);
    assert_int_equal(ebb_value_find_int(v, "i", 7), 3);
    assert_true(ebb_value_find_bool(v, "none", true));
    assert_true(ebb_value_find_bool(v, "b", false));
    ebb_value_free(v);

    assert_int_equal(ebb_value_type(NULL), EBB_NULL);
    assert_int_equal(ebb_value_size(NULL), 0);
    assert_null(ebb_value_find(NULL, "x"));
    assert_null(ebb_value_at(NULL, 0));
    assert_null(ebb_value_get_string(NULL, NULL));
    assert_written(NULL, EBB_WRITE_COMPACT, "null");
    ebb_value_free(NULL);
}

static void iterating_follows_insertion(void **state)
{
    ebb_value *v = parse("{\"z\":0,\"a\":1,\"m\":2}"), *member;
    void *place = NULL;
    const char *key;
    int64_t i = 0;

    (void)state;
    for (; ebb_value_next(v, &place, &key, &member); i++) {
        assert_int_equal(key[0], "zam"[i]);
        assert_int_equal(ebb_value_get_int(member), i);
    }
    assert_int_equal(i, 3);
    ebb_value_free(v);
    place = NULL;
    assert_false(ebb_value_next(NULL, &place, &key, &member));
}

static void a_copy_is_equal_and_apart(void **state)
{
    ebb_value *v = parse("{\"a\":[1,2.0,\"\\u0000\",null,{\"b\":[]}]}");
    ebb_value *copy = ebb_value_copy(v);

    (void)state;
    assert_true(ebb_value_equal(v, copy));
    ebb_value_add(ebb_value_find(copy, "a"), ebb_value_int(1));
    assert_false(ebb_value_equal(v, copy));
    assert_int_equal(ebb_value_size(ebb_value_find(v, "a")), 5);
    ebb_value_free(copy);
    ebb_value_free(v);
    assert_int_equal(ebb_value_type(ebb_value_copy(NULL)), EBB_NULL);
}

static void equality_tells_types_apart_and_ignores_order(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        { "1", "1", true },
        { "1", "1.0", false },
        { "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true },
        { "[1,2]", "[2,1]", false },
        { "null", "false", false },
        { "\"a\\u0000b\"", "\"a\\u0000c\"", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_value *a = parse(cases[i].a), *b = parse(cases[i].b);

        assert_int_equal(ebb_value_equal(a, b), cases[i].equal);
        ebb_value_free(a);
        ebb_value_free(b);
    }
    assert_true(ebb_value_equal(NULL, ebb_value_null()));
    assert_string_equal(ebb_type_name(EBB_NULL), "null");
    assert_string_equal(ebb_type_name(EBB_OBJECT), "object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact_over_all_of_int64),
        cmocka_unit_test(floats_are_written_short_and_stay_floats),
        cmocka_unit_test(every_float_reads_back_the_same),
        cmocka_unit_test(nesting_is_bounded_at_a_hundred),
        cmocka_unit_test(what_is_not_strict_json_is_refused),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused),
        cmocka_unit_test(the_place_of_an_error_is_named),
        cmocka_unit_test(values_are_counted_before_anything_is_built),
        cmocka_unit_test(the_count_is_exact_and_leaves_keys_out),
        cmocka_unit_test(strings_may_hold_nul_and_any_character),
        cmocka_unit_test(ascii_mode_escapes_every_other_character),
        cmocka_unit_test(pretty_and_sorted_do_what_they_say),
        cmocka_unit_test(an_empty_array_is_no_empty_object),
        cmocka_unit_test(members_move_in_also_on_failure),
        cmocka_unit_test(reading_another_type_gives_its_zero),
        cmocka_unit_test(iterating_follows_insertion),
        cmocka_unit_test(a_copy_is_equal_and_apart),
        cmocka_unit_test(equality_tells_types_apart_and_ignores_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
