/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void assert_iso(const char *text, int64_t ms)
{
    int64_t got = 0;

    if (!ebb_clock_parse_iso(text, &got))
        fail_msg("refused: %s", text);
    if (got != ms)
        fail_msg("%s: %lld", text, (long long)got);
}

static void the_real_clock_is_the_systems(void **state)
{
    const ebb_clock *clock = ebb_clock_real();
    int64_t wall = ebb_clock_wall_ms(clock), steady;

    (void)state;
    assert_in_range((uint64_t)(wall / 1000 - time(NULL) + 5), 0, 10);
    steady = ebb_clock_steady_ms(clock);
    assert_true(ebb_clock_steady_ms(clock) >= steady);
}

static void random_numbers_are_in_the_half_open_interval(void **state)
{
    double sum = 0, r;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        r = ebb_clock_random(ebb_clock_real());
        assert_true(r >= 0.0 && r < 1.0);
        sum += r;
    }
    assert_true(sum > 4700 && sum < 5300);
}

static int64_t fixed(void *context)
{
    return *(int64_t *)context;
}

static void another_clock_is_asked_with_its_context(void **state)
{
    int64_t now = 42;
    const ebb_clock clock = { fixed, fixed, NULL, &now };

    (void)state;
    assert_int_equal(ebb_clock_wall_ms(&clock), 42);
    now = 43;
    assert_int_equal(ebb_clock_steady_ms(&clock), 43);
}

static void iso_text_has_milliseconds_and_is_clamped(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        { 0, "1970-01-01T00:00:00.000Z" },
        { -1, "1969-12-31T23:59:59.999Z" },
        { 951782400123, "2000-02-29T00:00:00.123Z" },
        { INT64_MAX, "9999-12-31T23:59:59.999Z" },
        { INT64_MIN, "0000-01-01T00:00:00.000Z" },
    };
    char text[EBB_CLOCK_ISO_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_clock_iso(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void what_is_written_is_read_back(void **state)
{
    char text[EBB_CLOCK_ISO_BYTES];

    (void)state;
    for (int64_t ms = -62167219200000; ms < 253402300799999;
         ms += 86399999 * INT64_C(97)) {
        ebb_clock_iso(ms, text);
        assert_iso(text, ms);
    }
}

static void zones_and_fractions_are_understood(void **state)
{
    (void)state;
    assert_iso("1970-01-01T00:00:00Z", 0);
    assert_iso("1970-01-01t00:00:00z", 0);
    assert_iso("1970-01-01T01:30:00+01:30", 0);
    assert_iso("1969-12-31T19:00:00-05:00", 0);
    assert_iso("1970-01-01T00:00:00-00:00", 0);
    assert_iso("1970-01-01T00:00:00.5Z", 500);
    assert_iso("1970-01-01T00:00:00.123456789Z", 123);
    assert_iso("1970-01-01T00:00:00.9999999999999999Z", 999);
    assert_iso("1969-12-31T23:59:59.5Z", -500);
    assert_iso("1998-12-31T23:59:60Z", 915148800000); /* a leap second */
    assert_iso("2026-11-29T17:26:51.123-08:00", 1796002011123);
}

static void other_texts_are_no_iso_time(void **state)
{
    static const char *const bad[] = {
        "",
        "1970",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01 00:00:00Z",
        "1970-1-01T00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-01-32T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00+0100",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+01:60",
        "1970-01-01T00:00:00Zx",
        "1970-01-01T00:00:00.5",
        "+970-01-01T00:00:00Z",
        " 1970-01-01T00:00:00Z",
        "19700-01-01T00:00:00Z",
    };
    int64_t ms = 7;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (ebb_clock_parse_iso(bad[i], &ms))
            fail_msg("accepted: %s", bad[i]);
    assert_int_equal(ms, 7);
}

static void an_http_date_is_read_and_nothing_else(void **state)
{
    static const char *const bad[] = {
        "",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nom 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMTx",
        "120",
    };
    int64_t ms = 0;

    (void)state;
    assert_true(ebb_clock_parse_http("Sun, 06 Nov 1994 08:49:37 GMT", &ms));
    assert_int_equal(ms, 784111777000);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (ebb_clock_parse_http(bad[i], &ms))
            fail_msg("accepted: %s", bad[i]);
    assert_int_equal(ms, 784111777000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_real_clock_is_the_systems),
        cmocka_unit_test(random_numbers_are_in_the_half_open_interval),
        cmocka_unit_test(another_clock_is_asked_with_its_context),
        cmocka_unit_test(iso_text_has_milliseconds_and_is_clamped),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(zones_and_fractions_are_understood),
        cmocka_unit_test(other_texts_are_no_iso_time),
        cmocka_unit_test(an_http_date_is_read_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
