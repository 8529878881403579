/* SPDX-License-Identifier: MIT */
#include "task/retry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/attempt.h"

static int64_t steady_now = 1000;
static double chance;

static int64_t fake_steady(void *context)
{
    (void)context;
    return steady_now;
}

static double fake_random(void *context)
{
    (void)context;
    return chance;
}

static const ebb_clock fake_clock = { .steady_ms = fake_steady,
                                      .random = fake_random };

static ebb_retry_waits waits = { &fake_clock, EBB_RETRY_BASE_MS, 0 };

static int64_t next(ebb_retry_class retry_class, int made, ebb_code code,
                    int64_t retry_after_ms)
{
    ebb_err err = { .code = code, .retry_after_ms = retry_after_ms };

    return ebb_retry_next(&waits, retry_class, made, &err, EBB_NO_DEADLINE);
}

static void waits_are_one_two_and_four_seconds_then_none(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ebb_retry_class c = i ? EBB_RETRY_READ : EBB_RETRY_LIFECYCLE;
        assert_int_equal(next(c, 1, EBB_NETWORK, 0), 1000);
        assert_int_equal(next(c, 2, EBB_NETWORK, 0), 2000);
        assert_int_equal(next(c, 3, EBB_NETWORK, 0), 4000);
        assert_int_equal(next(c, 4, EBB_NETWORK, 0), -1);
    }
}

static void what_executes_is_never_tried_again(void **state)
{
    (void)state;
    assert_int_equal(next(EBB_RETRY_NONE, 1, EBB_NETWORK, 0), -1);
    assert_int_equal(next(EBB_RETRY_NONE, 1, EBB_RATE_LIMITED, 5000), -1);
}

static void only_what_can_succeed_is_tried_again(void **state)
{
    static const ebb_code again[] = { EBB_NETWORK, EBB_TIMEOUT, EBB_SERVER,
                                      EBB_RATE_LIMITED, EBB_PROTOCOL };
    static const ebb_code never[] = {
        EBB_INVALID_INPUT, EBB_MISSING_CREDENTIALS, EBB_UNAUTHORIZED,
        EBB_FORBIDDEN,     EBB_NOT_FOUND,           EBB_CONFLICT,
        EBB_CANCELLED,     EBB_LIMIT_EXCEEDED,      EBB_OUTCOME_UNKNOWN,
    };

    (void)state;
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        assert_int_equal(next(EBB_RETRY_READ, 1, again[i], 0), 1000);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_int_equal(next(EBB_RETRY_READ, 1, never[i], 0), -1);
}

static void the_server_s_word_overrides_the_code(void **state)
{
    (void)state;
    assert_int_equal(next(EBB_RETRY_READ, 1, EBB_CONFLICT, 1), 1000);
    assert_int_equal(next(EBB_RETRY_READ, 1, EBB_SERVER, -1), -1);
}

static void a_longer_retry_after_replaces_the_wait_up_to_its_cap(void **state)
{
    (void)state;
    assert_int_equal(next(EBB_RETRY_READ, 1, EBB_RATE_LIMITED, 500), 1000);
    assert_int_equal(next(EBB_RETRY_READ, 1, EBB_RATE_LIMITED, 7000), 7000);
    assert_int_equal(next(EBB_RETRY_READ, 1, EBB_RATE_LIMITED, 90000), 30000);
}

static void a_call_makes_four_attempts_in_seven_seconds(void **state)
{
    ebb_err err = { .code = EBB_SERVER };
    int64_t began = steady_now, wait;
    int made = 1;

    (void)state;
    while ((wait = ebb_retry_next(&waits, EBB_RETRY_LIFECYCLE, made, &err,
                                  EBB_NO_DEADLINE)) >= 0) {
        steady_now += wait;
        made++;
    }
    assert_int_equal(made, 4);
    assert_int_equal(steady_now - began, 7000);
}

static void waits_follow_the_base_and_retry_after_does_not(void **state)
{
    const ebb_retry_waits quick = { &fake_clock, 5, 0 };
    ebb_err err = { .code = EBB_RATE_LIMITED };

    (void)state;
    for (int made = 1; made <= 3; made++)
        assert_int_equal(ebb_retry_next(&quick, EBB_RETRY_READ, made, &err,
                                        EBB_NO_DEADLINE),
                         5 << (made - 1));
    err.retry_after_ms = 2000;
    assert_int_equal(
        ebb_retry_next(&quick, EBB_RETRY_READ, 1, &err, EBB_NO_DEADLINE), 2000);
}

static void jitter_adds_at_most_its_share(void **state)
{
    const ebb_retry_waits tenth = { &fake_clock, EBB_RETRY_BASE_MS, 0.1 };
    static const struct {
        double chance;
        int64_t wait;
    } rows[] = { { 0, 2000 }, { 0.5, 2100 }, { 0.999999, 2199 } };
    ebb_err err = { .code = EBB_NETWORK };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        chance = rows[i].chance;
        assert_int_equal(ebb_retry_next(&tenth, EBB_RETRY_READ, 2, &err,
                                        EBB_NO_DEADLINE),
                         rows[i].wait);
    }
    err.retry_after_ms = 90000; /* the cap is on what was asked for */
    assert_in_range(
        ebb_retry_next(&tenth, EBB_RETRY_READ, 1, &err, EBB_NO_DEADLINE), 30000,
        33000);
    chance = 0;
}

static void no_attempt_begins_at_or_after_the_deadline(void **state)
{
    ebb_err err = { .code = EBB_RATE_LIMITED };

    (void)state;
    for (int asked = 0; asked <= 4000; asked += 4000) {
        int64_t wait = asked > 1000 ? asked : 1000;

        err.retry_after_ms = asked;
        assert_int_equal(ebb_retry_next(&waits, EBB_RETRY_READ, 1, &err,
                                        steady_now + wait),
                         -1);
        assert_int_equal(ebb_retry_next(&waits, EBB_RETRY_READ, 1, &err,
                                        steady_now + wait + 1),
                         wait);
    }
}

static void retry_after_takes_seconds_and_dates_and_nothing_else(void **state)
{
    /* Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110. */
    const int64_t at = INT64_C(784111777000);
    static const char *const garbage[] = {
        "",     " ",   "-1",
        "1.5",  "1e3", "soon",
        "12 x", "+4",  "Sun, 06 Nov 1994",
        "0x10",
    };

    (void)state;
    assert_int_equal(ebb_retry_after_parse(NULL, at), 0);
    assert_int_equal(ebb_retry_after_parse("0", at), 0);
    assert_int_equal(ebb_retry_after_parse(" 3 ", at), 3000);
    assert_int_equal(ebb_retry_after_parse("99999999999999999999", at),
                     86400000);
    assert_int_equal(
        ebb_retry_after_parse("Sun, 06 Nov 1994 08:49:37 GMT", at - 2500),
        2500);
    assert_int_equal(
        ebb_retry_after_parse("Sun, 06 Nov 1994 08:49:37 GMT", at + 1), 0);
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
        assert_int_equal(ebb_retry_after_parse(garbage[i], at), 0);
}

static void classes_are_found_by_name(void **state)
{
    ebb_retry_class found = EBB_RETRY_NONE;

    (void)state;
    assert_int_equal(ebb_retry_class_find("read", &found), 0);
    assert_int_equal(found, EBB_RETRY_READ);
    assert_string_equal(ebb_retry_class_name(EBB_RETRY_LIFECYCLE), "lifecycle");
    assert_int_equal(ebb_retry_class_find("often", &found), -1);
    assert_int_equal(ebb_retry_attempts(EBB_RETRY_NONE), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_one_two_and_four_seconds_then_none),
        cmocka_unit_test(what_executes_is_never_tried_again),
        cmocka_unit_test(only_what_can_succeed_is_tried_again),
        cmocka_unit_test(the_server_s_word_overrides_the_code),
        cmocka_unit_test(a_longer_retry_after_replaces_the_wait_up_to_its_cap),
        cmocka_unit_test(a_call_makes_four_attempts_in_seven_seconds),
        cmocka_unit_test(waits_follow_the_base_and_retry_after_does_not),
        cmocka_unit_test(jitter_adds_at_most_its_share),
        cmocka_unit_test(no_attempt_begins_at_or_after_the_deadline),
        cmocka_unit_test(retry_after_takes_seconds_and_dates_and_nothing_else),
        cmocka_unit_test(classes_are_found_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
