/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/metrics.h"

#include "sandbox/service/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static ebb_service service;
static ebb_sandbox sandbox;

static int open_meter(void **state)
{
    ebb_err err;

    (void)state;
    service = (ebb_service){ .config.limits = { .cpus = 1.5,
                                                .memory_bytes = 1 << 20 } };
    sandbox =
        (ebb_sandbox){ .service = &service, .meter = ebb_metrics_new(&err) };
    return sandbox.meter == NULL;
}

static int close_meter(void **state)
{
    (void)state;
    ebb_metrics_free(sandbox.meter);
    return 0;
}

/* The nth tick of the service's timer, after so much CPU time. */
static void tick(int64_t n, double cpu_seconds)
{
    const ebb_box_usage usage = { .cpu_seconds = cpu_seconds,
                                  .memory_bytes = 10,
                                  .disk_bytes = 20,
                                  .disk_total_bytes = 30 };

    ebb_metrics_add(sandbox.meter, 1000000 + n * EBB_METRICS_PERIOD_MS,
                    n * EBB_METRICS_PERIOD_MS, &usage);
}

static double pct_at(const ebb_value *rows, size_t at)
{
    return ebb_value_get_float(
        ebb_value_find(ebb_value_at(rows, at), "cpuUsedPct"));
}

static void cpu_is_the_average_over_all_cores(void **state)
{
    ebb_value *rows;

    (void)state;
    tick(0, 3);
    tick(1, 8);
    tick(2, 18);
    rows = ebb_metrics_get(&sandbox, 0, -1);
    assert_int_equal(ebb_value_size(rows), 3);
    assert_true(pct_at(rows, 0) == 0);
    assert_true(pct_at(rows, 1) == 50);
    assert_true(pct_at(rows, 2) == 100);
    assert_int_equal(ebb_value_find_int(ebb_value_at(rows, 0), "cpuCount", 0),
                     2);
    assert_int_equal(ebb_value_find_int(ebb_value_at(rows, 0), "memTotal", 0),
                     1 << 20);
    ebb_value_free(rows);
}

static void a_fresh_box_counts_from_zero(void **state)
{
    ebb_value *rows;

    (void)state;
    tick(0, 0);
    tick(1, 100);
    tick(2, 5);
    rows = ebb_metrics_get(&sandbox, 0, -1);
    assert_true(pct_at(rows, 2) == 50);
    ebb_value_free(rows);
}

static void a_sample_that_comes_too_early_is_left_out(void **state)
{
    const ebb_box_usage usage = { 0 };
    ebb_value *last;

    (void)state;
    ebb_metrics_add(sandbox.meter, 0, 0, &usage);
    ebb_metrics_add(sandbox.meter, 100, 100, &usage);
    ebb_metrics_add(sandbox.meter, 4900, 4900, &usage);
    ebb_metrics_add(sandbox.meter, 7000, 7000, &usage);
    last = ebb_metrics_get_last(&sandbox);
    assert_int_equal(ebb_value_find_int(last, "timestampUnix", 0), 4);
    ebb_value_free(last);
}

static void a_long_life_is_kept_whole_in_bounded_memory(void **state)
{
    ebb_value *rows;
    size_t n;
    int i;

    (void)state;
    for (i = 0; i < 5 * EBB_METRICS_SAMPLES_MAX; i++)
        tick(i, i * 2.5);
    rows = ebb_metrics_get(&sandbox, 0, -1);
    n = ebb_value_size(rows);
    assert_true(n <= EBB_METRICS_SAMPLES_MAX);
    assert_true(n >= EBB_METRICS_SAMPLES_MAX / 2);
    assert_int_equal(
        ebb_value_find_int(ebb_value_at(rows, 0), "timestampUnix", 0), 1000);
    for (i = 1; i < (int)n; i++)
        assert_true(pct_at(rows, (size_t)i) == 25);
    ebb_value_free(rows);
}

static void a_range_includes_both_its_ends(void **state)
{
    ebb_value *rows;

    (void)state;
    tick(0, 0);
    tick(1, 0);
    tick(2, 0);
    rows = ebb_metrics_get(&sandbox, 1005, 1005);
    assert_int_equal(ebb_value_size(rows), 1);
    ebb_value_free(rows);
    rows = ebb_metrics_get(&sandbox, 1011, -1);
    assert_int_equal(ebb_value_size(rows), 0);
    ebb_value_free(rows);
}

static void there_is_no_last_one_before_the_first(void **state)
{
    (void)state;
    assert_null(ebb_metrics_get_last(&sandbox));
}

static void without_limits_the_machine_is_the_limit(void **state)
{
    (void)state;
    service.config.limits = (ebb_box_limits){ 0 };
    assert_true(ebb_metrics_cpu_count(&service) >= 1);
    assert_true(ebb_metrics_memory_bytes(&service) > 1 << 26);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_meter, close_meter)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cpu_is_the_average_over_all_cores),
        TEST(a_fresh_box_counts_from_zero),
        TEST(a_sample_that_comes_too_early_is_left_out),
        TEST(a_long_life_is_kept_whole_in_bounded_memory),
        TEST(a_range_includes_both_its_ends),
        TEST(there_is_no_last_one_before_the_first),
        TEST(without_limits_the_machine_is_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
