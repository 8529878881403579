/* SPDX-License-Identifier: MIT */

/* What stops a run or makes an outcome unknown: each is said, and kept. */

#include "support/run_rig.h"

/* A child that dies while `path` executes; its intent is in the journal. */
static void die_in(rig *r, const char *path, const char *task,
                   const char *input)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        rig_answer answer;
        r->rt = NULL;
        r->run = NULL;
        rig_run(r, "a");
        rig_ask(r, &answer, path, task, input);
        for (int i = 0; i < RIG_TURNS_MAX && r->held == NULL; i++)
            rig_turn(r); /* no assertion: this is no test's process */
        _exit(r->held != NULL ? 9 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 9);
}

/* Asks and waits for the end, whose value is the caller's. */
static void ask_whole(rig *r, rig_answer *answer, const char *path,
                      const char *task, const char *input)
{
    rig_ask(r, answer, path, task, input);
    rig_wait(r, answer);
}

/* The held call of step 1 goes on, and ends well. */
static void finish_held(rig *r, rig_answer *answer)
{
    rig_wait_held(r);
    rig_let_go(r);
    rig_wait(r, answer);
    assert_int_equal(answer->err.code, EBB_OK);
    ebb_value_free(answer->out);
}

static void a_step_that_may_have_run_is_not_run_again(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };

    die_in(r, "1", "test.none", "{\"n\":1,\"do\":\"hold\"}");
    for (int i = 0; i < 2; i++) {
        rig_run(r, "a");
        rig_call(r, "1", "test.none", "{\"n\":1,\"do\":\"hold\"}", &err);
        assert_int_equal(err.code, EBB_OUTCOME_UNKNOWN);
        /* A script that caught it goes on. */
        assert_int_equal(rig_call(r, "2", "test.none", "{\"n\":2}", &err), 2);
        rig_close(r);
    }
    assert_int_equal(r->executed[1], 1);
    assert_int_equal(r->executed[2], 1);
}

static void force_runs_it_again(void **state)
{
    rig *r = *state;
    ebb_run_config config;
    rig_answer answer;
    ebb_err err = { 0 };

    die_in(r, "1", "test.none", "{\"n\":1,\"do\":\"hold\"}");
    ebb_run_config_init(&config);
    config.id = "a";
    config.resume = config.force = true;
    assert_non_null(rig_try_run(r, &config, &err));
    rig_ask(r, &answer, "1", "test.none", "{\"n\":1,\"do\":\"hold\"}");
    finish_held(r, &answer);
    assert_int_equal(r->executed[1], 2);
}

static void what_converges_runs_again(void **state)
{
    rig *r = *state;
    rig_answer answer;

    die_in(r, "1", "test.lifecycle", "{\"n\":1,\"do\":\"hold\"}");
    rig_run(r, "a");
    rig_ask(r, &answer, "1", "test.lifecycle", "{\"n\":1,\"do\":\"hold\"}");
    finish_held(r, &answer);
    assert_int_equal(r->executed[1], 2);
}

static void the_retry_schedule_belongs_to_the_step(void **state)
{
    rig *r = *state;
    rig_answer answer;
    int status;
    pid_t child;

    rig_run(r, "a");
    rig_close(r);
    setenv("EBB_CRASH", "attempt-done:2", 1);
    child = fork();
    if (child == 0) {
        r->rt = NULL;
        rig_run(r, "a");
        rig_ask(r, &answer, "1", "test.read", "{\"n\":1,\"fails\":99}");
        rig_wait(r, &answer);
        _exit(1);
    }
    unsetenv("EBB_CRASH");
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(r->executed[1], 2);
    rig_run(r, "a");
    ask_whole(r, &answer, "1", "test.read", "{\"n\":1,\"fails\":99}");
    assert_int_equal(answer.err.code, EBB_NETWORK);
    assert_int_equal(r->executed[1], 4); /* 3 and 4, and no more */
    assert_int_equal(ebb_value_find_int(answer.out, "attempts", 0), 4);
    ebb_value_free(answer.out);
}

/* ---- mismatch ---- */

static void call_two(rig *r, ebb_err *err)
{
    rig_call(r, "1", "test.none", "{\"n\":1,\"what\":\"tide\"}", err);
    rig_call(r, "2", "test.read", "{\"n\":2}", err);
}

static void record_two(rig *r)
{
    ebb_err err = { 0 };

    rig_run(r, "a");
    call_two(r, &err);
    rig_again(r, "a");
}

static void another_name_is_a_mismatch(void **state)
{
    rig *r = *state;
    rig_answer answer;
    const ebb_value *details;
    ebb_err err = { 0 };

    record_two(r);
    ask_whole(r, &answer, "1", "test.read", "{\"n\":2}");
    assert_int_equal(answer.err.code, EBB_REPLAY_MISMATCH);
    assert_non_null(strstr(answer.err.msg, "step 1: test.none"));
    assert_non_null(strstr(answer.err.msg, "test.read"));
    details = ebb_value_find(answer.out, "details");
    assert_string_equal(
        ebb_value_find_string(ebb_value_find(details, "recorded"), "name"),
        "test.none");
    assert_non_null(ebb_value_find_string(answer.out, "hint"));
    ebb_value_free(answer.out);
    /* Nothing runs any more, and the journal is as it was. */
    rig_call(r, "9", "test.none", "{\"n\":9}", &err);
    assert_int_equal(err.code, EBB_REPLAY_MISMATCH);
    assert_int_equal(r->executed[9], 0);
    assert_int_equal(rig_end(r, EBB_RUN_DONE, NULL).code,
                     EBB_REPLAY_MISMATCH);
    rig_again(r, "a");
    call_two(r, &err);
    assert_int_equal(rig_end(r, EBB_RUN_DONE, NULL).code, EBB_OK);
    assert_int_equal(r->executed[1] + r->executed[2], 2);
}

static void another_input_is_shown_as_a_diff(void **state)
{
    rig *r = *state;
    rig_answer answer;
    const ebb_value *diff;

    record_two(r);
    ask_whole(r, &answer, "1", "test.none", "{\"n\":1,\"what\":\"ebb\"}");
    assert_int_equal(answer.err.code, EBB_REPLAY_MISMATCH);
    diff = ebb_value_find(ebb_value_find(answer.out, "details"), "diff");
    assert_int_equal(ebb_value_size(diff), 1);
    assert_string_equal(ebb_value_get_string(ebb_value_at(diff, 0), NULL),
                        "what: \"tide\" → \"ebb\"");
    ebb_value_free(answer.out);
}

static void keys_in_another_order_are_the_same_input(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };

    record_two(r);
    rig_call(r, "1", "test.none", "{\"what\":\"tide\",\"n\":1}", &err);
    assert_int_equal(err.code, EBB_OK);
}

static void numbers_that_differ_name_time_and_random(void **state)
{
    rig *r = *state;
    rig_answer answer;

    record_two(r);
    ask_whole(r, &answer, "1", "test.none", "{\"n\":7,\"what\":\"tide\"}");
    assert_non_null(strstr(ebb_value_find_string(answer.out, "hint"),
                           "random"));
    ebb_value_free(answer.out);
    rig_again(r, "a");
    ebb_run_note_raw_order(r->run);
    ask_whole(r, &answer, "1", "test.none", "{\"n\":7,\"what\":\"tide\"}");
    assert_non_null(strstr(ebb_value_find_string(answer.out, "hint"),
                           "pairs"));
    ebb_value_free(answer.out);
}

static void a_step_left_out_is_a_mismatch(void **state)
{
    rig *r = *state;
    rig_answer answer;
    ebb_err err = { 0 };

    record_two(r);
    ask_whole(r, &answer, "7", "test.none", "{\"n\":7}");
    assert_int_equal(answer.err.code, EBB_REPLAY_MISMATCH);
    assert_non_null(strstr(answer.err.msg, "step 7"));
    ebb_value_free(answer.out);
    rig_again(r, "a");
    rig_call(r, "1", "test.none", "{\"n\":1,\"what\":\"tide\"}", &err);
    err = rig_end(r, EBB_RUN_DONE, NULL);
    assert_int_equal(err.code, EBB_REPLAY_MISMATCH);
    assert_non_null(strstr(err.msg, "step 2"));
    assert_int_equal(r->executed[7], 0);
}

static void new_steps_at_the_end_are_fine(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };

    record_two(r);
    call_two(r, &err);
    assert_int_equal(rig_call(r, "3", "test.none", "{\"n\":3}", &err), 3);
}

/* ---- cancel ---- */

static void a_cancelled_step_is_recorded_as_the_script_saw_it(void **state)
{
    rig *r = *state;
    rig_answer answer;
    ebb_op *op;
    ebb_err err = { 0 };

    rig_run(r, "a");
    op = rig_ask(r, &answer, "1", "test.none", "{\"n\":1,\"do\":\"hold\"}");
    rig_wait_held(r);
    ebb_cancel(op);
    rig_wait(r, &answer);
    assert_int_equal(answer.err.code, EBB_CANCELLED);
    ebb_value_free(answer.out);
    op = rig_ask(r, &answer, "2", "test.none", "{\"n\":2}");
    ebb_cancel(op); /* before anything began */
    rig_wait(r, &answer);
    assert_int_equal(answer.err.code, EBB_CANCELLED);
    ebb_value_free(answer.out);
    rig_again(r, "a");
    rig_call(r, "1", "test.none", "{\"n\":1,\"do\":\"hold\"}", &err);
    assert_int_equal(err.code, EBB_CANCELLED);
    rig_call(r, "2", "test.none", "{\"n\":2}", &err);
    assert_int_equal(err.code, EBB_CANCELLED);
    assert_int_equal(r->executed[1], 1);
    assert_int_equal(r->executed[2], 0);
}

/* A loser that had got its result keeps it, in every execution. */
static void what_is_recorded_is_not_cancelled(void **state)
{
    rig *r = *state;
    rig_answer answer;
    ebb_err err = { 0 };

    rig_run(r, "a");
    rig_call(r, "1", "test.none", "{\"n\":1}", &err);
    rig_again(r, "a");
    ebb_cancel(rig_ask(r, &answer, "1", "test.none", "{\"n\":1}"));
    rig_wait(r, &answer);
    assert_int_equal(answer.err.code, EBB_OK);
    ebb_value_free(answer.out);
}

static void another_process_may_ask_to_cancel(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };
    int status;
    pid_t child;

    rig_run(r, "a");
    assert_false(ebb_run_cancel_requested(r->run));
    child = fork();
    if (child == 0) {
        rig other = *r;
        rig_open(&other);
        _exit(ebb_runs_cancel(other.rt, "a", &err) == 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 0);
    for (int i = 0; i < 400 && !ebb_run_cancel_requested(r->run); i++)
        rig_turn(r);
    assert_true(ebb_run_cancel_requested(r->run));
}

static void closing_with_a_call_in_flight_records_nothing(void **state)
{
    rig *r = *state;
    rig_answer answer;

    rig_run(r, "a");
    rig_ask(r, &answer, "1", "test.read", "{\"n\":1,\"do\":\"hold\"}");
    rig_wait_held(r);
    rig_again(r, "a");
    assert_true(answer.ended);
    assert_int_equal(answer.err.code, EBB_CANCELLED);
    ebb_value_free(answer.out);
    rig_ask(r, &answer, "1", "test.read", "{\"n\":1,\"do\":\"hold\"}");
    finish_held(r, &answer);
}

/* ---- the journal fails ---- */

static void a_journal_that_cannot_be_written_stops_the_effect(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };
    char command[256];

    rig_run(r, "a");
    rig_call(r, "1", "test.none", "{\"n\":1}", &err);
    snprintf(command, sizeof command,
             "python3 -c \"import sqlite3;c=sqlite3.connect('%s');"
             "c.execute('drop table step')\"", r->journal);
    assert_int_equal(system(command), 0);
    rig_call(r, "2", "test.none", "{\"n\":2}", &err);
    assert_int_equal(err.code, EBB_JOURNAL);
    assert_int_equal(r->executed[2], 0);
    rig_call(r, "3", "test.read", "{\"n\":3}", &err);
    assert_int_equal(err.code, EBB_JOURNAL);
    assert_int_equal(rig_end(r, EBB_RUN_DONE, NULL).code, EBB_JOURNAL);
}

int main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        RUN(a_step_that_may_have_run_is_not_run_again),
        RUN(force_runs_it_again),
        RUN(what_converges_runs_again),
        RUN(the_retry_schedule_belongs_to_the_step),
        RUN(another_name_is_a_mismatch),
        RUN(another_input_is_shown_as_a_diff),
        RUN(keys_in_another_order_are_the_same_input),
        RUN(numbers_that_differ_name_time_and_random),
        RUN(a_step_left_out_is_a_mismatch),
        RUN(new_steps_at_the_end_are_fine),
        RUN(a_cancelled_step_is_recorded_as_the_script_saw_it),
        RUN(what_is_recorded_is_not_cancelled),
        RUN(another_process_may_ask_to_cancel),
        RUN(closing_with_a_call_in_flight_records_nothing),
        RUN(a_journal_that_cannot_be_written_stops_the_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
