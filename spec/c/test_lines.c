/* SPDX-License-Identifier: MIT */
#include "net/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Collects "<line>|" and stops at the line "stop". */
static int collect(void *context, const char *line, size_t n, ebb_err *err)
{
    if (strcmp(line, "stop") == 0)
        return ebb_err_set(err, EBB_CONFLICT, "stopped");
    assert_int_equal(line[n], '\0');
    ebb_buf_add(context, line, n);
    return ebb_buf_add_byte(context, '|');
}

static void a_stream_is_cut_at_each_lf_however_it_arrives(void **state)
{
    static const char text[] = "one\n\ntwo\r\nthr\0ee\nlast";
    const size_t n = sizeof text - 1;

    (void)state;
    for (size_t chunk = 1; chunk <= n; chunk++) {
        ebb_buf got = { 0 };
        ebb_lines lines;
        ebb_err err = { 0 };

        ebb_lines_init(&lines, 6, collect, &got);
        for (size_t i = 0; i < n; i += chunk)
            assert_int_equal(ebb_lines_add(&lines, text + i,
                                           n - i < chunk ? n - i : chunk,
                                           &err), 0);
        assert_memory_equal(got.bytes, "one||two\r|thr\0ee|", 17);
        assert_int_equal(got.n, 17);
        assert_int_equal(ebb_lines_finish(&lines, &err), 0);
        assert_memory_equal(got.bytes + 17, "last|", 6);
        assert_int_equal(ebb_lines_finish(&lines, &err), 0); /* once */
        assert_int_equal(got.n, 22);
        ebb_lines_clear(&lines);
        ebb_buf_clear(&got);
    }
}

static void a_line_above_its_maximum_is_an_error(void **state)
{
    ebb_buf got = { 0 };
    ebb_lines lines;
    ebb_err err = { 0 };

    (void)state;
    ebb_lines_init(&lines, 4, collect, &got);
    assert_int_equal(ebb_lines_add(&lines, "1234\n12", 7, &err), 0);
    assert_int_equal(ebb_lines_add(&lines, "345\n", 4, &err), -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    assert_string_equal(got.bytes, "1234|");
    ebb_lines_clear(&lines);
    ebb_buf_clear(&got);
}

static void an_error_of_the_receiver_stops_and_is_passed_on(void **state)
{
    ebb_buf got = { 0 };
    ebb_lines lines;
    ebb_err err = { 0 };

    (void)state;
    ebb_lines_init(&lines, 100, collect, &got);
    assert_int_equal(ebb_lines_add(&lines, "a\nstop\nb\n", 9, &err), -1);
    assert_int_equal(err.code, EBB_CONFLICT);
    assert_string_equal(got.bytes, "a|");
    assert_int_equal(ebb_lines_add(&lines, "stop", 4, &err), 0);
    assert_int_equal(ebb_lines_finish(&lines, &err), -1);
    ebb_lines_clear(&lines);
    ebb_lines_clear(&lines);
    ebb_buf_clear(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_cut_at_each_lf_however_it_arrives),
        cmocka_unit_test(a_line_above_its_maximum_is_an_error),
        cmocka_unit_test(an_error_of_the_receiver_stops_and_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
