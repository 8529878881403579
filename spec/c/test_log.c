/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct heard {
    int count;
    ebb_log_level level;
    char text[4096];
} heard;

static void hear(void *context, ebb_log_level level, const char *message)
{
    heard *h = context;

    h->count++;
    h->level = level;
    snprintf(h->text, sizeof h->text, "%s", message);
}

static int reset(void **state)
{
    (void)state;
    ebb_log_set(NULL, NULL, EBB_LOG_WARN);
    return 0;
}

static void lines_below_the_level_are_dropped(void **state)
{
    heard h = { 0 };

    (void)state;
    ebb_log_set(hear, &h, EBB_LOG_INFO);
    ebb_log_write(EBB_LOG_DEBUG, "no");
    assert_int_equal(h.count, 0);
    ebb_log_write(EBB_LOG_INFO, "yes %d", 1);
    assert_int_equal(h.count, 1);
    assert_int_equal(h.level, EBB_LOG_INFO);
    assert_string_equal(h.text, "yes 1");
    ebb_log_write(EBB_LOG_ERROR, "yes");
    assert_int_equal(h.count, 2);
}

static void one_message_is_one_line_without_control_characters(void **state)
{
    heard h = { 0 };

    (void)state;
    ebb_log_set(hear, &h, EBB_LOG_DEBUG);
    ebb_log_write(EBB_LOG_WARN, "a\nb\rc\x1B[2J\x7F");
    assert_string_equal(h.text, "a b c [2J ");
}

static void a_long_message_is_cut(void **state)
{
    heard h = { 0 };
    char text[3000];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    ebb_log_set(hear, &h, EBB_LOG_DEBUG);
    ebb_log_write(EBB_LOG_WARN, "%s", text);
    assert_in_range(strlen(h.text), 1000, 2100);
}

static void without_a_sink_lines_go_to_standard_error(void **state)
{
    int ends[2], saved = dup(STDERR_FILENO);
    char line[200] = "";
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    ebb_log_set(NULL, NULL, EBB_LOG_WARN);
    dup2(ends[1], STDERR_FILENO);
    ebb_log_write(EBB_LOG_INFO, "not this");
    ebb_log_write(EBB_LOG_WARN, "disk %s", "full");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    n = read(ends[0], line, sizeof line - 1);
    close(ends[0]);
    assert_true(n > 0);
    assert_string_equal(line, "ebb: warn: disk full\n");
}

static void every_level_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(ebb_log_level_name(EBB_LOG_DEBUG), "debug");
    assert_string_equal(ebb_log_level_name(EBB_LOG_INFO), "info");
    assert_string_equal(ebb_log_level_name(EBB_LOG_WARN), "warn");
    assert_string_equal(ebb_log_level_name(EBB_LOG_ERROR), "error");
    assert_non_null(ebb_log_level_name((ebb_log_level)77));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lines_below_the_level_are_dropped, reset),
        cmocka_unit_test_teardown(
            one_message_is_one_line_without_control_characters, reset),
        cmocka_unit_test_teardown(a_long_message_is_cut, reset),
        cmocka_unit_test_teardown(without_a_sink_lines_go_to_standard_error,
                                  reset),
        cmocka_unit_test(every_level_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
