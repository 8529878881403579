/* SPDX-License-Identifier: MIT */

/* How runs end and are reopened, and how the journal is closed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_rig.h"

static void a_run_that_ended_comes_as_it_ended(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    ebb_journal_claim old = run->claim;

    rig_outcome(rig, &run->claim, "1", "1");
    assert_int_equal(rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "42"), EBB_OK);
    ebb_journal_run_free(run);
    run = rig_claim(rig, "r");
    assert_int_equal(run->claim.run, 0);
    assert_int_equal(run->state, EBB_JOURNAL_DONE);
    assert_string_equal(run->outcome, "42");
    assert_int_equal(run->steps_n, 0);
    assert_int_equal(run->steps_count, 1);
    assert_int_equal(run->owner_pid, 0);
    assert_true(run->ended_ms > 0);
    assert_int_equal(rig_outcome(rig, &old, "2", "2"), EBB_LOST_OWNERSHIP);
    assert_non_null(strstr(rig->err.msg, "run r was ended (done)"));
    assert_int_equal(rig_end(rig, &old, EBB_JOURNAL_DONE, "43"),
                     EBB_LOST_OWNERSHIP);
    assert_int_equal(rig_end(rig, &old, EBB_JOURNAL_ACTIVE, "43"),
                     EBB_INVALID_INPUT);
    ebb_journal_run_free(run);
}

static void a_failed_run_is_reopened_and_its_last_step_tried_again(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_claim_config config = { .id = "r", .resume = true };
    const char *const paths[] = { "2", "7" };
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_answer answer = { 0 };
    uint64_t seed = run->seed;

    rig_outcome(rig, &run->claim, "1", "1");
    rig_outcome(rig, &run->claim, "2", "{\"code\":\"server\"}");
    rig_end(rig, &run->claim, EBB_JOURNAL_FAILED, "{\"code\":\"server\"}");
    ebb_journal_run_free(run);
    run = ebb_journal_claim_run(rig->journal, &config, &rig->err);
    assert_int_not_equal(run->claim.run, 0);
    assert_int_equal(run->state, EBB_JOURNAL_ACTIVE);
    assert_true(run->seed == seed);
    assert_int_equal(run->steps_n, 2);
    assert_int_equal(ebb_journal_del_outcomes(rig->journal, &run->claim, paths,
                                              2, rig_done(&answer), &rig->err),
                     0);
    rig_await(rig, &answer, 1);
    assert_int_equal(answer.err.code, EBB_OK);
    assert_int_equal(rig_outcome(rig, &run->claim, "2", "2"), EBB_OK);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 2);
    assert_int_equal(run->steps_count, 2);
    assert_string_equal(run->steps[1].outcome, "2");
    assert_int_equal(run->steps[1].seq, 3);
    ebb_journal_run_free(run);
}

static void a_done_run_is_not_reopened(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_claim_config config = { .id = "r", .resume = true };
    ebb_journal_run *run = rig_claim(rig, "r");

    rig_end(rig, &run->claim, EBB_JOURNAL_DONE, "1");
    ebb_journal_run_free(run);
    run = ebb_journal_claim_run(rig->journal, &config, &rig->err);
    assert_int_equal(run->state, EBB_JOURNAL_DONE);
    assert_int_equal(run->claim.run, 0);
    ebb_journal_run_free(run);
}

static void closing_writes_and_answers_what_is_queued(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_answer answer = { 0 };
    char path[16];

    for (int i = 0; i < 200; i++) {
        ebb_journal_step step = rig_step(path, "1");

        snprintf(path, sizeof path, "%d", i);
        ebb_journal_add_outcome(rig->journal, &run->claim, &step,
                                rig_done(&answer), &rig->err);
    }
    ebb_journal_run_free(run);
    rig_close(rig);
    assert_int_equal(answer.count, 200);
    assert_int_equal(answer.err.code, EBB_OK);
    rig_open(rig);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 200);
    ebb_journal_run_free(run);
}

static void close_it(void *context, const ebb_err *err)
{
    journal_rig *rig = context;

    (void)err;
    ebb_journal_close(rig->journal);
    rig->journal = NULL;
}

static void an_answer_may_close_the_journal(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_answer answer = { 0 };
    ebb_journal_line line = { .message = "m" };

    ebb_journal_add_line(rig->journal, &run->claim, &line,
                         (ebb_journal_done){ close_it, rig }, &rig->err);
    ebb_journal_add_line(rig->journal, &run->claim, &line, rig_done(&answer),
                         &rig->err);
    rig_await(rig, &answer, 1);
    assert_null(rig->journal);
    ebb_journal_run_free(run);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_run_that_ended_comes_as_it_ended),
        T(a_failed_run_is_reopened_and_its_last_step_tried_again),
        T(a_done_run_is_not_reopened),
        T(closing_writes_and_answers_what_is_queued),
        T(an_answer_may_close_the_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
