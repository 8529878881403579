/* SPDX-License-Identifier: MIT */

/* What a journal has room for, and what it refuses: B15 of the cases. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_edit.h"
#include "support/journal_rig.h"

static void ids_are_short_and_clean(void **state)
{
    journal_rig *rig = *state;
    char id[EBB_JOURNAL_ID_BYTES_MAX + 2];
    const char *const bad[] = { "", "a\nb", "a\rb", "a\x7f", "a\xff", NULL };
    const char *const good[] = { "x", "UPPER lower", "é😀", "a/b.c:d" };
    ebb_journal_run *run;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(rig_claim(rig, bad[i]));
        assert_int_equal(rig->err.code, EBB_INVALID_INPUT);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        run = rig_claim(rig, good[i]);
        assert_non_null(run);
        ebb_journal_run_free(run);
    }
    memset(id, 'x', sizeof id);
    id[EBB_JOURNAL_ID_BYTES_MAX + 1] = '\0';
    assert_null(rig_claim(rig, id));
    assert_int_equal(rig->err.code, EBB_INVALID_INPUT);
    id[EBB_JOURNAL_ID_BYTES_MAX] = '\0';
    run = rig_claim(rig, id);
    assert_string_equal(run->id, id);
    ebb_journal_run_free(run);
}

static void paths_and_names_have_their_limits(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    char path[EBB_JOURNAL_PATH_BYTES_MAX + 2];
    char name[EBB_JOURNAL_NAME_BYTES_MAX + 2];
    ebb_journal_step step = rig_step(path, NULL);

    memset(path, 'p', sizeof path);
    path[EBB_JOURNAL_PATH_BYTES_MAX + 1] = '\0';
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_LIMIT_EXCEEDED);
    assert_non_null(strstr(rig->err.msg, "1025 bytes, at most 1024"));
    path[EBB_JOURNAL_PATH_BYTES_MAX] = '\0';
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_OK);
    memset(name, 'n', sizeof name);
    name[EBB_JOURNAL_NAME_BYTES_MAX + 1] = '\0';
    step = rig_step("1", NULL);
    step.name = name;
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_LIMIT_EXCEEDED);
    step.name = "a\xff";
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_NOT_UTF8);
    step.name = NULL;
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_INVALID_INPUT);
    assert_int_equal(rig_intent(rig, &run->claim, ""), EBB_INVALID_INPUT);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", NULL),
                     EBB_INVALID_INPUT);
    ebb_journal_run_free(run);
}

static void json_has_its_limit_before_anything_is_written(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    char *json = rig_json(EBB_JOURNAL_JSON_BYTES_MAX + 1);
    ebb_journal_step step = rig_step("1", NULL);

    assert_int_equal(rig_outcome(rig, &run->claim, "1", json),
                     EBB_LIMIT_EXCEEDED);
    assert_non_null(strstr(rig->err.msg, "4000001 bytes"));
    assert_non_null(strstr(rig->err.msg, "at most 4000000"));
    step.input = json;
    step.input_bytes = strlen(json);
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_LIMIT_EXCEEDED);
    assert_int_equal(rig_end(rig, &run->claim, EBB_JOURNAL_DONE, json),
                     EBB_LIMIT_EXCEEDED);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 0);
    ebb_journal_run_free(run);
    free(json);
}

/* The counters are set, not reached: a billion bytes take too long. */
static void a_run_has_room_for_so_much(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    ebb_journal_line line = { .message = "m" };
    rig_answer answer = { 0 };

    edit(rig->path, "UPDATE run SET steps = 999999");
    assert_int_equal(rig_intent(rig, &run->claim, "1"), EBB_OK);
    assert_int_equal(rig_intent(rig, &run->claim, "2"), EBB_LIMIT_EXCEEDED);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_OK);
    assert_int_equal(rig_outcome(rig, &run->claim, "2", "1"),
                     EBB_LIMIT_EXCEEDED);
    edit(rig->path, "UPDATE run SET steps = 1, bytes = 999999980");
    assert_int_equal(rig_intent(rig, &run->claim, "2"), EBB_OK);
    assert_int_equal(rig_intent(rig, &run->claim, "3"), EBB_LIMIT_EXCEEDED);
    assert_non_null(strstr(rig->err.msg, "at most 1000000000"));
    /* What has been executed is recorded all the same. */
    assert_int_equal(rig_outcome(rig, &run->claim, "2", "\"a long one\""),
                     EBB_OK);
    edit(rig->path, "UPDATE run SET lines = 99999");
    for (int i = 0; i < 2; i++)
        ebb_journal_add_line(rig->journal, &run->claim, &line,
                             rig_done(&answer), &rig->err);
    rig_await(rig, &answer, 2);
    assert_int_equal(answer.err.code, EBB_LIMIT_EXCEEDED);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 2);
    assert_int_equal(run->lines_n, 1);
    ebb_journal_run_free(run);
}

static void a_long_log_line_is_cut_between_two_characters(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    size_t n = EBB_JOURNAL_LOG_BYTES_MAX + 10;
    char *text = malloc(n + 1), *fields = rig_json(n);
    ebb_journal_line line = { .message = text };
    rig_answer answer = { 0 };

    memset(text, 'a', n);
    text[n] = '\0';
    memcpy(text + EBB_JOURNAL_LOG_BYTES_MAX - 2, "\xf0\x9f\x98\x80", 4);
    ebb_journal_add_line(rig->journal, &run->claim, &line, rig_done(&answer),
                         &rig->err);
    rig_await(rig, &answer, 1);
    line.message = "a\xff";
    assert_int_equal(ebb_journal_add_line(rig->journal, &run->claim, &line,
                                          rig_done(&answer), &rig->err),
                     -1);
    assert_int_equal(rig->err.code, EBB_NOT_UTF8);
    line = (ebb_journal_line){ .message = "m",
                               .fields = fields,
                               .fields_bytes = n };
    assert_int_equal(ebb_journal_add_line(rig->journal, &run->claim, &line,
                                          rig_done(&answer), &rig->err),
                     -1);
    assert_int_equal(rig->err.code, EBB_LIMIT_EXCEEDED);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->lines_n, 1);
    assert_int_equal(strlen(run->lines[0].message),
                     EBB_JOURNAL_LOG_BYTES_MAX - 2);
    ebb_journal_run_free(run);
    free(text);
    free(fields);
}

/* Nobody answers: the thread is held by a lock that this test has. */
static void the_queue_has_an_end(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    ebb_journal_line line = { .message = "m" };
    rig_answer answer = { 0 };
    sqlite3 *db;
    int posted = 0;

    assert_int_equal(sqlite3_open(rig->path, &db), SQLITE_OK);
    sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    while (posted < 2 * EBB_JOURNAL_JOBS_MAX &&
           ebb_journal_add_line(rig->journal, &run->claim, &line,
                                rig_done(&answer), &rig->err) == 0)
        posted++;
    assert_int_equal(rig->err.code, EBB_LIMIT_EXCEEDED);
    assert_in_range(posted, EBB_JOURNAL_JOBS_MAX, EBB_JOURNAL_JOBS_MAX + 600);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(db);
    rig_await(rig, &answer, posted);
    assert_int_equal(answer.err.code, EBB_OK);
    ebb_journal_run_free(run);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(ids_are_short_and_clean),
        T(paths_and_names_have_their_limits),
        T(json_has_its_limit_before_anything_is_written),
        T(a_run_has_room_for_so_much),
        T(a_long_log_line_is_cut_between_two_characters),
        T(the_queue_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
