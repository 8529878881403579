/* SPDX-License-Identifier: MIT */

/* The journal as the owner of a run uses it: what is written comes back. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/journal_rig.h"

static const ebb_journal_step *find_step(const ebb_journal_run *run,
                                         const char *path)
{
    for (size_t i = 0; i < run->steps_n; i++)
        if (strcmp(run->steps[i].path, path) == 0)
            return &run->steps[i];
    return NULL;
}

static void a_new_run_begins_empty_and_claimed(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_claim_config config = { .id = "nightly é 1",
                                        .script = "report.lua",
                                        .script_sha256 = "abc",
                                        .args = "[\"x\"]" };
    ebb_journal_run *run =
        ebb_journal_claim_run(rig->journal, &config, &rig->err);

    assert_non_null(run);
    assert_string_equal(run->id, "nightly é 1");
    assert_string_equal(run->script, "report.lua");
    assert_string_equal(run->script_sha256, "abc");
    assert_string_equal(run->args, "[\"x\"]");
    assert_int_equal(run->state, EBB_JOURNAL_ACTIVE);
    assert_int_not_equal(run->claim.run, 0);
    assert_int_equal(run->claim.fence, 1);
    assert_int_equal(run->steps_n, 0);
    assert_int_equal(run->recoveries, 0);
    assert_int_equal(run->owner_pid, getpid());
    assert_true(run->owner_alive);
    assert_true(run->started_ms > 1700000000000);
    assert_null(run->outcome);
    ebb_journal_run_free(run);
}

static void file_and_folders_are_made_for_this_user_alone(void **state)
{
    journal_rig *rig = *state, deep = { 0 };
    struct stat st;

    snprintf(deep.path, sizeof deep.path, "%s/a/b/j.db", rig->folder);
    rig_open(&deep);
    assert_non_null(deep.journal);
    assert_int_equal(stat(deep.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    strcat(deep.path, "-wal");
    assert_int_equal(stat(deep.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    *strrchr(deep.path, '/') = '\0';
    assert_int_equal(stat(deep.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    rig_close(&deep);
}

static void steps_come_back_in_the_order_of_their_outcomes(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    const char *const order[] = { "2", "10", "1", "3" };

    assert_int_equal(rig_intent(rig, &run->claim, "3"), EBB_OK);
    assert_int_equal(rig_intent(rig, &run->claim, "1"), EBB_OK);
    assert_int_equal(rig_outcome(rig, &run->claim, "2", "2"), EBB_OK);
    assert_int_equal(rig_outcome(rig, &run->claim, "10", "10"), EBB_OK);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_OK);
    assert_int_equal(rig_release(rig, &run->claim), EBB_OK);
    ebb_journal_run_free(run);
    run = rig_claim(rig, "r");
    assert_int_equal(run->steps_n, 4);
    assert_int_equal(run->steps_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(run->steps[i].path, order[i]);
        assert_int_equal(run->steps[i].seq, i < 3 ? i + 1 : 0);
        if (i < 3)
            assert_string_equal(run->steps[i].outcome, order[i]);
    }
    assert_null(run->steps[3].outcome);
    ebb_journal_run_free(run);
}

static void a_step_keeps_all_that_was_said_of_it(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    ebb_journal_step step = rig_step("4.2/1", NULL);
    const ebb_journal_step *got;

    step.wake_ms = 77;
    step.began_ms = 1000;
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_OK);
    step.outcome = "{\"code\":\"timeout\"}";
    step.outcome_bytes = strlen(step.outcome);
    step.failed = true;
    step.ended_ms = 2000;
    assert_int_equal(rig_put(rig, ebb_journal_add_outcome, &run->claim, step),
                     EBB_OK);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->claim.run, 0);
    got = find_step(run, "4.2/1");
    assert_string_equal(got->name, "e2b.runCode");
    assert_string_equal(got->step_class, "none");
    assert_string_equal(got->digest, "d1");
    assert_string_equal(got->input, "{\"code\":\"1\"}");
    assert_int_equal(got->input_bytes, 12);
    assert_int_equal(got->wake_ms, 77);
    assert_int_equal(got->began_ms, 1000);
    assert_int_equal(got->ended_ms, 2000);
    assert_true(got->failed);
    assert_string_equal(got->outcome, "{\"code\":\"timeout\"}");
    ebb_journal_run_free(run);
}

static void an_intent_again_keeps_the_first(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    ebb_journal_step step = rig_step("1", NULL);

    step.wake_ms = 5000;
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_OK);
    step.wake_ms = 9000;
    assert_int_equal(rig_put(rig, ebb_journal_add_intent, &run->claim, step),
                     EBB_OK);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->steps_n, 1);
    assert_int_equal(run->steps_count, 1);
    assert_int_equal(run->steps[0].wake_ms, 5000);
    ebb_journal_run_free(run);
}

static void an_outcome_is_never_written_over(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");

    assert_int_equal(rig_outcome(rig, &run->claim, "1", "\"first\""), EBB_OK);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "\"other\""),
                     EBB_JOURNAL);
    assert_non_null(strstr(rig->err.msg, "step 1 has its outcome already"));
    assert_int_equal(rig_intent(rig, &run->claim, "1"), EBB_JOURNAL);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_string_equal(run->steps[0].outcome, "\"first\"");
    assert_int_equal(run->steps[0].seq, 1);
    ebb_journal_run_free(run);
}

static ebb_journal_step attempt(const char *path, int number, int64_t next_ms)
{
    return (ebb_journal_step){ .path = path,
                               .attempts = number,
                               .next_attempt_ms = next_ms,
                               .attempt_error = "{\"code\":\"network\"}",
                               .attempt_error_bytes = 18 };
}

static void attempts_belong_to_the_step_and_not_to_the_process(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");

    assert_int_equal(rig_intent(rig, &run->claim, "1"), EBB_OK);
    for (int i = 1; i <= 2; i++)
        assert_int_equal(rig_put(rig, ebb_journal_add_attempt, &run->claim,
                                 attempt("1", i, 1000 * i)),
                         EBB_OK);
    rig_release(rig, &run->claim);
    ebb_journal_run_free(run);
    run = rig_claim(rig, "r");
    assert_int_equal(run->steps[0].attempts, 2);
    assert_int_equal(run->steps[0].next_attempt_ms, 2000);
    assert_string_equal(run->steps[0].attempt_error, "{\"code\":\"network\"}");
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "true"), EBB_OK);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->attempts_n, 2);
    assert_string_equal(run->attempts[0].path, "1");
    assert_int_equal(run->attempts[0].number, 1);
    assert_int_equal(run->attempts[1].number, 2);
    assert_int_equal(run->attempts[1].next_ms, 2000);
    assert_int_equal(run->steps[0].attempts, 2);
    assert_int_equal(run->steps[0].next_attempt_ms, 0);
    ebb_journal_run_free(run);
}

static void an_attempt_needs_a_step_that_waits(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");

    assert_int_equal(
        rig_put(rig, ebb_journal_add_attempt, &run->claim, attempt("1", 1, 0)),
        EBB_JOURNAL);
    assert_int_equal(rig_outcome(rig, &run->claim, "1", "1"), EBB_OK);
    assert_int_equal(
        rig_put(rig, ebb_journal_add_attempt, &run->claim, attempt("1", 1, 0)),
        EBB_JOURNAL);
    assert_int_equal(
        rig_put(rig, ebb_journal_add_attempt, &run->claim, attempt("1", 0, 0)),
        EBB_INVALID_INPUT);
    ebb_journal_run_free(run);
}

typedef struct found_json {
    rig_answer answer;
    char *json;
    size_t n;
} found_json;

static void keep_json(void *context, const char *json, size_t n,
                      const ebb_err *err)
{
    found_json *found = context;

    found->json = ebb_mem_dup_n(json, n);
    found->n = n;
    rig_answered(&found->answer, err);
}

static void large_json_is_kept_apart_and_found(void **state)
{
    journal_rig *rig = *state;
    const size_t sizes[] = { EBB_JOURNAL_SMALL_BYTES,
                             EBB_JOURNAL_SMALL_BYTES + 1,
                             EBB_JOURNAL_JSON_BYTES_MAX };
    const char *const paths[] = { "1", "2", "3" };
    ebb_journal_run *run = rig_claim(rig, "r");
    found_json found = { 0 };

    for (int i = 0; i < 3; i++) {
        char *json = rig_json(sizes[i]);
        ebb_journal_step step = rig_step(paths[i], json);

        step.input = json;
        step.input_bytes = sizes[i];
        assert_int_equal(
            rig_put(rig, ebb_journal_add_outcome, &run->claim, step), EBB_OK);
        free(json);
    }
    rig_release(rig, &run->claim);
    ebb_journal_run_free(run);
    run = rig_claim(rig, "r");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run->steps[i].outcome_bytes, sizes[i]);
        assert_true((run->steps[i].outcome != NULL) == (i == 0));
    }
    assert_int_equal(ebb_journal_find_outcome(rig->journal, &run->claim, "3",
                                              keep_json, &found, &rig->err),
                     0);
    rig_await(rig, &found.answer, 1);
    assert_int_equal(found.n, EBB_JOURNAL_JSON_BYTES_MAX);
    assert_int_equal(found.json[found.n - 2], 'a');
    ebb_mem_free(found.json);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(strlen(run->steps[i].outcome), sizes[i]);
        assert_int_equal(strlen(run->steps[i].input), sizes[i]);
    }
    ebb_journal_run_free(run);
}

static void an_outcome_that_is_not_there_is_not_found(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    found_json found = { 0 };

    ebb_journal_find_outcome(rig->journal, &run->claim, "9", keep_json, &found,
                             &rig->err);
    rig_await(rig, &found.answer, 1);
    assert_int_equal(found.answer.err.code, EBB_NOT_FOUND);
    assert_int_equal(rig_intent(rig, &run->claim, "1"), EBB_OK);
    ebb_journal_find_outcome(rig->journal, &run->claim, "1", keep_json, &found,
                             &rig->err);
    rig_await(rig, &found.answer, 2);
    assert_int_equal(found.answer.err.code, EBB_JOURNAL);
    ebb_journal_run_free(run);
}

static void log_lines_come_back_in_order(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    ebb_journal_line line = { .path = "1",
                              .attempt = 2,
                              .level = 3,
                              .message = "hello",
                              .fields = "{\"n\":1}",
                              .fields_bytes = 7 };
    rig_answer answer = { 0 };

    ebb_journal_add_line(rig->journal, &run->claim, &line, rig_done(&answer),
                         &rig->err);
    line = (ebb_journal_line){ .message = "bare" };
    ebb_journal_add_line(rig->journal, &run->claim, &line, rig_done(&answer),
                         &rig->err);
    rig_await(rig, &answer, 2);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    assert_int_equal(run->lines_n, 2);
    assert_string_equal(run->lines[0].path, "1");
    assert_int_equal(run->lines[0].attempt, 2);
    assert_int_equal(run->lines[0].level, 3);
    assert_string_equal(run->lines[0].message, "hello");
    assert_string_equal(run->lines[0].fields, "{\"n\":1}");
    assert_null(run->lines[1].path);
    assert_true(run->lines[1].at_ms > 0);
    ebb_journal_run_free(run);
}

static void raw_order_stays_with_the_run(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_answer answer = { 0 };

    assert_false(run->raw_order);
    ebb_journal_set_raw_order(rig->journal, &run->claim, rig_done(&answer),
                              &rig->err);
    rig_await(rig, &answer, 1);
    rig_release(rig, &run->claim);
    ebb_journal_run_free(run);
    run = rig_claim(rig, "r");
    assert_true(run->raw_order);
    ebb_journal_run_free(run);
}

static void a_back_end_stays_with_the_run(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    ebb_journal_done done = { 0 };
    char long_name[EBB_JOURNAL_PATH_BYTES_MAX + 2];
    rig_answer answer = { 0 };

    assert_null(run->backend);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(ebb_journal_set_backend(rig->journal, &run->claim,
                                             long_name, done, &rig->err),
                     -1);
    assert_int_equal(rig->err.code, EBB_INVALID_INPUT);
    assert_int_equal(ebb_journal_set_backend(rig->journal, &run->claim,
                                             "\xff", done, &rig->err),
                     -1);
    ebb_journal_set_backend(rig->journal, &run->claim, "local",
                            rig_done(&answer), &rig->err);
    rig_await(rig, &answer, 1);
    rig_release(rig, &run->claim);
    ebb_journal_run_free(run);
    run = rig_claim(rig, "r");
    assert_string_equal(run->backend, "local");
    ebb_journal_run_free(run);
}

static void answers_come_once_in_order_from_the_loop(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    rig_answer answers[100] = { 0 };
    char path[16];

    for (int i = 0; i < 100; i++) {
        ebb_journal_step step = rig_step(path, "1");

        snprintf(path, sizeof path, "%d", i);
        assert_int_equal(ebb_journal_add_outcome(rig->journal, &run->claim,
                                                 &step, rig_done(&answers[i]),
                                                 &rig->err),
                         0);
    }
    usleep(50000);
    for (int i = 0; i < 100; i++)
        assert_int_equal(answers[i].count, 0);
    rig_await(rig, &answers[99], 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(answers[i].count, 1);
    ebb_journal_run_free(run);
    run = ebb_journal_get_run(rig->journal, "r", &rig->err);
    for (int i = 0; i < 100; i++)
        assert_int_equal(atoi(run->steps[i].path), i);
    ebb_journal_run_free(run);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_new_run_begins_empty_and_claimed),
        T(file_and_folders_are_made_for_this_user_alone),
        T(steps_come_back_in_the_order_of_their_outcomes),
        T(a_step_keeps_all_that_was_said_of_it),
        T(an_intent_again_keeps_the_first),
        T(an_outcome_is_never_written_over),
        T(attempts_belong_to_the_step_and_not_to_the_process),
        T(an_attempt_needs_a_step_that_waits),
        T(large_json_is_kept_apart_and_found),
        T(an_outcome_that_is_not_there_is_not_found),
        T(log_lines_come_back_in_order),
        T(raw_order_stays_with_the_run),
        T(a_back_end_stays_with_the_run),
        T(answers_come_once_in_order_from_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
