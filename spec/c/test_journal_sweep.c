/* SPDX-License-Identifier: MIT */

/* Sweeps: taking every run whose owner is gone, each once. A16 of the cases. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_child.h"
#include "support/journal_edit.h"

/* As a sweep claims a run; NULL with the error in the rig. */
static ebb_journal_run *take(journal_rig *rig, const char *id)
{
    ebb_journal_claim_config config = { .id = id, .interrupted = true };

    rig->err = (ebb_err){ 0 };
    return ebb_journal_claim_run(rig->journal, &config, &rig->err);
}

static void a_sweep_takes_what_is_interrupted_and_nothing_else(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run;
    const char *const ids[] = { "dead", "done", "released", "mine" };

    for (int i = 0; i < 4; i++) {
        run = rig_claim(rig, ids[i]);
        if (i == 1)
            rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "1");
        if (i == 2)
            rig_release(rig, &run->claim);
        ebb_journal_run_free(run);
    }
    edit(rig->path, "UPDATE run SET owner_pid = 999999999 WHERE id = 'dead'");
    run = take(rig, "dead");
    assert_int_equal(run->recoveries, 1);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_OK);
    ebb_journal_run_free(run);
    run = take(rig, "released");
    assert_int_equal(run->recoveries, 0);
    ebb_journal_run_free(run);
    assert_null(take(rig, "done"));
    assert_int_equal(rig->err.code, EBB_CONFLICT);
    assert_null(take(rig, "mine"));
    assert_int_equal(rig->err.code, EBB_OWNED);
    assert_null(take(rig, "dead"));
    assert_int_equal(rig->err.code, EBB_OWNED);
}

static void a_sweep_never_begins_a_run_that_is_gone(void **state)
{
    journal_rig *rig = *state;

    assert_null(take(rig, "gone"));
    assert_int_equal(rig->err.code, EBB_NOT_FOUND);
    assert_null(ebb_journal_get_run(rig->journal, "gone", &rig->err));
}

static void a_sweep_does_not_free_a_run_that_is_stuck(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "a");

    ebb_journal_run_free(run);
    edit(rig->path, "UPDATE run SET owner_pid = 999999999, fruitless = 10");
    assert_null(take(rig, "a"));
    assert_int_equal(rig->err.code, EBB_STUCK);
    run = ebb_journal_get_run(rig->journal, "a", &rig->err);
    assert_int_equal(run->state, EBB_JOURNAL_STUCK);
    ebb_journal_run_free(run);
}

#define SWEPT    1000
#define SWEEPERS 8

/* Claims this one or finds it taken: 1, 0, or -1. */
static int take_one(journal_rig *rig, const char *id)
{
    ebb_journal_run *run = take(rig, id);

    if (run == NULL)
        return rig->err.code == EBB_OWNED ? 0 : -1;
    ebb_journal_run_free(run);
    return 1;
}

/*
 * Claims what it can and writes a number for each, then -1; and lives on, for
 * what it claimed would else be free again.
 */
static int sweep(journal_rig *rig, int out)
{
    ebb_journal_run **runs;
    int end = -1, number, taken;
    size_t n;

    if (ebb_journal_list(rig->journal, SWEPT, &runs, &n, &rig->err) != 0)
        return 1;
    for (size_t i = 0; i < n; i++) {
        taken = take_one(rig, runs[i]->id);
        number = atoi(runs[i]->id + 1);
        if (taken < 0 || (taken > 0 && write(out, &number, sizeof number) !=
                                           sizeof number))
            return 2;
    }
    ebb_journal_list_free(runs, n);
    if (write(out, &end, sizeof end) != sizeof end)
        return 3;
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
        T(a_sweep_never_begins_a_run_that_is_gone),
        T(a_sweep_does_not_free_a_run_that_is_stuck),
        T(eight_processes_claim_each_of_a_thousand_runs_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
