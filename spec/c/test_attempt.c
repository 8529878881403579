/* SPDX-License-Identifier: MIT */
#include "task/attempt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct seen {
    int ends, proceeded;
    ebb_value *result, *details;
    ebb_err err;
    ebb_attempt_fn *held; /* what before_effect was given */
} seen;

static void after(ebb_attempt *attempt, ebb_value *result, const ebb_err *err,
                  ebb_value *details)
{
    seen *s = attempt->starter;

    s->ends++;
    s->result = result;
    s->details = details;
    if (err != NULL)
        s->err = *err;
}

static void before(ebb_attempt *attempt, ebb_attempt_fn *proceed)
{
    ((seen *)attempt->starter)->held = proceed;
}

static void proceed(ebb_attempt *attempt)
{
    ((seen *)attempt->starter)->proceeded++;
}

static void the_effect_goes_on_at_once_when_nobody_asks(void **state)
{
    static const ebb_attempt_hooks hooks = { .after = after };
    seen s = { 0 };
    ebb_attempt attempt = { .hooks = &hooks, .starter = &s };

    (void)state;
    assert_false(ebb_attempt_may_wait(&attempt));
    ebb_attempt_before_effect(&attempt, proceed);
    assert_int_equal(s.proceeded, 1);
}

static void the_effect_waits_for_the_starter(void **state)
{
    static const ebb_attempt_hooks hooks = { .before_effect = before,
                                             .after = after };
    seen s = { 0 };
    ebb_attempt attempt = { .hooks = &hooks, .starter = &s };

    (void)state;
    assert_true(ebb_attempt_may_wait(&attempt));
    ebb_attempt_before_effect(&attempt, proceed);
    assert_int_equal(s.proceeded, 0);
    s.held(&attempt);
    assert_int_equal(s.proceeded, 1);
}

static void no_result_is_no_memory(void **state)
{
    static const ebb_attempt_hooks hooks = { .after = after };
    seen s = { 0 };
    ebb_attempt attempt = { .hooks = &hooks, .starter = &s };

    (void)state;
    ebb_attempt_finish(&attempt, NULL);
    assert_int_equal(s.ends, 1);
    assert_int_equal(s.err.code, EBB_NO_MEMORY);
    ebb_attempt_finish(&attempt, ebb_value_int(7));
    assert_int_equal(ebb_value_get_int(s.result), 7);
    ebb_value_free(s.result);
}

static void a_failure_carries_its_details(void **state)
{
    static const ebb_attempt_hooks hooks = { .after = after };
    seen s = { 0 };
    ebb_attempt attempt = { .hooks = &hooks, .starter = &s };
    ebb_err err = { 0 };

    (void)state;
    ebb_err_set(&err, EBB_TIMEOUT, "too late");
    ebb_attempt_fail(&attempt, &err, ebb_value_int(9));
    assert_null(s.result);
    assert_int_equal(s.err.code, EBB_TIMEOUT);
    assert_int_equal(ebb_value_get_int(s.details), 9);
    ebb_value_free(s.details);
}

static int64_t now(void *context)
{
    return *(int64_t *)context;
}

static void what_is_left_is_never_negative(void **state)
{
    int64_t at = 100;
    ebb_clock clock = { .steady_ms = now, .context = &at };
    ebb_attempt attempt = { .clock = &clock, .deadline_ms = 150 };

    (void)state;
    assert_int_equal(ebb_attempt_left_ms(&attempt, 1000), 50);
    assert_int_equal(ebb_attempt_left_ms(&attempt, 20), 20);
    at = 200;
    assert_int_equal(ebb_attempt_left_ms(&attempt, 1000), 0);
    attempt.deadline_ms = EBB_NO_DEADLINE;
    assert_int_equal(ebb_attempt_left_ms(&attempt, 1000), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_effect_goes_on_at_once_when_nobody_asks),
        cmocka_unit_test(the_effect_waits_for_the_starter),
        cmocka_unit_test(no_result_is_no_memory),
        cmocka_unit_test(a_failure_carries_its_details),
        cmocka_unit_test(what_is_left_is_never_negative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
