/* SPDX-License-Identifier: MIT */

/* Durable runs: what is recorded is not executed again, in its order. */

#include "support/run_rig.h"

/* Sanitizers, and a machine that others use. */
#ifdef __SANITIZE_ADDRESS__
#define SLOWER 10
#else
#define SLOWER 3
#endif

static void a_completed_step_is_not_executed_again(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };

    rig_run(r, "a");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            rig_call(r, "1", "test.none", "{\"n\":1}", &err), 1);
        assert_int_equal(
            rig_call(r, "2", "test.read", "{\"n\":2}", &err), 2);
        assert_int_equal(
            rig_call(r, "3", "test.lifecycle", "{\"n\":3}", &err), 3);
        rig_again(r, "a");
    }
    for (int n = 1; n <= 3; n++)
        assert_int_equal(r->executed[n], 1);
}

static void a_recorded_error_is_given_as_it_was(void **state)
{
    rig *r = *state;
    rig_answer first, again;

    rig_run(r, "a");
    rig_ask(r, &first, "1", "test.none", "{\"n\":1,\"do\":\"fail\"}");
    rig_wait(r, &first);
    rig_again(r, "a");
    rig_ask(r, &again, "1", "test.none", "{\"n\":1,\"do\":\"fail\"}");
    rig_wait(r, &again);
    assert_int_equal(again.err.code, EBB_CONFLICT);
    assert_string_equal(again.err.msg, first.err.msg);
    assert_true(ebb_value_equal(first.out, again.out));
    assert_int_equal(r->executed[1], 1);
    ebb_value_free(first.out);
    ebb_value_free(again.out);
}

static void bad_input_is_an_outcome_like_any(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };

    rig_run(r, "a");
    for (int i = 0; i < 2; i++) {
        rig_call(r, "1", "test.nosuch", "{}", &err);
        assert_int_equal(err.code, EBB_NOT_FOUND);
        rig_again(r, "a");
    }
}

static void an_ended_run_is_given_as_it_ended(void **state)
{
    rig *r = *state;
    ebb_value *result = ebb_value_text("all done");
    ebb_err err = { 0 };

    rig_run(r, "a");
    assert_int_equal(ebb_run_get_state(r->run), EBB_RUN_ACTIVE);
    rig_call(r, "1", "test.none", "{\"n\":1}", &err);
    assert_int_equal(rig_end(r, EBB_RUN_DONE, result).code, EBB_OK);
    rig_again(r, "a");
    assert_int_equal(ebb_run_get_state(r->run), EBB_RUN_DONE);
    assert_true(ebb_value_equal(ebb_run_outcome(r->run), result));
    ebb_value_free(result);
}

/* Two branches; the order of their outcomes is not that of the asking. */
static void outcomes_come_in_their_recorded_order(void **state)
{
    rig *r = *state;
    rig_answer held, quick, order[2];

    rig_run(r, "a");
    rig_ask(r, &held, "1.1/1", "test.none", "{\"n\":1,\"do\":\"hold\"}");
    rig_ask(r, &quick, "1.2/1", "test.none", "{\"n\":2}");
    rig_wait(r, &quick);
    assert_false(held.ended);
    rig_let_go(r);
    rig_wait(r, &held);
    ebb_value_free(held.out);
    ebb_value_free(quick.out);
    rig_again(r, "a");
    rig_ask(r, &order[0], "1.1/1", "test.none", "{\"n\":1,\"do\":\"hold\"}");
    rig_ask(r, &order[1], "1.2/1", "test.none", "{\"n\":2}");
    rig_wait(r, &order[1]);
    assert_false(order[0].ended); /* one at a time, each after idle */
    rig_wait(r, &order[0]);
    ebb_value_free(order[0].out);
    ebb_value_free(order[1].out);
    assert_int_equal(r->executed[1], 1);
}

static void nothing_runs_while_an_outcome_is_left(void **state)
{
    rig *r = *state;
    rig_answer fresh, recorded;
    ebb_err err = { 0 };

    rig_run(r, "a");
    rig_call(r, "1.2/1", "test.none", "{\"n\":2}", &err);
    rig_again(r, "a");
    rig_ask(r, &fresh, "1.1/1", "test.none", "{\"n\":1}");
    rig_ask(r, &recorded, "1.2/1", "test.none", "{\"n\":2}");
    rig_wait(r, &recorded);
    assert_int_equal(r->executed[1], 0);
    rig_wait(r, &fresh);
    assert_int_equal(r->executed[1], 1);
    ebb_value_free(fresh.out);
    ebb_value_free(recorded.out);
}

static void a_step_of_the_host_runs_once(void **state)
{
    rig *r = *state;
    rig_answer answer;

    rig_run(r, "a");
    rig_begin(r, &answer, "1", "mine", "none");
    rig_wait(r, &answer);
    assert_non_null(answer.step);
    assert_int_equal(rig_step_end(r, answer.step, "{\"x\":1}"), EBB_OK);
    rig_again(r, "a");
    rig_begin(r, &answer, "1", "mine", "none");
    rig_wait(r, &answer);
    assert_null(answer.step);
    assert_int_equal(ebb_value_find_int(answer.out, "x", 0), 1);
    ebb_value_free(answer.out);
}

static void a_sleep_keeps_its_first_end(void **state)
{
    rig *r = *state;
    ebb_step_config config = { .path = "1", .name = "ebb.sleep",
                               .step_class = "read", .wake_ms = 123456 };
    rig_answer answer = { 0 };
    ebb_err err = { 0 };

    rig_run(r, "a");
    ebb_step_begin(r->run, &config, rig_step_done, &answer, &err);
    rig_wait(r, &answer);
    assert_int_equal(answer.wake_ms, 123456);
    rig_turn(r);
    rig_again(r, "a");
    answer = (rig_answer){ 0 };
    config.wake_ms = 999999;
    ebb_step_begin(r->run, &config, rig_step_done, &answer, &err);
    rig_wait(r, &answer);
    assert_non_null(answer.step);
    assert_int_equal(answer.wake_ms, 123456);
}

static void a_result_of_more_than_four_million_bytes_is_refused(void **state)
{
    rig *r = *state;
    rig_answer answer, end = { 0 };
    size_t n = 4000001;
    char *big = malloc(n);
    ebb_value *value;

    memset(big, 'x', n);
    value = ebb_value_string(big, n);
    rig_run(r, "a");
    rig_begin(r, &answer, "1", "mine", "read");
    rig_wait(r, &answer);
    ebb_step_end(answer.step, value, NULL, rig_ended, &end);
    rig_wait(r, &end);
    assert_int_equal(end.err.code, EBB_LIMIT_EXCEEDED);
    rig_again(r, "a");
    rig_begin(r, &answer, "1", "mine", "read");
    rig_wait(r, &answer);
    assert_int_equal(answer.err.code, EBB_LIMIT_EXCEEDED);
    ebb_value_free(answer.out);
    ebb_value_free(value);
    free(big);
}

static void a_large_result_survives(void **state)
{
    rig *r = *state;
    rig_answer answer;
    char *big = malloc(300003);

    memset(big, 'x', 300002);
    big[0] = big[300001] = '"';
    big[300002] = '\0';
    rig_run(r, "a");
    rig_begin(r, &answer, "1", "mine", "read");
    rig_wait(r, &answer);
    assert_int_equal(rig_step_end(r, answer.step, big), EBB_OK);
    rig_again(r, "a");
    rig_begin(r, &answer, "1", "mine", "read");
    rig_wait(r, &answer);
    assert_int_equal(strlen(ebb_value_get_string(answer.out, NULL)), 300000);
    ebb_value_free(answer.out);
    free(big);
}

static void time_is_that_of_the_last_outcome(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };
    int64_t began, first, second;

    rig_run(r, "a");
    began = ebb_run_time_ms(r->run);
    rig_call(r, "1", "test.none", "{\"n\":1}", &err);
    first = ebb_run_time_ms(r->run);
    usleep(20000);
    assert_int_equal(ebb_run_time_ms(r->run), first);
    rig_call(r, "2", "test.none", "{\"n\":2}", &err);
    second = ebb_run_time_ms(r->run);
    assert_true(began > 0 && first >= began && second > first);
    rig_again(r, "a");
    assert_int_equal(ebb_run_time_ms(r->run), began);
    rig_call(r, "1", "test.none", "{\"n\":1}", &err);
    assert_int_equal(ebb_run_time_ms(r->run), first);
    rig_call(r, "2", "test.none", "{\"n\":2}", &err);
    assert_int_equal(ebb_run_time_ms(r->run), second);
}

static void seeds_belong_to_the_run_and_the_path(void **state)
{
    rig *r = *state;
    uint64_t one, two;

    rig_run(r, "a");
    one = ebb_run_seed(r->run, "1");
    two = ebb_run_seed(r->run, "2");
    assert_true(one != two);
    rig_again(r, "a");
    assert_true(ebb_run_seed(r->run, "1") == one);
    rig_again(r, "b");
    assert_true(ebb_run_seed(r->run, "1") != one);
}

static void a_path_is_asked_for_once(void **state)
{
    rig *r = *state;
    rig_answer answer;
    ebb_step_config config = { .path = "1", .name = "mine" };
    ebb_err err = { 0 };

    rig_run(r, "a");
    rig_begin(r, &answer, "1", "mine", "read");
    assert_null(ebb_step_begin(r->run, &config, rig_step_done, &answer,
                               &err));
    assert_int_equal(err.code, EBB_CONFLICT);
    config.path = "";
    assert_null(ebb_step_begin(r->run, &config, rig_step_done, &answer,
                               &err));
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    rig_close(r); /* while answer is there to be told */
    assert_int_equal(answer.err.code, EBB_CANCELLED);
}

#define STEPS 10000
#define AT_ONCE 100 /* so that their commits are grouped */

static void take_steps(rig *r)
{
    static rig_answer answers[AT_ONCE];
    char path[16];

    for (int i = 0; i < STEPS; i += AT_ONCE) {
        for (int j = 0; j < AT_ONCE; j++) {
            snprintf(path, sizeof path, "%d.%d/1", i / AT_ONCE, j);
            rig_ask(r, &answers[j], path, "test.none", "{\"n\":1}");
        }
        for (int j = 0; j < AT_ONCE; j++) {
            rig_wait(r, &answers[j]);
            assert_int_equal(answers[j].err.code, EBB_OK);
            ebb_value_free(answers[j].out);
        }
    }
}

static void ten_thousand_steps_are_replayed_in_a_second(void **state)
{
    rig *r = *state;
    double before;

    for (int turn = 0; turn < 2; turn++) {
        rig_open(r);
        before = ebb_monotonic_ms(r->rt);
        rig_run(r, "a");
        take_steps(r);
        before = ebb_monotonic_ms(r->rt) - before;
        printf("%s %d steps: %.0f ms\n", turn ? "replaying" : "running",
               STEPS, before);
        rig_close(r);
    }
    assert_int_equal(r->executed[1], STEPS);
    assert_true(before < 1000 * SLOWER);
}

static size_t count_lines(rig *r, const char *id)
{
    ebb_value *shown = NULL;
    ebb_err err = { 0 };
    size_t count;

    assert_int_equal(ebb_runs_show(r->rt, id, &shown, &err), 0);
    count = ebb_value_size(ebb_value_find(shown, "log"));
    ebb_value_free(shown);
    return count;
}

/* Of a branch, say, whose line was lost, while others are still replayed. */
static void a_line_of_a_step_to_come_is_written_during_the_replay(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };

    rig_run(r, "a");
    rig_call(r, "1", "test.read", "{\"n\":1}", &err);
    rig_again(r, "a");
    ebb_run_log(r->run, "1", EBB_LOG_INFO, "of one that completed", NULL);
    ebb_run_log(r->run, NULL, EBB_LOG_INFO, "of none", NULL);
    ebb_run_log(r->run, "2", EBB_LOG_INFO, "of one to come", NULL);
    rig_call(r, "1", "test.read", "{\"n\":1}", &err);
    rig_call(r, "2", "test.read", "{\"n\":2}", &err);
    assert_int_equal(count_lines(r, "a"), 1);
}

int main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        RUN(a_completed_step_is_not_executed_again),
        RUN(a_recorded_error_is_given_as_it_was),
        RUN(bad_input_is_an_outcome_like_any),
        RUN(an_ended_run_is_given_as_it_ended),
        RUN(outcomes_come_in_their_recorded_order),
        RUN(nothing_runs_while_an_outcome_is_left),
        RUN(a_step_of_the_host_runs_once),
        RUN(a_sleep_keeps_its_first_end),
        RUN(a_result_of_more_than_four_million_bytes_is_refused),
        RUN(a_large_result_survives),
        RUN(time_is_that_of_the_last_outcome),
        RUN(seeds_belong_to_the_run_and_the_path),
        RUN(a_path_is_asked_for_once),
        RUN(a_line_of_a_step_to_come_is_written_during_the_replay),
        RUN(ten_thousand_steps_are_replayed_in_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
