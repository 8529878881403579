/* SPDX-License-Identifier: MIT */

/* Who owns a run: A16 and C21 of the cases, fences, recoveries, cancelling. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_child.h"
#include "support/journal_edit.h"

static ebb_journal_run *claim_as(journal_rig *rig, bool resume, bool take_over)
{
    ebb_journal_claim_config config = { .id = "r",
                                        .resume = resume,
                                        .take_over = take_over };

    return ebb_journal_claim_run(rig->journal, &config, &rig->err);
}

static void a_living_owner_is_named(void **state)
{
    journal_rig *rig = *state;
    rig_child child = rig_holder(rig);
    char words[64];

    assert_null(rig_claim(rig, "r"));
    assert_int_equal(rig->err.code, EBB_OWNED);
    snprintf(words, sizeof words, "process %d", (int)child.pid);
    assert_non_null(strstr(rig->err.msg, words));
    rig_kill(&child);
}

static void this_process_is_a_living_owner_too(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");

    assert_null(rig_claim(rig, "r"));
    assert_int_equal(rig->err.code, EBB_OWNED);
    ebb_journal_run_free(run);
}

static void a_dead_owners_run_is_taken_at_once(void **state)
{
    journal_rig *rig = *state;
    rig_child child = rig_holder(rig);
    ebb_journal_run *run;

    rig_kill(&child);
    run = rig_claim(rig, "r");
    assert_non_null(run);
    assert_int_equal(run->recoveries, 1);
    assert_int_equal(run->claim.fence, 2);
    assert_int_equal(run->owner_pid, getpid());
    ebb_journal_run_free(run);
}

static void a_zombie_is_dead(void **state)
{
    journal_rig *rig = *state;
    rig_child child = rig_holder(rig);
    ebb_journal_run *run;
    siginfo_t ignored;

    kill(child.pid, SIGKILL);
    waitid(P_PID, (id_t)child.pid, &ignored, WEXITED | WNOWAIT);
    run = rig_claim(rig, "r");
    assert_non_null(run);
    ebb_journal_run_free(run);
    rig_join(&child);
}

static void a_stopped_owner_is_alive(void **state)
{
    journal_rig *rig = *state;
    rig_child child = rig_holder(rig);

    kill(child.pid, SIGSTOP);
    assert_null(rig_claim(rig, "r"));
    assert_int_equal(rig->err.code, EBB_OWNED);
    rig_kill(&child);
}

static void a_pid_used_again_is_not_the_owner(void **state)
{
    journal_rig *rig = *state;
    rig_child child = rig_holder(rig);
    ebb_journal_run *run;

    edit(rig->path, "UPDATE run SET owner_start = owner_start - 1");
    run = rig_claim(rig, "r");
    assert_non_null(run);
    assert_int_equal(run->recoveries, 1);
    ebb_journal_run_free(run);
    edit(rig->path, "UPDATE run SET owner_boot = 'another boot'");
    run = rig_claim(rig, "r");
    assert_non_null(run);
    assert_int_equal(run->recoveries, 2);
    ebb_journal_run_free(run);
    rig_kill(&child);
}

static void giving_up_a_run_is_no_recovery(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    ebb_journal_claim old = run->claim;

    assert_int_equal(rig_release(rig, &run->claim), EBB_OK);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->owner_pid, 0);
    assert_false(run->owner_alive);
    ebb_journal_run_free(run);
    assert_int_equal(rig_outcome(rig, &old, "1", "1"), EBB_LOST_OWNERSHIP);
    run = rig_claim(rig, "r");
    assert_int_equal(run->recoveries, 0);
    ebb_journal_run_free(run);
}

static void a_stale_owner_writes_nothing(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *old = rig_claim(rig, "r"), *run;
    const ebb_journal_claim *stale = &old->claim;
    const char *const paths[] = { "1" };
    ebb_journal_step attempt = { .path = "1", .attempts = 1 };
    ebb_journal_line line = { .message = "m" };
    rig_answer answer = { 0 };

    assert_int_equal(rig_intent(rig, stale, "1"), EBB_OK);
    run = claim_as(rig, false, true);
    assert_int_equal(run->claim.fence, old->claim.fence + 1);
    assert_int_equal(run->recoveries, 0);
    assert_int_equal(rig_intent(rig, stale, "2"), EBB_LOST_OWNERSHIP);
    assert_non_null(strstr(rig->err.msg, "run r was taken over by process"));
    assert_int_equal(rig_outcome(rig, stale, "1", "1"), EBB_LOST_OWNERSHIP);
    assert_int_equal(rig_put(rig, ebb_journal_add_attempt, stale, attempt),
                     EBB_LOST_OWNERSHIP);
    assert_int_equal(rig_end(rig, stale, EBB_JOURNAL_DONE, "1"),
                     EBB_LOST_OWNERSHIP);
    assert_int_equal(rig_release(rig, stale), EBB_LOST_OWNERSHIP);
    assert_int_equal(rig_poll(rig, stale), EBB_LOST_OWNERSHIP);
    ebb_journal_add_line(rig->journal, stale, &line, rig_done(&answer),
                         &rig->err);
    rig_await(rig, &answer, 1);
    assert_int_equal(answer.err.code, EBB_LOST_OWNERSHIP);
    ebb_journal_set_raw_order(rig->journal, stale, rig_done(&answer),
                              &rig->err);
    rig_await(rig, &answer, 2);
    assert_int_equal(answer.err.code, EBB_LOST_OWNERSHIP);
    ebb_journal_del_outcomes(rig->journal, stale, paths, 1, rig_done(&answer),
                             &rig->err);
    rig_await(rig, &answer, 3);
    assert_int_equal(answer.err.code, EBB_LOST_OWNERSHIP);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 1);
    assert_int_equal(run->steps[0].seq, 0);
    assert_int_equal(run->attempts_n + run->lines_n, 0);
    assert_int_equal(run->state, EBB_JOURNAL_ACTIVE);
    ebb_journal_run_free(run);
    ebb_journal_run_free(old);
}

/* Says that it owns "r"; after it was stopped, writes and tells the code. */
static int write_later(journal_rig *rig, int out)
{
    ebb_journal_run *run = rig_claim(rig, "r");

    rig_say(out);
    raise(SIGSTOP);
    return rig_outcome(rig, &run->claim, "1", "\"stale\"") == EBB_LOST_OWNERSHIP
               ? 42
               : 1;
}

static void a_stopped_owner_that_goes_on_has_lost_it(void **state)
{
    journal_rig *rig = *state;
    rig_child child;
    ebb_journal_run *run;

    rig_close(rig);
    child = rig_fork(rig, write_later);
    rig_await_child(&child);
    assert_int_equal(waitpid(child.pid, NULL, WUNTRACED), child.pid);
    rig_open(rig);
    run = claim_as(rig, false, true);
    assert_non_null(run);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "\"ours\""), EBB_OK);
    kill(child.pid, SIGCONT);
    assert_int_equal(rig_join(&child), 42);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_string_equal(run->steps[0].outcome, "\"ours\"");
    ebb_journal_run_free(run);
}

/* One recovery more, from an owner that is gone. */
static ebb_journal_run *recover(journal_rig *rig)
{
    edit(rig->path, "UPDATE run SET owner_start = owner_start - 1");
    return rig_claim(rig, "r");
}

static void ten_recoveries_without_a_result_are_the_most(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");

    for (int i = 1; i <= EBB_JOURNAL_RECOVERIES_MAX; i++) {
        ebb_journal_run_free(run);
        run = recover(rig);
        assert_non_null(run);
        assert_int_equal(run->recoveries, i);
    }
    ebb_journal_run_free(run);
    for (int i = 0; i < 2; i++) {
        assert_null(i == 0 ? recover(rig) : rig_claim(rig, "r"));
        assert_int_equal(rig->err.code, EBB_STUCK);
        assert_non_null(strstr(rig->err.msg, "ebb runs resume r"));
    }
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->state, EBB_JOURNAL_STUCK);
    assert_non_null(strstr(run->outcome, "\"stuck\""));
    ebb_journal_run_free(run);
    run = claim_as(rig, true, false);
    assert_non_null(run);
    assert_int_equal(run->state, EBB_JOURNAL_ACTIVE);
    ebb_journal_run_free(run);
    run = recover(rig);
    assert_non_null(run);
    ebb_journal_run_free(run);
}

static void a_run_that_gets_on_is_not_stuck(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    char path[16];

    for (int i = 1; i <= 30; i++) {
        if (i % 10 == 0) {
            snprintf(path, sizeof path, "%d", i);
            assert_int_equal(rig_outcome(rig, &run->claim, path, "1"), EBB_OK);
        }
        ebb_journal_run_free(run);
        run = recover(rig);
        assert_non_null(run);
        assert_int_equal(run->recoveries, i);
    }
    ebb_journal_run_free(run);
}

/* ---- cancelling ---- */

static void an_owner_that_is_asked_to_cancel_hears_of_it(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    bool asked = false;

    assert_int_equal(rig_poll(rig, &run->claim), EBB_OK);
    assert_int_equal(
        ebb_journal_cancel(rig->journal, "r", "{}", &asked, &rig->err), 0);
    assert_true(asked);
    assert_int_equal(rig_poll(rig, &run->claim), EBB_CANCELLED);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_OK);
    assert_int_equal(
        rig_end(rig, &run->claim, EBB_JOURNAL_CANCELLED, "{\"a\":1}"), EBB_OK);
    assert_int_equal(
        ebb_journal_cancel(rig->journal, "r", "{}", &asked, &rig->err), -1);
    assert_int_equal(rig->err.code, EBB_CONFLICT);
    ebb_journal_run_free(run);
}

static void an_interrupted_run_is_cancelled_at_once(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    bool asked = true;

    edit(rig->path, "UPDATE run SET owner_start = owner_start - 1");
    assert_int_equal(
        ebb_journal_cancel(rig->journal, "r", "{\"b\":2}", &asked, &rig->err),
        0);
    assert_false(asked);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"),
                     EBB_LOST_OWNERSHIP);
    ebb_journal_run_free(run);
    run = rig_claim(rig, "r");
    assert_int_equal(run->state, EBB_JOURNAL_CANCELLED);
    assert_string_equal(run->outcome, "{\"b\":2}");
    assert_int_equal(run->claim.run, 0);
    ebb_journal_run_free(run);
    assert_int_equal(
        ebb_journal_cancel(rig->journal, "no", "{}", &asked, &rig->err), -1);
    assert_int_equal(rig->err.code, EBB_NOT_FOUND);
}

static void a_request_to_cancel_outlives_the_owner(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    bool asked;

    ebb_journal_cancel(rig->journal, "r", "{}", &asked, &rig->err);
    ebb_journal_run_free(run);
    run = recover(rig);
    assert_true(run->cancel_asked);
    assert_int_equal(rig_poll(rig, &run->claim), EBB_CANCELLED);
    rig_end(rig, &run->claim, EBB_JOURNAL_CANCELLED, "{}");
    ebb_journal_run_free(run);
    run = claim_as(rig, true, false);
    assert_false(run->cancel_asked);
    ebb_journal_run_free(run);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_living_owner_is_named),
        T(this_process_is_a_living_owner_too),
        T(a_dead_owners_run_is_taken_at_once),
        T(a_zombie_is_dead),
        T(a_stopped_owner_is_alive),
        T(a_pid_used_again_is_not_the_owner),
        T(giving_up_a_run_is_no_recovery),
        T(a_stale_owner_writes_nothing),
        T(a_stopped_owner_that_goes_on_has_lost_it),
        T(ten_recoveries_without_a_result_are_the_most),
        T(a_run_that_gets_on_is_not_stuck),
        T(an_owner_that_is_asked_to_cancel_hears_of_it),
        T(an_interrupted_run_is_cancelled_at_once),
        T(a_request_to_cancel_outlives_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
