/* SPDX-License-Identifier: MIT */

/* Files that are no journal, or not a whole one, or not for us. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/journal_child.h"
#include "support/journal_edit.h"
#include "support/journal_filled.h"

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

/* The rows of schema 1 as they were first written; spec/run.sh runs here. */
static void the_first_schema_opens(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run;
    problems p = { 0 };
    ebb_buf sql;

    rig_close(rig);
    unlink(rig->path);
    ebb_buf_init(&sql, 0);
    assert_int_equal(ebb_fs_read("spec/fixtures/journal/schema-1.sql", 1000000,
                                 &sql, &rig->err),
                     0);
    edit(rig->path, sql.bytes);
    ebb_buf_clear(&sql);
    rig_open(rig);
    assert_non_null(rig->journal);
    assert_int_equal(ebb_journal_check(rig->journal, note, &p, &rig->err), 0);
    run = ebb_journal_get_run(rig->journal, "done é", &rig->err);
    assert_int_equal(run->state, EBB_JOURNAL_DONE);
    assert_null(run->backend);
    assert_string_equal(run->outcome, "{\"rows\":2}");
    assert_string_equal(run->args, "[\"x\",\"y\"]");
    assert_true(run->seed == (uint64_t)INT64_C(-3388098029516550106));
    assert_int_equal(run->steps_n, 2);
    assert_string_equal(run->steps[0].outcome, "{\"text\":\"é\"}");
    assert_true(run->steps[1].failed);
    assert_string_equal(run->attempts[0].error, "{\"code\":\"network\"}");
    assert_string_equal(run->lines[0].message, "hello");
    ebb_journal_run_free(run);
    run = rig_claim(rig, "interrupted");
    assert_non_null(run);
    assert_int_equal(run->recoveries, 1);
    assert_string_equal(run->steps[0].path, "4.2/1");
    assert_true(run->steps[1].wake_ms == 1900000000000);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "null"), EBB_OK);
    ebb_journal_run_free(run);
}

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
    refused(rig, "has schema 7 and this ebb knows 2; use a newer ebb");
    edit(rig->path, "PRAGMA user_version = 2");
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
        T(the_first_schema_opens),
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
