/* SPDX-License-Identifier: MIT */

/* What people do with the journal: list, remove (A14), fork. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_child.h"
#include "support/journal_edit.h"

/* Rows of a table, seen from outside. */
static int rows(journal_rig *rig, const char *table)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char sql[64];
    int n;

    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    assert_int_equal(sqlite3_open(rig->path, &db), SQLITE_OK);
    sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    n = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return n;
}

static void add_line(journal_rig *rig, const ebb_journal_claim *claim)
{
    ebb_journal_line line = { .path = "1", .message = "hello" };
    rig_answer answer = { 0 };

    ebb_journal_add_line(rig->journal, claim, &line, rig_done(&answer),
                         &rig->err);
    rig_await(rig, &answer, 1);
}

/* Steps 1 to 3, 4 with two branches, 5 begun; the second is large. */
static ebb_journal_run *rich_run(journal_rig *rig, const char *id)
{
    const char *const paths[] = { "1", "2", "3", "4.1/1", "4.2/1", "4" };
    ebb_journal_claim_config config = {
        .id = id, .script = "s.lua", .script_sha256 = "sum", .args = "[1]"
    };
    ebb_journal_run *run =
        ebb_journal_claim_run(rig->journal, &config, &rig->err);
    ebb_journal_step attempt = { .path = "2", .attempts = 1 };
    char *json = rig_json(70000);

    for (int i = 0; i < 6; i++) {
        assert_int_equal(rig_intent(rig, &run->claim, paths[i]), EBB_OK);
        if (i == 1)
            rig_put(rig, ebb_journal_add_attempt, &run->claim, attempt);
        assert_int_equal(rig_outcome(rig, &run->claim, paths[i],
                                     i == 1               ? json
                                     : paths[i][0] == '4' ? "44"
                                                          : paths[i]),
                         EBB_OK);
    }
    assert_int_equal(rig_intent(rig, &run->claim, "5"), EBB_OK);
    add_line(rig, &run->claim);
    free(json);
    return run;
}

/* ---- list ---- */

static void a_list_has_the_newest_first_and_as_many_as_asked(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run, **runs;
    size_t n;
    const char *const ids[] = { "a", "b", "c" };

    for (int i = 0; i < 3; i++) {
        run = rig_claim(rig, ids[i]);
        if (i == 1)
            rig_end(rig, &run->claim, EBB_JOURNAL_FAILED, "{}");
        ebb_journal_run_free(run);
    }
    assert_int_equal(ebb_journal_list(rig->journal, 100, &runs, &n, &rig->err),
                     0);
    assert_int_equal(n, 3);
    assert_string_equal(runs[0]->id, "c");
    assert_int_equal(runs[1]->state, EBB_JOURNAL_FAILED);
    assert_string_equal(ebb_journal_state_name(runs[1]->state), "failed");
    assert_int_equal(runs[1]->owner_pid, 0);
    assert_true(runs[2]->owner_alive);
    assert_string_equal(runs[2]->script, "s.lua");
    ebb_journal_list_free(runs, n);
    ebb_journal_list(rig->journal, 2, &runs, &n, &rig->err);
    assert_int_equal(n, 2);
    ebb_journal_list_free(runs, n);
}

static void a_list_has_what_is_active_before_what_has_ended(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run, **runs;
    const char *const ids[] = { "active", "b", "c" };
    size_t n;

    for (int i = 0; i < 3; i++) {
        run = rig_claim(rig, ids[i]);
        if (i > 0)
            rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "1");
        ebb_journal_run_free(run);
    }
    ebb_journal_list(rig->journal, 2, &runs, &n, &rig->err);
    assert_int_equal(n, 2);
    assert_string_equal(runs[0]->id, "c");
    assert_string_equal(runs[1]->id, "active");
    ebb_journal_list_free(runs, n);
}

static void an_empty_journal_has_an_empty_list(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run **runs;
    size_t n = 1;

    assert_int_equal(ebb_journal_list(rig->journal, 100, &runs, &n, &rig->err),
                     0);
    assert_int_equal(n, 0);
    ebb_journal_list_free(runs, n);
    assert_null(ebb_journal_get_run(rig->journal, "no", &rig->err));
    assert_int_equal(rig->err.code, EBB_NOT_FOUND);
}

/* ---- removing ---- */

static void a_removed_run_leaves_nothing(void **state)
{
    static const char *const tables[] = { "step", "large", "attempt", "log" };
    journal_rig *rig = *state;
    ebb_journal_run *run = rich_run(rig, "r");

    assert_int_equal(ebb_journal_del_run(rig->journal, "r", &rig->err), -1);
    assert_int_equal(rig->err.code, EBB_CONFLICT);
    assert_non_null(strstr(rig->err.msg, "ebb runs cancel r"));
    for (int i = 0; i < 4; i++)
        assert_true(rows(rig, tables[i]) > 0);
    rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "1");
    assert_int_equal(ebb_journal_del_run(rig->journal, "r", &rig->err), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rows(rig, tables[i]), 0);
    assert_int_equal(ebb_journal_del_run(rig->journal, "r", &rig->err), -1);
    assert_int_equal(rig->err.code, EBB_NOT_FOUND);
    assert_int_equal(rig_outcome(rig, &run->claim, "9", "1"),
                     EBB_LOST_OWNERSHIP);
    assert_non_null(strstr(rig->err.msg, "removed from the journal"));
    ebb_journal_run_free(run);
}

/* Whatever of an old run is left, a new one of its id is another run. */
static void an_id_used_again_is_a_run_of_its_own(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *old = rich_run(rig, "r"), *run;

    rig_end(rig, &old->claim, EBB_JOURNAL_DONE, "1");
    /* As if a removal had stopped after the run's row. */
    edit(rig->path,
         "PRAGMA foreign_keys = OFF; DELETE FROM run WHERE id = 'r'");
    assert_true(rows(rig, "step") > 0);
    run = rig_claim(rig, "r");
    assert_int_not_equal(run->claim.run, old->claim.run);
    assert_int_equal(run->steps_n, 0);
    assert_true(run->seed != old->seed);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "\"new\""), EBB_OK);
    ebb_journal_run_free(run);
    ebb_journal_run_free(old);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 1);
    assert_string_equal(run->steps[0].outcome, "\"new\"");
    ebb_journal_run_free(run);
}

/* Removes "r", and again and again, until it is killed. */
static int remove_it(journal_rig *rig, int out)
{
    rig_say(out);
    while (ebb_journal_del_run(rig->journal, "r", &rig->err) != 0) {
    }
    pause();
    return 0;
}

static void a_removal_that_is_killed_is_whole_or_not_begun_a14(void **state)
{
    journal_rig *rig = *state;

    for (int i = 0; i < 8; i++) {
        rig_child child;
        ebb_journal_run *run = rich_run(rig, "r");

        rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "1");
        ebb_journal_run_free(run);
        rig_close(rig);
        child = rig_fork(rig, remove_it);
        rig_await_child(&child);
        usleep((useconds_t)(60 * i));
        rig_kill(&child);
        rig_open(rig);
        run = ebb_journal_get_run(rig->journal, "r", &rig->err);
        if (run == NULL) {
            assert_int_equal(rows(rig, "step"), 0);
            continue;
        }
        assert_int_equal(run->steps_n, 7);
        assert_int_equal(run->lines_n, 1);
        ebb_journal_run_free(run);
        ebb_journal_del_run(rig->journal, "r", &rig->err);
    }
}

/* ---- fork ---- */

static void forks_to(journal_rig *rig, const char *path, const char *wanted)
{
    char got[64] = "";
    ebb_journal_run *run, *old;

    if (ebb_journal_fork(rig->journal, "r", path, "f", &rig->err) != 0)
        fail_msg("%s", rig->err.msg);
    run = rig_claim(rig, "f");
    old = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_string_equal(run->forked_from, "r");
    assert_string_equal(run->args, "[1]");
    assert_true(run->seed == old->seed);
    assert_string_equal(run->backend, old->backend);
    assert_int_equal(run->recoveries, 0);
    assert_int_equal(run->steps_n, run->steps_count);
    for (size_t i = 0; i < run->steps_n; i++) {
        strcat(got, run->steps[i].path);
        strcat(got, " ");
        assert_int_equal(run->steps[i].seq, i + 1);
    }
    assert_string_equal(got, wanted);
    assert_int_equal(rig_outcome(rig, &run->claim, path, "\"new\""), EBB_OK);
    rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "1");
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "f", &rig->err);
    assert_non_null(run);
    if (run->steps_n > 2) {
        assert_int_equal(strlen(run->steps[1].outcome), 70000);
        assert_int_equal(run->attempts_n, 1);
    }
    ebb_journal_run_free(run);
    ebb_journal_run_free(old);
    assert_int_equal(ebb_journal_del_run(rig->journal, "f", &rig->err), 0);
}

static void a_fork_has_what_was_before_its_step(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rich_run(rig, "r");
    rig_answer answer = { 0 };

    ebb_journal_set_backend(rig->journal, &run->claim, "local",
                            rig_done(&answer), &rig->err);
    rig_await(rig, &answer, 1);
    ebb_journal_run_free(run);
    forks_to(rig, "1", "");
    forks_to(rig, "3", "1 2 ");
    forks_to(rig, "4.2/1", "1 2 3 4.1/1 ");
    /* A combinator goes with its branches. */
    forks_to(rig, "4", "1 2 3 ");
    /* A step without an outcome comes after all that have one. */
    forks_to(rig, "5", "1 2 3 4.1/1 4.2/1 4 ");
}

static void a_fork_of_nothing_is_refused(void **state)
{
    journal_rig *rig = *state;
    char id[EBB_JOURNAL_ID_BYTES_MAX + 2];

    ebb_journal_run_free(rich_run(rig, "r"));
    assert_int_equal(ebb_journal_fork(rig->journal, "x", "1", "f", &rig->err),
                     -1);
    assert_int_equal(rig->err.code, EBB_NOT_FOUND);
    assert_int_equal(ebb_journal_fork(rig->journal, "r", "9", "f", &rig->err),
                     -1);
    assert_int_equal(rig->err.code, EBB_NOT_FOUND);
    assert_non_null(strstr(rig->err.msg, "run r has no step 9"));
    assert_null(ebb_journal_get_run(rig->journal, "f", &rig->err));
    assert_int_equal(ebb_journal_fork(rig->journal, "r", "1", "r", &rig->err),
                     -1);
    assert_int_equal(rig->err.code, EBB_CONFLICT);
    memset(id, 'x', sizeof id);
    id[sizeof id - 1] = '\0';
    assert_int_equal(ebb_journal_fork(rig->journal, "r", "1", id, &rig->err),
                     -1);
    assert_int_equal(rig->err.code, EBB_INVALID_INPUT);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_list_has_the_newest_first_and_as_many_as_asked),
        T(a_list_has_what_is_active_before_what_has_ended),
        T(an_empty_journal_has_an_empty_list),
        T(a_removed_run_leaves_nothing),
        T(an_id_used_again_is_a_run_of_its_own),
        T(a_removal_that_is_killed_is_whole_or_not_begun_a14),
        T(a_fork_has_what_was_before_its_step),
        T(a_fork_of_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
