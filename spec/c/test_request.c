/* SPDX-License-Identifier: MIT */

/* Reading what a request brings: its body's members and its escapes. */

#include "base/value.h"
#include "sandbox/service/control/body.h"
#include "sandbox/service/options.h"
#include "sandbox/service/unescape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static ebb_err err;
static int64_t number;
static bool truth;
static const ebb_value *strings;

static ebb_value *parse(const char *text)
{
    ebb_value *value = ebb_value_parse(text, strlen(text), 0, &err);

    assert_non_null(value);
    return value;
}

static void an_absent_or_null_member_has_its_default(void **state)
{
    ebb_value *body = parse("{\"n\":null,\"b\":null,\"o\":null}");

    (void)state;
    assert_int_equal(ebb_body_get_int(body, "n", 5, &number, &err), 0);
    assert_int_equal(number, 5);
    assert_int_equal(ebb_body_get_int(NULL, "n", 6, &number, &err), 0);
    assert_int_equal(number, 6);
    assert_int_equal(ebb_body_get_bool(body, "b", true, &truth, &err), 0);
    assert_true(truth);
    assert_int_equal(ebb_body_get_bool(body, "x", false, &truth, &err), 0);
    assert_false(truth);
    assert_int_equal(ebb_body_get_strings(body, "o", NULL, &strings, &err), 0);
    assert_null(strings);
    ebb_value_free(body);
}

static void an_integer_is_exact_or_an_error(void **state)
{
    ebb_value *body = parse("{\"i\":9223372036854775807,\"f\":2.0,"
                            "\"h\":0.5,\"big\":1e300,\"s\":\"1\"}");

    (void)state;
    assert_int_equal(ebb_body_get_int(body, "i", 0, &number, &err), 0);
    assert_true(number == INT64_MAX);
    assert_int_equal(ebb_body_get_int(body, "f", 0, &number, &err), 0);
    assert_int_equal(number, 2);
    assert_int_equal(ebb_body_get_int(body, "h", 0, &number, &err), -1);
    assert_int_equal(ebb_body_get_int(body, "big", 0, &number, &err), -1);
    assert_int_equal(ebb_body_get_int(body, "s", 0, &number, &err), -1);
    assert_string_equal(err.msg, "s: expected an integer, got string");
    ebb_value_free(body);
}

static void strings_are_counted_and_checked(void **state)
{
    const ebb_body_bounds bounds = { .count_max = 2, .bytes_max = 6 };
    ebb_value *body = parse("{\"fits\":{\"a\":\"bb\",\"c\":\"dd\"},"
                            "\"long\":{\"a\":\"bb\",\"c\":\"ddd\"},"
                            "\"many\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"},"
                            "\"int\":{\"a\":1},\"nul\":{\"a\":\"\\u0000\"},"
                            "\"array\":[]}");

    (void)state;
    assert_int_equal(
        ebb_body_get_strings(body, "fits", &bounds, &strings, &err), 0);
    assert_int_equal(ebb_value_size(strings), 2);
    assert_int_equal(
        ebb_body_get_strings(body, "long", &bounds, &strings, &err), -1);
    assert_string_equal(err.msg, "long: more than 6 bytes together");
    assert_int_equal(
        ebb_body_get_strings(body, "many", &bounds, &strings, &err), -1);
    assert_int_equal(ebb_body_get_strings(body, "int", &bounds, &strings, &err),
                     -1);
    assert_int_equal(ebb_body_get_strings(body, "nul", &bounds, &strings, &err),
                     -1);
    assert_int_equal(
        ebb_body_get_strings(body, "array", &bounds, &strings, &err), -1);
    assert_null(strings);
    ebb_value_free(body);
}

static void a_number_of_the_query_is_decimal_and_whole(void **state)
{
    static const char *const bad[] = {
        "", "x", "1x", " 1", "+1", "--1", "1.5", "9223372036854775808"
    };
    size_t i;

    (void)state;
    assert_int_equal(ebb_body_parse_int("-12", "n", &number, &err), 0);
    assert_int_equal(number, -12);
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(ebb_body_parse_int(bad[i], "n", &number, &err), -1);
}

static void one_layer_of_escapes_is_taken_off(void **state)
{
    char text[] = "a%20b+c%2525%c3%A9";
    char plain[] = "abc";

    (void)state;
    assert_true(ebb_unescape(text));
    assert_string_equal(text, "a b c%25\xC3\xA9");
    assert_true(ebb_unescape(plain));
    assert_string_equal(plain, "abc");
}

static void a_broken_escape_is_refused(void **state)
{
    static const char *const bad[] = { "%", "%1", "a%", "%zz", "%1g", "%00" };
    char text[8];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "%s", bad[i]);
        assert_false(ebb_unescape(text));
    }
}

static void a_size_has_a_unit_of_1024(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = { { "1", 1 },
                 { "64k", 64 << 10 },
                 { "64K", 64 << 10 },
                 { "512M", 512 << 20 },
                 { "2G", (uint64_t)2 << 30 },
                 { "2GiB", (uint64_t)2 << 30 },
                 { "2GB", (uint64_t)2 << 30 },
                 { "7B", 7 },
                 { "8388607T", (uint64_t)8388607 << 40 } };
    static const char *const bad[] = { "",
                                       "0",
                                       "-1",
                                       "+1",
                                       "1e9",
                                       "0x10",
                                       "1.5",
                                       "K",
                                       "1KK",
                                       "1iB",
                                       "1 G",
                                       "8388608T",
                                       "9223372036854775808",
                                       "18446744073709551616" };
    uint64_t bytes;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(ebb_options_parse_size(good[i].text, &bytes, &err), 0);
        assert_true(bytes == good[i].bytes);
    }
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(ebb_options_parse_size(bad[i], &bytes, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_absent_or_null_member_has_its_default),
        cmocka_unit_test(an_integer_is_exact_or_an_error),
        cmocka_unit_test(strings_are_counted_and_checked),
        cmocka_unit_test(a_number_of_the_query_is_decimal_and_whole),
        cmocka_unit_test(one_layer_of_escapes_is_taken_off),
        cmocka_unit_test(a_broken_escape_is_refused),
        cmocka_unit_test(a_size_has_a_unit_of_1024),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
