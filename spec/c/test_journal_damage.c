/* SPDX-License-Identifier: MIT */

/* Rows that are not as they should be: C21 of the cases. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/journal_edit.h"
#include "support/journal_filled.h"

static void a_whole_journal_has_no_problems(void **state)
{
    journal_rig *rig = *state;
    problems p = { 0 };

    fill(rig);
    assert_int_equal(ebb_journal_check(rig->journal, note, &p, &rig->err), 0);
    assert_int_equal(p.n, 0);
}

/* After sql, "b" is refused by name, and "a" goes on. */
static void damages(journal_rig *rig, const char *sql, const char *where)
{
    ebb_journal_run *run;
    problems p = { 0 };

    rig_close(rig);
    edit(rig->path, sql);
    rig_open(rig);
    assert_non_null(rig->journal);
    run = ebb_journal_get_run(rig->journal, "b", &rig->err);
    assert_null(run);
    assert_int_equal(rig->err.code, EBB_JOURNAL);
    assert_non_null(strstr(rig->err.msg, "run b"));
    assert_non_null(strstr(rig->err.msg, where));
    assert_true(ebb_journal_check(rig->journal, note, &p, &rig->err) > 0);
    assert_string_equal(p.run, "b");
    run = rig_claim(rig, "a");
    assert_non_null(run);
    assert_int_equal(rig_outcome(rig, &run->claim, "3", "33"), EBB_OK);
    ebb_journal_run_free(run);
}

#define OF_B " run = (SELECT key FROM run WHERE id = 'b')"

static void a_step_with_flipped_bits_stops_its_run_alone(void **state)
{
    static const char *const flips[] = {
        "UPDATE step SET outcome = '23' WHERE path = '2' AND" OF_B,
        "UPDATE step SET failed = 1 WHERE path = '2' AND" OF_B,
        "UPDATE step SET seq = 9 WHERE path = '2' AND" OF_B,
        "UPDATE step SET ended_ms = ended_ms + 1 WHERE path = '2' AND" OF_B,
        "UPDATE step SET name = 'e2b.runCodf' WHERE path = '2' AND" OF_B,
        "UPDATE step SET class = 'read' WHERE path = '2' AND" OF_B,
        "UPDATE step SET digest = 'd3' WHERE path = '2' AND" OF_B,
        "UPDATE step SET wake_ms = 8 WHERE path = '2' AND" OF_B,
        "UPDATE step SET input = '{\"code\":\"3\"}' WHERE path = '2' AND" OF_B,
        "UPDATE step SET outcome = NULL WHERE path = '2' AND" OF_B,
    };
    journal_rig *rig = *state;

    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        rig_close(rig);
        unlink(rig->path);
        rig_open(rig);
        fill(rig);
        damages(rig, flips[i], "step 2");
    }
}

static void a_damaged_step_is_not_replayed(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    damages(rig, "UPDATE step SET outcome = '23' WHERE path = '2' AND" OF_B,
            "step 2");
    assert_null(rig_claim(rig, "b"));
    assert_int_equal(rig->err.code, EBB_JOURNAL);
    assert_non_null(strstr(rig->err.msg, "run b: step 2 is damaged"));
    /* It was given back: the next one hears the same, not "owned". */
    assert_null(rig_claim(rig, "b"));
    assert_int_equal(rig->err.code, EBB_JOURNAL);
}

/* No checksum is over these: what they are reckoned with must not overflow. */
static void numbers_that_cannot_be_are_none(void **state)
{
    static const char *const numbers[] = { "-9223372036854775808", "-1",
                                           "9223372036854775807" };
    journal_rig *rig = *state;
    ebb_journal_run *run;
    char sql[256];

    fill(rig);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *n = numbers[i];

        rig_close(rig);
        snprintf(sql, sizeof sql,
                 "UPDATE run SET started_ms = %s, updated_ms = %s,"
                 " ended_ms = %s; UPDATE step SET attempts = %s, next_ms = %s"
                 " WHERE path = '3'",
                 n, n, n, n, n);
        edit(rig->path, sql);
        rig_open(rig);
        run = rig_claim(rig, "b");
        assert_non_null(run);
        assert_int_equal(run->started_ms, 0);
        assert_int_equal(run->ended_ms, 0);
        assert_int_equal(run->steps[2].next_attempt_ms, 0);
        assert_in_range(run->steps[2].attempts, 0, 1000000);
        rig_release(rig, &run->claim);
        ebb_journal_run_free(run);
    }
}

static void counts_that_cannot_be_stop_the_writes_of_their_run(void **state)
{
    static const char *const columns[] = { "steps", "bytes", "lines", "seq" };
    journal_rig *rig = *state;

    fill(rig);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        ebb_journal_run *run;
        char sql[128];

        rig_close(rig);
        snprintf(sql, sizeof sql,
                 "UPDATE run SET %s = 9223372036854775807, fruitless ="
                 " 9223372036854775807 WHERE id = 'b'",
                 columns[i]);
        edit(rig->path, sql);
        rig_open(rig);
        run = rig_claim(rig, "b");
        assert_non_null(run);
        assert_int_equal(rig_intent(rig, &run->claim, "9"), EBB_JOURNAL);
        assert_int_equal(rig_outcome(rig, &run->claim, "3", "3"), EBB_JOURNAL);
        rig_release(rig, &run->claim);
        ebb_journal_run_free(run);
        rig_close(rig);
        snprintf(sql, sizeof sql, "UPDATE run SET %s = 3 WHERE id = 'b'",
                 columns[i]);
        edit(rig->path, sql);
        rig_open(rig);
    }
}

static void a_damaged_run_row_is_named(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    damages(rig, "UPDATE run SET seed = seed + 1 WHERE id = 'b'", "own row");
}

static void a_run_whose_state_flipped_is_named(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    damages(rig, "UPDATE run SET state = 1 WHERE id = 'b'", "own row");
}

static void damaged_attempts_and_lines_are_named(void **state)
{
    journal_rig *rig = *state;

    fill(rig);
    damages(rig,
            "UPDATE attempt SET next_ms = 7 WHERE step IN"
            " (SELECT key FROM step WHERE" OF_B ")",
            "attempt of step 3");
    rig_close(rig);
    unlink(rig->path);
    rig_open(rig);
    fill(rig);
    damages(rig, "UPDATE log SET message = 'hullo' WHERE" OF_B,
            "log line of step 1");
}

static void a_large_outcome_with_flipped_bits_is_not_given(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    char *json = rig_json(100000);
    problems p = { 0 };

    assert_int_equal(rig_outcome(rig, &run->claim, "1", json), EBB_OK);
    rig_release(rig, &run->claim);
    ebb_journal_run_free(run);
    rig_close(rig);
    edit(rig->path, "UPDATE large SET json = replace(json, 'aaaa\"', "
                    "'aaab\"')");
    rig_open(rig);
    assert_null(ebb_journal_get_run(rig->journal, "r", &rig->err));
    assert_non_null(strstr(rig->err.msg, "step 1 is damaged"));
    assert_int_equal(ebb_journal_check(rig->journal, note, &p, &rig->err), 1);
    free(json);
}

static void json_that_does_not_parse_is_found_by_the_check(void **state)
{
    journal_rig *rig = *state;
    ebb_journal_run *run = rig_claim(rig, "r");
    problems p = { 0 };

    assert_int_equal(rig_outcome(rig, &run->claim, "1", "{\"a\":"), EBB_OK);
    ebb_journal_run_free(run);
    assert_int_equal(ebb_journal_check(rig->journal, note, &p, &rig->err), 1);
    assert_string_equal(p.run, "r");
    assert_string_equal(p.what, "step 1: its JSON does not parse");
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_make, rig_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_whole_journal_has_no_problems),
        T(a_step_with_flipped_bits_stops_its_run_alone),
        T(a_damaged_step_is_not_replayed),
        T(numbers_that_cannot_be_are_none),
        T(counts_that_cannot_be_stop_the_writes_of_their_run),
        T(a_damaged_run_row_is_named),
        T(a_run_whose_state_flipped_is_named),
        T(damaged_attempts_and_lines_are_named),
        T(a_large_outcome_with_flipped_bits_is_not_given),
        T(json_that_does_not_parse_is_found_by_the_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
