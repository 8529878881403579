/* SPDX-License-Identifier: MIT */

/* Sweeps: taking every run whose owner is gone, each once. A16 of the cases. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_child.h"
#include "support/journal_edit.h"

static void a_sweep_takes_what_is_interrupted_and_nothing_else(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run;
    const char *const ids[] = { "a", "b", "c", "d", "e" };

    for (int i = 0; i < 5; i++) {
        run = rig_claim(rig, ids[i]);
        if (i == 1)
            rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "1");
        if (i == 2)
            rig_release(rig, &run->claim);
        ebb_journal_run_free(run);
    }
    edit(rig->path,
         "UPDATE run SET owner_pid = 999999999 WHERE id IN ('a', 'e')");
    assert_int_equal(
        ebb_journal_claim_next(rig->journal, NULL, &run, &rig->err), 0);
    assert_string_equal(run->id, "a");
    assert_int_equal(run->recoveries, 1);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_OK);
    ebb_journal_run_free(run);
    ebb_journal_claim_next(rig->journal, "a", &run, &rig->err);
    assert_string_equal(run->id, "c");
    assert_int_equal(run->recoveries, 0);
    ebb_journal_run_free(run);
    ebb_journal_claim_next(rig->journal, "c", &run, &rig->err);
    assert_string_equal(run->id, "e");
    ebb_journal_run_free(run);
    assert_int_equal(ebb_journal_claim_next(rig->journal, "e", &run, &rig->err),
                     0);
    assert_null(run);
    assert_int_equal(
        ebb_journal_claim_next(rig->journal, NULL, &run, &rig->err), 0);
    assert_null(run);
}

static void a_sweep_goes_on_after_a_stuck_and_a_damaged_run(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run;
    const char *const ids[] = { "a", "b", "c" };

    for (int i = 0; i < 3; i++) {
        run = rig_claim(rig, ids[i]);
        rig_outcome(rig, &run->claim, "1", "1");
        ebb_journal_run_free(run);
    }
    edit(rig->path, "UPDATE run SET owner_pid = 999999999;"
                    "UPDATE run SET fruitless = 10 WHERE id = 'a';"
                    "UPDATE step SET outcome = '2' WHERE run ="
                    " (SELECT key FROM run WHERE id = 'b')");
    assert_int_equal(
        ebb_journal_claim_next(rig->journal, NULL, &run, &rig->err), -1);
    assert_int_equal(rig->err.code, EBB_STUCK);
    assert_string_equal(run->id, "a");
    ebb_journal_run_free(run);
    assert_int_equal(ebb_journal_claim_next(rig->journal, "a", &run, &rig->err),
                     -1);
    assert_int_equal(rig->err.code, EBB_JOURNAL);
    assert_non_null(strstr(rig->err.msg, "run b: step 1 is damaged"));
    assert_string_equal(run->id, "b");
    ebb_journal_run_free(run);
    assert_int_equal(ebb_journal_claim_next(rig->journal, "b", &run, &rig->err),
                     0);
    assert_string_equal(run->id, "c");
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "a", &rig->err);
    assert_int_equal(run->state, EBB_JOURNAL_STUCK);
    ebb_journal_run_free(run);
}

#define SWEPT    1000
#define SWEEPERS 8

/*
 * Claims what it can and writes a number for each, then -1; and lives on, for
 * what it claimed would else be free again.
 */
static int sweep(journal_rig *rig, int out)
{
    ebb_journal_run *run = NULL, *last = NULL;
    int n;

    while (ebb_journal_claim_next(rig->journal, last ? last->id : NULL, &run,
                                  &rig->err) == 0 &&
           run != NULL) {
        n = atoi(run->id + 1);
        if (write(out, &n, sizeof n) != sizeof n)
            return 1;
        ebb_journal_run_free(last);
        last = run;
    }
    n = -1;
    if (rig->err.code != EBB_OK || write(out, &n, sizeof n) != sizeof n)
        return 2;
    pause();
    return 0;
}

static void eight_processes_claim_each_of_a_thousand_runs_once(void **state)
{
    journal_rig *rig = *state;
    rig_child children[SWEEPERS];
    int claimed[SWEPT] = { 0 }, n;
    char id[16];

    for (int i = 0; i < SWEPT; i++) {
        snprintf(id, sizeof id, "n%03d", i);
        ebb_journal_run_free(rig_claim(rig, id));
    }
    edit(rig->path, "UPDATE run SET owner_pid = 999999999");
    rig_close(rig);
    for (int i = 0; i < SWEEPERS; i++)
        children[i] = rig_fork(rig, sweep);
    for (int i = 0; i < SWEEPERS; i++) {
        while (read(children[i].in, &n, sizeof n) == sizeof n && n >= 0)
            claimed[n]++;
        assert_int_equal(n, -1);
    }
    for (int i = 0; i < SWEEPERS; i++)
        rig_kill(&children[i]);
    for (int i = 0; i < SWEPT; i++)
        assert_int_equal(claimed[i], 1);
    rig_open(rig);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_sweep_takes_what_is_interrupted_and_nothing_else),
        T(a_sweep_goes_on_after_a_stuck_and_a_damaged_run),
        T(eight_processes_claim_each_of_a_thousand_runs_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
