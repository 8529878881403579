/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "sandbox/service/interpreter/result.h"

/* Makes a message of text and compares the line it becomes. */
static void check(const char *message, const char *line)
{
    ebb_buf out;
    ebb_err err;
    ebb_value *value = ebb_value_parse(message, strlen(message), 0, &err);
    assert_non_null(value);
    ebb_buf_init(&out, 0);
    assert_int_equal(ebb_result_add_message(&out, value), 0);
    assert_string_equal(out.bytes != NULL ? out.bytes : "", line);
    ebb_buf_clear(&out);
    ebb_value_free(value);
}

static void gives_each_form_its_member(void **state)
{
    (void)state;
    check("{\"type\":\"result\",\"main\":true,\"data\":{\"text/plain\":\"1\","
          "\"image/png\":\"aGk=\",\"application/json\":[1],\"x/y\":{\"z\":1}}}",
          "{\"type\":\"result\",\"text\":\"1\",\"png\":\"aGk=\",\"json\":[1],"
          "\"extra\":{\"x/y\":{\"z\":1}},\"is_main_result\":true}\n");
}

static void takes_one_pair_of_quotes_from_text(void **state)
{
    (void)state;
    check("{\"type\":\"result\",\"data\":{\"text/plain\":\"'it'\"}}",
          "{\"type\":\"result\",\"text\":\"it\",\"extra\":{},"
          "\"is_main_result\":false}\n");
    check("{\"type\":\"result\",\"data\":{\"text/plain\":\"'\"}}",
          "{\"type\":\"result\",\"text\":\"'\",\"extra\":{},"
          "\"is_main_result\":false}\n");
}

static void leaves_out_members_of_a_wrong_type(void **state)
{
    (void)state;
    check("{\"type\":\"result\",\"data\":{\"text/plain\":1,\"image/png\":[]}}",
          "{\"type\":\"result\",\"extra\":{},\"is_main_result\":false}\n");
    check("{\"type\":\"result\",\"data\":7}",
          "{\"type\":\"result\",\"extra\":{},\"is_main_result\":false}\n");
    check("{\"type\":\"error\",\"name\":1,\"value\":\"v\"}",
          "{\"type\":\"error\",\"name\":\"\",\"value\":\"v\","
          "\"traceback\":\"\"}\n");
    check("{\"type\":\"other\"}", "");
    check("{}", "");
}

static void writes_ascii_only(void **state)
{
    (void)state;
    check("{\"type\":\"error\",\"name\":\"E\",\"value\":\"\\u2028\\u0085"
          "\xf0\x9f\x98\x80\",\"traceback\":\"\\n\"}",
          "{\"type\":\"error\",\"name\":\"E\",\"value\":\"\\u2028\\u0085"
          "\\ud83d\\ude00\",\"traceback\":\"\\n\"}\n");
}

static void stamps_output_with_the_time(void **state)
{
    (void)state;
    ebb_buf out;
    ebb_buf_init(&out, 0);
    assert_int_equal(
        ebb_result_add_text(&out, "stdout", "a\0b", 3, 1764432000042), 0);
    assert_int_equal(ebb_result_add_count(&out, 3), 0);
    assert_int_equal(ebb_result_add_mark(&out, "keepalive"), 0);
    assert_string_equal(
        out.bytes, "{\"type\":\"stdout\",\"text\":\"a\\u0000b\",\"timestamp\":"
                   "\"2025-11-29T16:00:00.042000+00:00\"}\n"
                   "{\"type\":\"number_of_executions\",\"execution_count\":3}\n"
                   "{\"type\":\"keepalive\"}\n");
    ebb_buf_clear(&out);
}

static void says_when_a_line_does_not_fit(void **state)
{
    (void)state;
    ebb_buf out;
    ebb_buf_init(&out, 40);
    assert_int_equal(ebb_result_add_error(&out, "name", "value", "trace"), -1);
    assert_true(out.failed);
    ebb_buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_form_its_member),
        cmocka_unit_test(takes_one_pair_of_quotes_from_text),
        cmocka_unit_test(leaves_out_members_of_a_wrong_type),
        cmocka_unit_test(writes_ascii_only),
        cmocka_unit_test(stamps_output_with_the_time),
        cmocka_unit_test(says_when_a_line_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
