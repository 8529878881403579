/* SPDX-License-Identifier: MIT */

/* Who owns a run, how it is taken, and how a failed one goes on. */

#include "support/run_rig.h"

#include <signal.h>

static void a_living_owner_is_named(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };
    int ready[2], status;
    char byte;
    pid_t child;
    ebb_run_config config;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        rig_run(r, "a");
        assert_int_equal(write(ready[1], "x", 1), 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    ebb_run_config_init(&config);
    config.id = "a";
    assert_null(rig_try_run(r, &config, &err));
    assert_int_equal(err.code, EBB_OWNED);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_non_null(rig_try_run(r, &config, &err)); /* a dead one's at once */
    close(ready[0]);
    close(ready[1]);
}

/* SIGSTOP, taken over, SIGCONT: the stale one stops before its next effect. */
static void a_stale_owner_executes_nothing_more(void **state)
{
    rig *r = *state;
    ebb_err err = { 0 };
    int ready[2], status;
    char byte;
    pid_t child;
    ebb_run_config config;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        rig_run(r, "a");
        rig_call(r, "1", "test.none", "{\"n\":1}", &err);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        raise(SIGSTOP);
        rig_call(r, "2", "test.none", "{\"n\":2}", &err);
        if (!ebb_run_cancel_requested(r->run))
            _exit(3); /* a host that sleeps is woken */
        _exit(err.code == EBB_LOST_OWNERSHIP ? 42 : 2);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    waitpid(child, &status, WUNTRACED);
    assert_true(WIFSTOPPED(status));
    ebb_run_config_init(&config);
    config.id = "a";
    config.take_over = true;
    assert_non_null(rig_try_run(r, &config, &err));
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 42);
    assert_int_equal(r->executed[2], 0);
    rig_call(r, "1", "test.none", "{\"n\":1}", &err);
    assert_int_equal(rig_call(r, "2", "test.none", "{\"n\":2}", &err), 2);
    assert_int_equal(r->executed[2], 1);
    close(ready[0]);
    close(ready[1]);
}

/* ---- resume ---- */

static void a_failed_run_tries_its_last_step_again(void **state)
{
    rig *r = *state;
    rig_answer answer;
    ebb_run_config config;
    ebb_err err = { 0 };

    rig_run(r, "a");
    rig_call(r, "1", "test.none", "{\"n\":1}", &err);
    rig_ask(r, &answer, "2", "test.read", "{\"n\":2,\"fails\":4}");
    rig_wait(r, &answer);
    assert_int_equal(answer.err.code, EBB_NETWORK);
    rig_call(r, "3", "test.lifecycle", "{\"n\":3}", &err); /* cleanup */
    assert_int_equal(rig_end(r, EBB_RUN_FAILED, answer.out).code, EBB_OK);
    ebb_value_free(answer.out);
    rig_again(r, "a");
    assert_int_equal(ebb_run_get_state(r->run), EBB_RUN_FAILED);
    ebb_run_close(r->run);
    ebb_run_config_init(&config);
    config.id = "a";
    config.resume = true;
    assert_non_null(rig_try_run(r, &config, &err));
    assert_int_equal(ebb_run_get_state(r->run), EBB_RUN_ACTIVE);
    assert_null(ebb_run_outcome(r->run));
    rig_call(r, "1", "test.none", "{\"n\":1}", &err);
    assert_int_equal(r->executed[1], 1); /* stays */
    rig_call(r, "2", "test.read", "{\"n\":2,\"fails\":4}", &err);
    assert_string_equal(err.msg, "");
    assert_int_equal(r->executed[2], 5);
    rig_call(r, "3", "test.none", "{\"n\":4}", &err); /* something else now */
    assert_int_equal(err.code, EBB_OK);
}

/* ---- a run that kills its process ---- */

static int die_at(rig *r, const char *crash)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        ebb_run_config config;
        ebb_err err = { 0 };
        setenv("EBB_CRASH", crash, 1);
        ebb_run_config_init(&config);
        config.id = "a";
        _exit(rig_try_run(r, &config, &err) == NULL ? (int)err.code : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 0 : WEXITSTATUS(status);
}

static void a_run_that_keeps_killing_its_process_is_stuck(void **state)
{
    rig *r = *state;
    ebb_run_config config;
    ebb_err err = { 0 };

    for (int i = 0; i <= 10; i++) /* once, and ten recoveries */
        assert_int_equal(die_at(r, "run-opened"), 0);
    assert_int_equal(die_at(r, "run-opened"), EBB_STUCK);
    ebb_run_config_init(&config);
    config.id = "a";
    assert_null(rig_try_run(r, &config, &err));
    assert_int_equal(err.code, EBB_STUCK);
    config.resume = true; /* on purpose, it may be tried again */
    assert_non_null(rig_try_run(r, &config, &err));
}

int main(void)
{
#define RUN(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        RUN(a_living_owner_is_named),
        RUN(a_stale_owner_executes_nothing_more),
        RUN(a_failed_run_tries_its_last_step_again),
        RUN(a_run_that_keeps_killing_its_process_is_stuck),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
