/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/idempotency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static ebb_idempotency *table;
static const ebb_value *answer;

static int open_table(void **state)
{
    ebb_err err;

    (void)state;
    answer = NULL;
    table = ebb_idempotency_new(&err);
    return table == NULL;
}

static int close_table(void **state)
{
    (void)state;
    ebb_idempotency_free(table);
    return 0;
}

static ebb_idempotency_verdict start(const char *key, int64_t now_ms)
{
    return ebb_idempotency_start(table, key, "digest", now_ms, &answer);
}

static void finish(const char *key, int64_t number)
{
    ebb_value *value = ebb_value_int(number);

    ebb_idempotency_finish(table, key, value);
    ebb_value_free(value);
}

static void a_key_goes_from_new_over_running_to_done(void **state)
{
    (void)state;
    assert_int_equal(start("k", 0), EBB_IDEMPOTENCY_NEW);
    assert_int_equal(start("k", 1), EBB_IDEMPOTENCY_RUNNING);
    finish("k", 7);
    assert_int_equal(start("k", 2), EBB_IDEMPOTENCY_DONE);
    assert_int_equal(ebb_value_get_int(answer), 7);
    finish("k", 8);
    assert_int_equal(start("k", 3), EBB_IDEMPOTENCY_DONE);
    assert_int_equal(ebb_value_get_int(answer), 7);
}

static void another_request_is_a_mismatch_also_while_running(void **state)
{
    (void)state;
    start("k", 0);
    assert_int_equal(ebb_idempotency_start(table, "k", "other", 0, &answer),
                     EBB_IDEMPOTENCY_MISMATCH);
    finish("k", 1);
    assert_int_equal(ebb_idempotency_start(table, "k", "other", 0, &answer),
                     EBB_IDEMPOTENCY_MISMATCH);
}

static void a_failed_request_frees_its_key(void **state)
{
    (void)state;
    start("k", 0);
    ebb_idempotency_del(table, "k");
    ebb_idempotency_del(table, "never");
    assert_int_equal(ebb_idempotency_start(table, "k", "other", 0, &answer),
                     EBB_IDEMPOTENCY_NEW);
}

static void a_key_is_forgotten_after_a_day(void **state)
{
    (void)state;
    start("k", 0);
    finish("k", 1);
    assert_int_equal(start("k", EBB_IDEMPOTENCY_KEEP_MS), EBB_IDEMPOTENCY_DONE);
    assert_int_equal(start("k", EBB_IDEMPOTENCY_KEEP_MS + 1),
                     EBB_IDEMPOTENCY_NEW);
}

static void a_running_key_is_never_forgotten(void **state)
{
    (void)state;
    start("k", 0);
    assert_int_equal(start("k", 2 * EBB_IDEMPOTENCY_KEEP_MS),
                     EBB_IDEMPOTENCY_RUNNING);
}

static void fill(bool finished)
{
    char key[32];
    int i;

    for (i = 0; i < EBB_IDEMPOTENCY_KEYS_MAX; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        assert_int_equal(start(key, i), EBB_IDEMPOTENCY_NEW);
        if (finished)
            finish(key, i);
    }
}

static void a_full_table_forgets_the_oldest_that_is_finished(void **state)
{
    (void)state;
    start("running", 0);
    ebb_idempotency_del(table, "running");
    fill(true);
    assert_int_equal(start("more", 1), EBB_IDEMPOTENCY_NEW);
    assert_int_equal(start("key-1", 1), EBB_IDEMPOTENCY_DONE);
    assert_int_equal(start("key-9999", 1), EBB_IDEMPOTENCY_DONE);
    finish("more", 1);
    assert_int_equal(start("key-0", 1), EBB_IDEMPOTENCY_NEW);
}

static void a_table_of_running_keys_takes_no_more(void **state)
{
    (void)state;
    fill(false);
    assert_int_equal(start("more", 1), EBB_IDEMPOTENCY_FULL);
    ebb_idempotency_del(table, "key-5000");
    assert_int_equal(start("more", 1), EBB_IDEMPOTENCY_NEW);
    /* The newest was taken out of the list and another one added. */
    ebb_idempotency_del(table, "more");
    assert_int_equal(start("again", 1), EBB_IDEMPOTENCY_NEW);
    assert_int_equal(start("again", 1), EBB_IDEMPOTENCY_RUNNING);
}

static void a_key_is_of_visible_ascii(void **state)
{
    char longest[EBB_IDEMPOTENCY_KEY_MAX + 2];

    (void)state;
    memset(longest, 'k', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_false(ebb_idempotency_is_key(longest));
    longest[EBB_IDEMPOTENCY_KEY_MAX] = '\0';
    assert_true(ebb_idempotency_is_key(longest));
    assert_false(ebb_idempotency_is_key(""));
    assert_false(ebb_idempotency_is_key("a b"));
    assert_false(ebb_idempotency_is_key("a\x7f"));
    assert_false(ebb_idempotency_is_key("\xc3\xa9"));
    assert_true(ebb_idempotency_is_key("!~"));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_table, close_table)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_key_goes_from_new_over_running_to_done),
        TEST(another_request_is_a_mismatch_also_while_running),
        TEST(a_failed_request_frees_its_key),
        TEST(a_key_is_forgotten_after_a_day),
        TEST(a_running_key_is_never_forgotten),
        TEST(a_full_table_forgets_the_oldest_that_is_finished),
        TEST(a_table_of_running_keys_takes_no_more),
        TEST(a_key_is_of_visible_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
