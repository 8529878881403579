/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/logs.h"

#include "base/fs.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static ebb_sandbox sandbox;

static int open_log(void **state)
{
    ebb_err err;

    (void)state;
    strcpy(dir, "/tmp/ebb-logs.XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    sandbox = (ebb_sandbox){ .log = ebb_logs_open(dir, false, &err) };
    return sandbox.log == NULL;
}

static int close_log(void **state)
{
    ebb_err err;

    (void)state;
    ebb_logs_close(sandbox.log);
    return ebb_fs_remove_tree(dir, &err);
}

typedef struct seen {
    size_t count;
    int64_t first_ms, last_ms;
    bool increases;
    ebb_logs_level level;
    char first[64], last[64];
    size_t last_bytes;
    bool valid;
} seen;

static void look(void *context, const ebb_logs_entry *entry)
{
    seen *s = context;

    if (s->count == 0) {
        s->first_ms = entry->ms;
        snprintf(s->first, sizeof s->first, "%s", entry->message);
        s->increases = s->valid = true;
    } else if (entry->ms <= s->last_ms) {
        s->increases = false;
    }
    s->count++;
    s->last_ms = entry->ms;
    s->level = entry->level;
    s->last_bytes = strlen(entry->message);
    s->valid &= ebb_utf8_valid(entry->message, s->last_bytes);
    snprintf(s->last, sizeof s->last, "%s", entry->message);
}

static seen find(const ebb_logs_query *query, int64_t *next)
{
    seen s = { 0 };

    *next = ebb_logs_find(sandbox.log, query, look, &s);
    return s;
}

static const ebb_logs_query everything = { .cursor = -1,
                                           .forward = true,
                                           .limit = 1000000 };

static void times_increase_strictly_within_a_millisecond(void **state)
{
    int64_t next;
    seen s;
    int i;

    (void)state;
    for (i = 0; i < 500; i++)
        ebb_sandbox_log_add(&sandbox, "info", "t", "line %d", i);
    s = find(&everything, &next);
    assert_int_equal(s.count, 500);
    assert_true(s.increases);
    assert_int_equal(next, -1);
    assert_string_equal(s.first, "line 0");
    assert_string_equal(s.last, "line 499");
}

static void the_ring_keeps_the_newest(void **state)
{
    int64_t next;
    seen s;
    int i;

    (void)state;
    for (i = 0; i < EBB_LOGS_ENTRIES_MAX + 10; i++)
        ebb_sandbox_log_add(&sandbox, "info", "t", "line %d", i);
    s = find(&everything, &next);
    assert_int_equal(s.count, EBB_LOGS_ENTRIES_MAX);
    assert_string_equal(s.first, "line 10");
    assert_true(s.increases);
}

static void memory_is_bounded_and_the_file_rolls_over(void **state)
{
    char text[EBB_LOGS_MESSAGE_MAX + 100], path[128];
    struct stat st;
    int64_t next;
    seen s;
    int i;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (i = 0; i < 1100; i++)
        ebb_sandbox_log_add(&sandbox, "info", "t", "%s", text);
    s = find(&everything, &next);
    assert_int_equal(s.last_bytes, EBB_LOGS_MESSAGE_MAX - 1);
    assert_true(s.count * s.last_bytes <= EBB_LOGS_BYTES_MAX);
    assert_true(s.count >= 100);
    snprintf(path, sizeof path, "%s/log.1", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_true((size_t)st.st_size < EBB_LOGS_FILE_MAX + sizeof text + 200);
    snprintf(path, sizeof path, "%s/log", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_true((size_t)st.st_size < EBB_LOGS_FILE_MAX);
}

static void hostile_bytes_become_text(void **state)
{
    char text[EBB_LOGS_MESSAGE_MAX];
    int64_t next;
    seen s;

    (void)state;
    ebb_sandbox_log_add(&sandbox, "info", "t", "a%cb%c", 0xFF, 0xC3);
    s = find(&everything, &next);
    assert_true(s.valid);
    assert_string_equal(s.last, "a\xEF\xBF\xBD"
                                "b\xEF\xBF\xBD");
    memset(text, 0xFF, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ebb_sandbox_log_add(&sandbox, "info", "t", "%s", text);
    s = find(&everything, &next);
    assert_true(s.valid);
    assert_true(s.last_bytes <= EBB_LOGS_MESSAGE_MAX);
    assert_true(s.last_bytes > EBB_LOGS_MESSAGE_MAX - 3);
}

static void an_unknown_level_is_info(void **state)
{
    int64_t next;

    (void)state;
    ebb_sandbox_log_add(&sandbox, "loud", "t", "x");
    assert_int_equal(find(&everything, &next).level, EBB_LOGS_INFO);
}

static void a_query_selects_by_level_words_and_place(void **state)
{
    ebb_logs_query q = everything;
    int64_t next;
    seen s;

    (void)state;
    ebb_sandbox_log_add(&sandbox, "debug", "t", "one");
    ebb_sandbox_log_add(&sandbox, "warn", "t", "two");
    ebb_sandbox_log_add(&sandbox, "error", "t", "three");
    q.level = EBB_LOGS_WARN;
    assert_int_equal(find(&q, &next).count, 2);
    q.search = "hre";
    assert_string_equal(find(&q, &next).first, "three");
    q = everything;
    q.limit = 2;
    s = find(&q, &next);
    assert_string_equal(s.last, "two");
    q.cursor = next;
    s = find(&q, &next);
    assert_int_equal(s.count, 1);
    assert_string_equal(s.first, "three");
    assert_int_equal(next, -1);
    q = (ebb_logs_query){ .cursor = s.first_ms - 1, .limit = 10 };
    s = find(&q, &next);
    assert_int_equal(s.count, 2);
    assert_string_equal(s.first, "two");
    q.limit = 0;
    s = find(&q, &next);
    assert_int_equal(s.count, 0);
    assert_true(next > 0);
}

static void the_file_is_taken_back_without_a_torn_line(void **state)
{
    char path[128];
    int64_t next;
    ebb_err err;
    FILE *file;
    seen s;

    (void)state;
    ebb_sandbox_log_add(&sandbox, "warn", "t", "one");
    ebb_sandbox_log_add(&sandbox, "info", "t", "two");
    ebb_logs_close(sandbox.log);
    snprintf(path, sizeof path, "%s/log", dir);
    file = fopen(path, "a");
    assert_non_null(file);
    fputs("no JSON\n{\"timestamp\":1}\n\n{\"timestamp\":\"2026", file);
    fclose(file);
    sandbox.log = ebb_logs_open(dir, true, &err);
    assert_non_null(sandbox.log);
    s = find(&everything, &next);
    assert_int_equal(s.count, 2);
    assert_string_equal(s.first, "one");
    ebb_sandbox_log_add(&sandbox, "info", "t", "three");
    s = find(&everything, &next);
    assert_true(s.increases);
    assert_string_equal(s.last, "three");
}

static void a_link_in_place_of_the_file_is_refused(void **state)
{
    char path[128];
    ebb_err err;

    (void)state;
    snprintf(path, sizeof path, "%s/log", dir);
    assert_int_equal(remove(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_null(ebb_logs_open(dir, false, &err));
    assert_int_equal(err.code, EBB_SERVER);
}

static void a_sandbox_without_a_log_loses_its_lines(void **state)
{
    ebb_sandbox none = { 0 };

    (void)state;
    ebb_sandbox_log_add(&none, "info", "t", "x");
    assert_int_equal(ebb_logs_find(NULL, &everything, look, NULL), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_log, close_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(times_increase_strictly_within_a_millisecond),
        TEST(the_ring_keeps_the_newest),
        TEST(memory_is_bounded_and_the_file_rolls_over),
        TEST(hostile_bytes_become_text),
        TEST(an_unknown_level_is_info),
        TEST(a_query_selects_by_level_words_and_place),
        TEST(the_file_is_taken_back_without_a_torn_line),
        TEST(a_link_in_place_of_the_file_is_refused),
        TEST(a_sandbox_without_a_log_loses_its_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
