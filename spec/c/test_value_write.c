/* SPDX-License-Identifier: MIT */
#include "base/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/case.h"
#include "support/starving.h"
#include "support/value_text.h"

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

static void no_memory_for_the_text_is_null_and_loses_nothing(void **state)
{
    ebb_value *value = parse("{\"b\":{\"z\":1,\"y\":[true,\"text\"]},\"a\":0}");
    char *text = NULL;
    starving s;
    int left = 0;

    (void)state;
    for (; text == NULL && left < 100; left++) {
        starving_start(&s, left);
        text = ebb_value_write(value, EBB_WRITE_SORTED, NULL);
        assert_int_equal(s.blocks, text != NULL);
    }
    assert_in_range(left, 3, 99);
    ebb_mem_free(text);
    starving_stop();
    ebb_value_free(value);
}

static void a_value_fits_where_its_length_is_at_most_the_bound(void **state)
{
    static const char *const texts[] = {
        "null", "true", "\"\"", "\"text\"", "[]", "{}", "[[],{},[[1]]]",
        "-9223372036854775808", "-1.7976931348623157e+308",
        "[-2.2250738585072014e-308,-2.2250738585072014e-308]",
        "\"\\u0000\\u0001\\u0002\\u0003\"", "{\"\\u0001\\u0001\":\"\\u0001\"}",
        "{\"a\":[1,2.5,\"\\n\\\"\"],\"b\":{\"c\":null},\"\xC3\xA9\":false}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ebb_value *value = parse(texts[i]);
        size_t n = ebb_value_length(value);

        for (size_t max = 0; max < 8 * n + 100; max++)
            assert_int_equal(ebb_value_fits(value, max), n <= max);
        ebb_value_free(value);
    }
}

static void what_nests_too_deep_for_a_text_is_not_said_to_be_long(void **state)
{
    ebb_value *deep = ebb_value_array();

    (void)state;
    for (int i = 0; i < EBB_VALUE_DEPTH_MAX; i++) {
        ebb_value *outer = ebb_value_array();

        assert_int_equal(ebb_value_add(outer, deep), 0);
        deep = outer;
    }
    assert_int_equal(ebb_value_length(deep), 0);
    assert_true(ebb_value_fits(deep, 0));
    assert_true(ebb_value_fits(deep, 1000));
    ebb_value_free(deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(integers_are_exact_over_all_of_int64, "B01"),
        CASE(floats_are_written_short_and_stay_floats, "B01"),
        cmocka_unit_test(every_float_reads_back_the_same),
        cmocka_unit_test(strings_may_hold_nul_and_any_character),
        cmocka_unit_test(ascii_mode_escapes_every_other_character),
        cmocka_unit_test(pretty_and_sorted_do_what_they_say),
        cmocka_unit_test(a_value_fits_where_its_length_is_at_most_the_bound),
        cmocka_unit_test(
            what_nests_too_deep_for_a_text_is_not_said_to_be_long),
        cmocka_unit_test(no_memory_for_the_text_is_null_and_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
