/* SPDX-License-Identifier: MIT */

/* Each allocation of the journal fails in turn: said, and nothing leaks. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_rig.h"
#include "support/starving.h"

#define LEFT_MAX 400

static void note(void *context, const char *run, const char *what)
{
    (void)context;
    (void)run;
    (void)what;
}

/* Everything once. -1 at the first thing that found no memory. */
static int do_all(journal_rig *rig)
{
    char *json = rig_json(70000);
    ebb_journal_claim claim;
    ebb_journal_run *run = rig_claim(rig, "r"), **runs;
    ebb_journal_line line = { .message = "m" };
    size_t n;
    int result = -1;

    if (run == NULL)
        goto done;
    claim = run->claim;
    ebb_journal_run_free(run);
    if (rig_intent(rig, &claim, "1") != EBB_OK ||
        rig_outcome(rig, &claim, "1", "1") != EBB_OK ||
        rig_outcome(rig, &claim, "2", json) != EBB_OK ||
        ebb_journal_add_line(rig->journal, &claim, &line,
                             (ebb_journal_done){ 0 }, &rig->err) != 0)
        goto done;
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    if (run == NULL)
        goto done;
    ebb_journal_run_free(run);
    if (ebb_journal_list(rig->journal, 10, &runs, &n, &rig->err) != 0)
        goto done;
    ebb_journal_list_free(runs, n);
    if (ebb_journal_check(rig->journal, note, NULL, &rig->err) != 0 ||
        ebb_journal_fork(rig->journal, "r", "2", "f", &rig->err) != 0)
        goto done;
    result = rig_end(rig, &claim, EBB_JOURNAL_DONE, "1") == EBB_OK &&
                     ebb_journal_del_run(rig->journal, "r", &rig->err) == 0
                 ? 0
                 : -1;
done:
    free(json);
    return result;
}

/* With a file of its own; 0 when there was memory enough. */
static int starve(journal_rig *rig, int left)
{
    starving s;
    int result = -1;

    snprintf(rig->path, sizeof rig->path, "%s/%d.db", rig->folder, left);
    starving_start(&s, 1000);
    rig->loop = ebb_loop_new(NULL, &rig->err);
    /* The loop's own queue has its room before. */
    ebb_loop_defer(rig->loop, (ebb_loop_fn *)free, NULL);
    ebb_loop_run(rig->loop, 0);
    s.left = left;
    rig->journal =
        ebb_journal_open(rig->loop, ebb_clock_real(), rig->path, &rig->err);
    if (rig->journal != NULL)
        result = do_all(rig);
    if (result != 0)
        assert_int_equal(rig->err.code, EBB_NO_MEMORY);
    rig_close(rig);
    assert_int_equal(s.blocks, 0);
    starving_stop();
    return result;
}

static void each_allocation_that_fails_is_said_and_leaks_nothing(void **state)
{
    journal_rig *rig = *state;
    int left = 0;

    rig_close(rig);
    while (left < LEFT_MAX && starve(rig, left) != 0)
        left++;
    print_message("# %d allocations failed in turn\n", left);
    assert_in_range(left, 20, LEFT_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            each_allocation_that_fails_is_said_and_leaks_nothing, rig_make,
            rig_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
