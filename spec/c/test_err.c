/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

static void setting_an_error_gives_minus_one_and_fills_it(void **state)
{
    ebb_err err = { .retry_after_ms = 5, .status = 9 };

    (void)state;
    assert_int_equal(ebb_err_set(&err, EBB_TIMEOUT, "connect to %s", "h"), -1);
    assert_int_equal(err.code, EBB_TIMEOUT);
    assert_int_equal(err.status, 0);
    assert_int_equal(err.retry_after_ms, 0);
    assert_string_equal(err.msg, "connect to h");

    assert_int_equal(ebb_err_set_status(&err, EBB_SERVER, 503, "busy"), -1);
    assert_int_equal(err.code, EBB_SERVER);
    assert_int_equal(err.status, 503);
    assert_string_equal(err.msg, "busy");
}

static void errno_becomes_the_end_of_the_message_and_the_status(void **state)
{
    ebb_err err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(
        ebb_err_set_errno(&err, EBB_FILE_NOT_FOUND, "open %s", "/x"), -1);
    assert_int_equal(err.status, ENOENT);
    assert_string_equal(err.msg, "open /x: No such file or directory");
}

static void wrapping_prefixes_and_keeps_the_rest(void **state)
{
    ebb_err err;

    (void)state;
    ebb_err_set_status(&err, EBB_NOT_FOUND, 404, "no such thing");
    assert_int_equal(ebb_err_wrap(&err, "create sandbox %d", 7), -1);
    assert_string_equal(err.msg, "create sandbox 7: no such thing");
    assert_int_equal(err.code, EBB_NOT_FOUND);
    assert_int_equal(err.status, 404);
}

static void a_long_message_is_cut_between_characters(void **state)
{
    char text[3000];
    ebb_err err;

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        ebb_err_set(&err, EBB_SERVER, "%s", text);
        assert_true(ebb_utf8_valid(err.msg, strlen(err.msg)));
        assert_true(strlen(err.msg) < EBB_ERR_MSG_BYTES);
        assert_true(strlen(err.msg) >= EBB_ERR_MSG_BYTES - 4);
        assert_string_equal(err.msg + strlen(err.msg) - 3, "…");
        ebb_err_wrap(&err, "%s", text);
        assert_true(ebb_utf8_valid(err.msg, strlen(err.msg)));
        assert_string_equal(err.msg + strlen(err.msg) - 3, "…");
    }
}

/* Nothing after a cut: two halves would read as one message. */
static void what_comes_after_a_cut_is_left_out(void **state)
{
    char text[300];
    ebb_err err;

    (void)state;
    memset(text, 'x', 254);
    memcpy(text + 254, "\xC3\xA9yz", 5);
    ebb_err_set(&err, EBB_SERVER, "%s", text);
    memcpy(text + 252, "…", 4);
    assert_string_equal(err.msg, text);
    text[252] = '\0';
    ebb_err_set(&err, EBB_SERVER, "%s\xC3\xA9", text);
    assert_int_equal(strlen(err.msg), 254); /* it fits */
}

static void a_reason_after_a_cut_message_is_left_out_too(void **state)
{
    char text[300];
    ebb_err err;

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    errno = ENOENT;
    ebb_err_set_errno(&err, EBB_SERVER, "%s", text);
    memcpy(text + 252, "…", 4);
    assert_string_equal(err.msg, text);
}

static void control_characters_become_spaces(void **state)
{
    ebb_err err;

    (void)state;
    ebb_err_set(&err, EBB_SERVER,
                "a\nb\tc\x1B[31m\x7F\xC2\x9B"
                "d\xC2\xA0");
    assert_string_equal(err.msg, "a b c [31m  d\xC2\xA0");
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    ebb_err err;

    (void)state;
    ebb_err_set(&err, EBB_SERVER,
                "a\xFF"
                "b\xE2\x82");
    assert_string_equal(err.msg, "a\xEF\xBF\xBD"
                                 "b\xEF\xBF\xBD");
}

static void every_code_has_a_name_that_finds_it(void **state)
{
    (void)state;
    for (int code = EBB_OK + 1; code < EBB_CODES_COUNT; code++) {
        const char *name = ebb_code_name((ebb_code)code);

        assert_non_null(name);
        assert_int_equal(ebb_code_find(name), code);
        assert_in_range(ebb_code_exit_status((ebb_code)code), 1, 130);
    }
    assert_string_equal(ebb_code_name(EBB_OK), "ok");
    assert_int_equal(ebb_code_find("ok"), EBB_OK);
    assert_int_equal(ebb_code_find("no such code"), EBB_OK);
    assert_int_equal(ebb_code_find(""), EBB_OK);
    assert_non_null(ebb_code_name((ebb_code)999));
}

static void codes_say_whether_trying_again_helps(void **state)
{
    (void)state;
    assert_true(ebb_code_retryable(EBB_NETWORK));
    assert_true(ebb_code_retryable(EBB_RATE_LIMITED));
    assert_false(ebb_code_retryable(EBB_INVALID_INPUT));
    assert_false(ebb_code_retryable(EBB_OUTCOME_UNKNOWN));
    assert_int_equal(ebb_code_exit_status(EBB_CANCELLED), 130);
    assert_int_equal(ebb_code_exit_status(EBB_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_an_error_gives_minus_one_and_fills_it),
        cmocka_unit_test(errno_becomes_the_end_of_the_message_and_the_status),
        cmocka_unit_test(wrapping_prefixes_and_keeps_the_rest),
        cmocka_unit_test(a_long_message_is_cut_between_characters),
        cmocka_unit_test(what_comes_after_a_cut_is_left_out),
        cmocka_unit_test(a_reason_after_a_cut_message_is_left_out_too),
        cmocka_unit_test(control_characters_become_spaces),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(every_code_has_a_name_that_finds_it),
        cmocka_unit_test(codes_say_whether_trying_again_helps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
