/* SPDX-License-Identifier: MIT */
#include "base/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/case.h"
#include "support/value_text.h"

static void nesting_is_bounded_at_a_hundred(void **state)
{
    char text[600];
    ebb_value *outer = ebb_value_array(), *inner;

    (void)state;
    memset(text, '[', 101);
    memset(text + 101, ']', 101);
    text[202] = '\0';
    assert_refused(text, 202, "deeper than 100");
    for (size_t i = 0; i < 101; i++)
        memcpy(text + 5 * i, "{\"a\":", 5);
    assert_refused(text, 505, "deeper than 100");

    memset(text, '[', 101);
    memset(text + 101, ']', 101);
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
        "[1] \"x",
        "[1,\v2]",
        "\f1",
        "{} tru",
        "1 nul",
        "null 1",
        "\"a\"-",
        "\"\\x\"",
        "\"a",
        "nul",
        "[",
        "]",
        "\"\t\"",
        "// c",
        "1 /* c */",
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
    assert_refused("[1,2,oops]", 10, "column 6");
}

static void more_values_than_allowed_are_not_built(void **state)
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
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
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
        CASE(nesting_is_bounded_at_a_hundred, "C12"),
        CASE(what_is_not_strict_json_is_refused, "B01"),
        CASE(bytes_that_are_not_utf8_are_refused, "B04"),
        cmocka_unit_test(the_place_of_an_error_is_named),
        CASE(more_values_than_allowed_are_not_built, "C04"),
        cmocka_unit_test(the_count_is_exact_and_leaves_keys_out),
        CASE(an_empty_array_is_no_empty_object, "B02"),
        cmocka_unit_test(members_move_in_also_on_failure),
        cmocka_unit_test(reading_another_type_gives_its_zero),
        cmocka_unit_test(iterating_follows_insertion),
        cmocka_unit_test(a_copy_is_equal_and_apart),
        cmocka_unit_test(equality_tells_types_apart_and_ignores_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
