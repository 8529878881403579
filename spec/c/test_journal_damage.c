/* SPDX-License-Identifier: MIT */

/* Files that are not as they should be: C21 of the cases, and openings. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/journal_child.h"
#include "support/journal_edit.h"

/* The rig is closed; opening it is refused with these words. */
static void refused(journal_rig *rig, const char *words)
{
    rig_open(rig);
    assert_null(rig->journal);
    assert_int_equal(rig->err.code, EBB_JOURNAL);
    if (strstr(rig->err.msg, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", rig->err.msg, words);
    ebb_loop_free(rig->loop);
    rig->loop = NULL;
}

/* Two runs, "a" and "b", of three steps, one attempt and a log line each. */
static void fill(journal_rig *rig)
{
    ebb_journal_line line = { .path = "1", .message = "hello" };
    ebb_journal_step attempt = { .path = "3",
                                 .attempts = 1,
                                 .attempt_error = "{}",
                                 .attempt_error_bytes = 2 };
    const char *const ids[] = { "a", "b" };

    for (int i = 0; i < 2; i++) {
        ebb_journal_run *run = rig_claim(rig, ids[i]);
        rig_answer answer = { 0 };

        assert_int_equal(rig_outcome(rig, &run->claim, "1", "11"), EBB_OK);
        assert_int_equal(rig_outcome(rig, &run->claim, "2", "22"), EBB_OK);
        assert_int_equal(rig_intent(rig, &run->claim, "3"), EBB_OK);
        assert_int_equal(
            rig_put(rig, ebb_journal_add_attempt, &run->claim, attempt),
            EBB_OK);
        ebb_journal_add_line(rig->journal, &run->claim, &line,
                             rig_done(&answer), &rig->err);
        rig_await(rig, &answer, 1);
        assert_int_equal(rig_release(rig, &run->claim), EBB_OK);
        ebb_journal_run_free(run);
    }
}

typedef struct problems {
    int n;
    char run[64], what[256]; /* of the last */
} problems;

static void note(void *context, const char *run, const char *what)
{
    problems *p = context;

    p->n++;
    snprintf(p->run, sizeof p->run, "%s", run);
    snprintf(p->what, sizeof p->what, "%s", what);
}

static void a_whole_journal_has_no_problems(void **state)
{
    journal_rig *rig = *state;
    problems p = { 0 };

    fill(rig);
    assert_int_equal(ebb_journal_check(rig->journal, note, &p, &rig->err), 0);
    assert_int_equal(p.n, 0);
}

/* After sql, "b" is refused by name, and "a" goes on. */
static void damages(journal_rig *rig, const char *sql, const char *where)
{
    ebb_journal_run *run;
    problems p = { 0 };

    rig_close(rig);
    edit(rig->path, sql);
    rig_open(rig);
    assert_non_null(rig->journal);
    run = ebb_journal_get_run(rig->journal, "b", &rig->err);
    assert_null(run);
    assert_int_equal(rig->err.code, EBB_JOURNAL);
    assert_non_null(strstr(rig->err.msg, "run b"));
    assert_non_null(strstr(rig->err.msg, where));
    assert_true(ebb_journal_check(rig->journal, note, &p, &rig->err) > 0);
    assert_string_equal(p.run, "b");
    run = rig_claim(rig, "a");
    assert_non_null(run);
    assert_int_equal(rig_outcome(rig, &run->claim, "3", "33"), EBB_OK);
    ebb_journal_run_free(run);
}

#define OF_B " run = (SELECT key FROM run WHERE id = 'b')"

static void a_step_with_flipped_bits_stops_its_run_alone(void **state)
{
    static const char *const flips[] = {
        "UPDATE step SET outcome = '23' WHERE path = '2' AND" OF_B,
        "UPDATE step SET failed = 1 WHERE path = '2' AND" OF_B,
        "UPDATE step SET seq = 9 WHERE path = '2' AND" OF_B,
        "UPDATE step SET ended_ms = ended_ms + 1 WHERE path = '2' AND" OF_B,
        "UPDATE step SET name = 'e2b.runCodf' WHERE path = '2' AND" OF_B,
        "UPDATE step SET class = 'read' WHERE path = '2' AND" OF_B,
        "UPDATE step SET digest = 'd3' WHERE path = '2' AND" OF_B,
        "UPDATE step SET wake_ms = 8 WHERE path = '2' AND" OF_B,
        "UPDATE step SET input = '{\"code\":\"3\"}' WHERE path = '2' AND" OF_B,
        "UPDATE step SET outcome = NULL WHERE path = '2' AND" OF_B,
    };
    journal_rig *rig = *state;

    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        rig_close(rig);
        unlink(rig->path);
        rig_open(rig);
        fill(rig);
        damages(rig, flips[i], "step 2");
    }
}

static void a_damaged_step_is_not_replayed(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    damages(rig, "UPDATE step SET outcome = '23' WHERE path = '2' AND" OF_B,
            "step 2");
    assert_null(rig_claim(rig, "b"));
    assert_int_equal(rig->err.code, EBB_JOURNAL);
    assert_non_null(strstr(rig->err.msg, "run b: step 2 is damaged"));
    /* It was given back: the next one hears the same, not "owned". */
    assert_null(rig_claim(rig, "b"));
    assert_int_equal(rig->err.code, EBB_JOURNAL);
}

static void a_damaged_run_row_is_named(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    damages(rig, "UPDATE run SET seed = seed + 1 WHERE id = 'b'", "own row");
}

static void a_run_whose_state_flipped_is_named(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    damages(rig, "UPDATE run SET state = 1 WHERE id = 'b'", "own row");
}

static void damaged_attempts_and_lines_are_named(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    damages(rig,
            "UPDATE attempt SET next_ms = 7 WHERE step IN"
            " (SELECT key FROM step WHERE" OF_B ")",
            "attempt of step 3");
    rig_close(rig);
    unlink(rig->path);
    rig_open(rig);
    fill(rig);
    damages(rig, "UPDATE log SET message = 'hullo' WHERE" OF_B,
            "log line of step 1");
}

static void a_large_outcome_with_flipped_bits_is_not_given(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    char *json = rig_json(100000);
    problems p = { 0 };

    assert_int_equal(rig_outcome(rig, &run->claim, "1", json), EBB_OK);
    rig_release(rig, &run->claim);
    ebb_journal_run_free(run);
    rig_close(rig);
    edit(rig->path, "UPDATE large SET json = replace(json, 'aaaa\"', "
                    "'aaab\"')");
    rig_open(rig);
    assert_null(ebb_journal_get_run(rig->journal, "r", &rig->err));
    assert_non_null(strstr(rig->err.msg, "step 1 is damaged"));
    assert_int_equal(ebb_journal_check(rig->journal, note, &p, &rig->err), 1);
    free(json);
}

static void json_that_does_not_parse_is_found_by_the_check(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    problems p = { 0 };

    assert_int_equal(rig_outcome(rig, &run->claim, "1", "{\"a\":"), EBB_OK);
    ebb_journal_run_free(run);
    assert_int_equal(ebb_journal_check(rig->journal, note, &p, &rig->err), 1);
    assert_string_equal(p.run, "r");
    assert_string_equal(p.what, "step 1: its JSON does not parse");
}

/* ---- the file ---- */

static void put_bytes(const char *path, off_t at, const char *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), (ssize_t)n);
    close(fd);
}

static void a_newer_schema_is_refused(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    rig_close(rig);
    edit(rig->path, "PRAGMA user_version = 7");
    refused(rig, "has schema 7 and this ebb knows 1; use a newer ebb");
    edit(rig->path, "PRAGMA user_version = 1");
    rig_open(rig);
    assert_non_null(rig->journal);
}

static void a_file_of_another_program_is_left_alone(void **state)
{
    journal_rig *rig = *state;
    sqlite3 *db;

    rig_close(rig);
    unlink(rig->path);
    edit(rig->path, "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
    refused(rig, "belongs to another program");
    assert_int_equal(sqlite3_open(rig->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT a FROM theirs", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_not_equal(
        sqlite3_exec(db, "SELECT id FROM run", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    unlink(rig->path);
    rig_open(rig);
}

static void what_is_no_database_is_refused(void **state)
{
    journal_rig *rig = *state;

    rig_close(rig);
    unlink(rig->path);
    put_bytes(rig->path, 0,
              "this is a text of somebody and no database at all, "
              "and it is longer than the hundred bytes of a header",
              100);
    refused(rig, "damaged or no journal");
    unlink(rig->path);
    rig_open(rig);
}

static void an_empty_file_becomes_a_journal(void **state)
{
    journal_rig *rig = *state;

    rig_close(rig);
    assert_int_equal(truncate(rig->path, 0), 0);
    rig_open(rig);
    assert_non_null(rig->journal);
    fill(rig);
}

static void a_truncated_file_is_said_to_be_damaged(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run;
    problems p = { 0 };
    struct stat st;

    fill(rig);
    rig_close(rig);
    assert_int_equal(stat(rig->path, &st), 0);
    assert_int_equal(truncate(rig->path, st.st_size / 2), 0);
    rig_open(rig);
    if (rig->journal == NULL) {
        assert_int_equal(rig->err.code, EBB_JOURNAL);
        assert_non_null(strstr(rig->err.msg, "damaged"));
    } else {
        run = rig_claim(rig, "a");
        assert_null(run);
        assert_int_equal(rig->err.code, EBB_JOURNAL);
        assert_non_null(strstr(rig->err.msg, "damaged"));
        assert_true(ebb_journal_check(rig->journal, note, &p, &rig->err) != 0);
    }
}

/* Every page in turn is overwritten: said, or harmless; never a crash. */
static void a_page_of_rubbish_never_crashes(void **state)
{
    journal_rig *rig = *state;
    char rubbish[4096];
    struct stat st;
    problems p = { 0 };

    memset(rubbish, 0xa5, sizeof rubbish);
    fill(rig);
    rig_close(rig);
    assert_int_equal(stat(rig->path, &st), 0);
    for (off_t at = 4096; at < st.st_size; at += 4096) {
        ebb_journal_run *run;

        unlink(rig->path);
        rig_open(rig);
        fill(rig);
        rig_close(rig);
        put_bytes(rig->path, at, rubbish, sizeof rubbish);
        rig_open(rig);
        if (rig->journal == NULL) {
            assert_int_equal(rig->err.code, EBB_JOURNAL);
            rig_close(rig);
            continue;
        }
        run = rig_claim(rig, "a");
        if (run == NULL)
            assert_int_equal(rig->err.code, EBB_JOURNAL);
        ebb_journal_run_free(run);
        assert_true(ebb_journal_check(rig->journal, note, &p, &rig->err) != 0);
        rig_close(rig);
    }
    rig_close(rig);
    unlink(rig->path);
    rig_open(rig);
}

/* Writes and dies, so that the file is not complete without its -wal. */
static int fill_and_die(journal_rig *rig, int out)
{
    fill(rig);
    rig_say(out);
    pause();
    return 0;
}

static void a_missing_wal_loses_what_was_in_it_and_no_more(void **state)
{
    journal_rig *rig = *state;
    char wal[160];
    ebb_journal_run *run = rig_claim(rig, "old");
    problems p = { 0 };
    rig_child child;

    rig_release(rig, &run->claim);
    ebb_journal_run_free(run);
    rig_close(rig);
    child = rig_fork(rig, fill_and_die);
    rig_await_child(&child);
    rig_kill(&child);
    snprintf(wal, sizeof wal, "%s-wal", rig->path);
    assert_int_equal(access(wal, F_OK), 0);
    unlink(wal);
    rig_open(rig);
    assert_non_null(rig->journal);
    assert_int_equal(ebb_journal_check(rig->journal, note, &p, &rig->err), 0);
    run = rig_claim(rig, "old");
    assert_non_null(run);
    ebb_journal_run_free(run);
    fill(rig);
}

/* ---- modes and places ---- */

/* As somebody else than root, whom modes do not hold. */
static int open_as_nobody(journal_rig *rig, int out)
{
    ebb_journal *journal;

    ebb_journal_close(rig->journal);
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
    journal =
        ebb_journal_open(rig->loop, ebb_clock_real(), rig->path, &rig->err);
    if (journal != NULL)
        return 2;
    return write(out, &rig->err, sizeof rig->err) == sizeof rig->err ? 0 : 3;
}

static void nobody_is_refused(journal_rig *rig, const char *words)
{
    rig_child child = rig_fork(rig, open_as_nobody);
    ebb_err err;

    assert_int_equal(read(child.in, &err, sizeof err), sizeof err);
    assert_int_equal(rig_join(&child), 0);
    assert_int_equal(err.code, EBB_JOURNAL);
    if (strstr(err.msg, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.msg, words);
}

static void a_file_that_may_not_be_written_is_refused(void **state)
{
    journal_rig *rig = *state;

    if (geteuid() != 0)
        skip();
    fill(rig);
    rig_close(rig);
    chmod(rig->folder, 0777);
    chmod(rig->path, 0444);
    nobody_is_refused(rig, "may only be read; make it writable");
    chmod(rig->path, 0400);
    nobody_is_refused(rig, "cannot be opened; see its folder and modes");
    chmod(rig->folder, 0700);
    nobody_is_refused(rig, rig->path);
    rig_open(rig);
}

static void a_folder_is_no_journal(void **state)
{
    journal_rig *rig = *state, other = { 0 };

    snprintf(other.path, sizeof other.path, "%s", rig->folder);
    refused(&other, "cannot be opened");
    snprintf(other.path, sizeof other.path, "%s/journal.db/x", rig->folder);
    refused(&other, "Not a directory");
    other.path[0] = '\0';
    refused(&other, "no path");
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_whole_journal_has_no_problems),
        T(a_step_with_flipped_bits_stops_its_run_alone),
        T(a_damaged_step_is_not_replayed),
        T(a_damaged_run_row_is_named),
        T(a_run_whose_state_flipped_is_named),
        T(damaged_attempts_and_lines_are_named),
        T(a_large_outcome_with_flipped_bits_is_not_given),
        T(json_that_does_not_parse_is_found_by_the_check),
        T(a_newer_schema_is_refused),
        T(a_file_of_another_program_is_left_alone),
        T(what_is_no_database_is_refused),
        T(an_empty_file_becomes_a_journal),
        T(a_truncated_file_is_said_to_be_damaged),
        T(a_page_of_rubbish_never_crashes),
        T(a_missing_wal_loses_what_was_in_it_and_no_more),
        T(a_file_that_may_not_be_written_is_refused),
        T(a_folder_is_no_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
