/* SPDX-License-Identifier: MIT */

/*
 * The process is killed at every point of base/crash.h, at each passing, and
 * the run opened again until it ends: no step of class none is executed twice,
 * and the end is the one of a run that nobody killed.
 */

#include "base/crash.h"
#include "support/run_rig.h"

#include <signal.h>

#define PASSES_MAX 60 /* a point that is passed more often is a mistake */
#define RECOVERIES_MAX 5

enum { LIFE = 1, ONCE, LEFT, RIGHT, TRIED, LAST };

/* A none step: whether its outcome is unknown, which the script accepts. */
static int64_t once(rig *r, const char *path, int n, bool *unknown)
{
    char input[32];
    ebb_err err = { 0 };
    int64_t got;

    snprintf(input, sizeof input, "{\"n\":%d}", n);
    got = rig_call(r, path, "test.none", input, &err);
    if (err.code == EBB_OUTCOME_UNKNOWN)
        *unknown = true;
    else if (err.code != EBB_OK)
        _exit(3);
    return err.code == EBB_OK ? got : n;
}

/* Two branches at once and the combinator that waits for both. */
static int64_t both(rig *r, bool *unknown)
{
    rig_answer group, left, right;
    int64_t sum;

    rig_begin(r, &group, "3", "ebb.parallel", "read");
    rig_ask(r, &left, "3.1/1", "test.none", "{\"n\":3}");
    rig_ask(r, &right, "3.2/1", "test.read", "{\"n\":4}");
    rig_wait(r, &left);
    rig_wait(r, &right);
    rig_wait(r, &group);
    if (left.err.code == EBB_OUTCOME_UNKNOWN)
        *unknown = true;
    sum = (left.err.code == EBB_OK ? ebb_value_find_int(left.out, "n", 0)
                                   : LEFT) +
          ebb_value_find_int(right.out, "n", 0);
    ebb_value_free(left.out);
    ebb_value_free(right.out);
    if (group.step != NULL) {
        char text[32];
        snprintf(text, sizeof text, "{\"n\":%d}", (int)sum);
        if (rig_step_end(r, group.step, text) != EBB_OK)
            _exit(4);
    } else if (ebb_value_find_int(group.out, "n", 0) != sum) {
        _exit(5); /* recorded otherwise than it comes again */
    }
    ebb_value_free(group.out);
    return sum;
}

/* The "script". Exits with 0 when the run ended, with its sum recorded. */
static void execute(rig *r)
{
    ebb_err err = { 0 };
    bool unknown = false;
    ebb_value *result;
    int64_t sum;

    r->rt = NULL;
    r->run = NULL;
    rig_run(r, "a");
    if (ebb_run_get_state(r->run) == EBB_RUN_ACTIVE) {
        sum = rig_call(r, "1", "test.lifecycle", "{\"n\":1}", &err);
        sum += once(r, "2", ONCE, &unknown);
        sum += both(r, &unknown);
        sum += rig_call(r, "4", "test.read", "{\"n\":5,\"fails\":2}", &err);
        sum += once(r, "5", LAST, &unknown);
        result = ebb_value_int(sum);
        if (rig_end(r, EBB_RUN_DONE, result).code != EBB_OK)
            _exit(6);
        ebb_value_free(result);
    } else if (ebb_value_get_int(ebb_run_outcome(r->run)) != 21) {
        _exit(7);
    }
    rig_close(r);
    _exit(0);
}

/* Executes in a child; true: it was killed at the point. */
static bool killed_at(rig *r, const char *crash)
{
    int status;
    pid_t child;

    if (crash != NULL)
        setenv("EBB_CRASH", crash, 1);
    else
        unsetenv("EBB_CRASH");
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        execute(r);
    assert_int_equal(waitpid(child, &status, 0), child);
    unsetenv("EBB_CRASH");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

static void forget(rig *r)
{
    char command[128];

    snprintf(command, sizeof command, "rm -f '%s'*", r->journal);
    assert_int_equal(system(command), 0);
    memset(r->executed, 0, RIG_COUNTERS * sizeof(int));
}

static void check(const rig *r)
{
    static const int none[] = { ONCE, LEFT, LAST };

    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_in_range(r->executed[none[i]], 0, 1);
    assert_true(r->executed[LIFE] >= 1);
    assert_in_range(r->executed[TRIED], 3, 3 + RECOVERIES_MAX);
}

/* Returns how often the point is passed. */
static int kill_at_each(rig *r, ebb_crash_point point)
{
    char crash[64];
    int n = 1;

    for (;; n++) {
        bool killed;
        assert_true(n < PASSES_MAX);
        snprintf(crash, sizeof crash, "%s:%d", ebb_crash_point_name(point),
                 n);
        forget(r);
        killed = killed_at(r, crash);
        for (int i = 0; killed && killed_at(r, NULL); i++)
            assert_true(i < RECOVERIES_MAX);
        check(r);
        if (!killed)
            return n - 1;
    }
}

static void nothing_is_executed_twice_wherever_it_is_killed(void **state)
{
    rig *r = *state;
    int total = 0;

    forget(r);
    assert_false(killed_at(r, NULL));
    for (int n = LIFE; n <= LAST; n++)
        assert_int_equal(r->executed[n], n == TRIED ? 3 : 1);
    for (int p = 0; p < EBB_CRASH_POINTS_COUNT; p++) {
        int passed = kill_at_each(r, (ebb_crash_point)p);
        printf("%-16s %3d\n", ebb_crash_point_name((ebb_crash_point)p),
               passed);
        if (p != EBB_CRASH_SENT) /* of requests alone: spec/crash */
            assert_true(passed > 0);
        total += passed;
    }
    printf("killed at %d points, each resumed to its end\n", total);
}

/* Killed once, and while it recovers once more. */
static void nor_when_it_is_killed_while_it_recovers(void **state)
{
    static const char *const first[] = { "connected:1", "intent-done:3",
                                         "answered:2", "outcome:2",
                                         "outcome-done:4" };
    rig *r = *state;
    char crash[64];
    int pairs = 0;

    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        for (int p = 0; p < EBB_CRASH_POINTS_COUNT; p++) {
            forget(r);
            assert_true(killed_at(r, first[i]));
            snprintf(crash, sizeof crash, "%s:1",
                     ebb_crash_point_name((ebb_crash_point)p));
            pairs += killed_at(r, crash);
            killed_at(r, NULL);
            check(r);
        }
    printf("killed at %d pairs of points\n", pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            nothing_is_executed_twice_wherever_it_is_killed, rig_setup,
            rig_teardown),
        cmocka_unit_test_setup_teardown(
            nor_when_it_is_killed_while_it_recovers, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
