/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "support/box_host.h"
#include "support/box_run.h"
#include "support/case.h"

#include <signal.h>

/* A number that no other process has in its command line. */
static const char *number(void)
{
    static char text[32];

    snprintf(text, sizeof text, "87%d.25", (int)getpid());
    return text;
}

static void start_sleepers(rig *r)
{
    char script[256];

    snprintf(script, sizeof script,
             "for i in 1 2 3; do sleep %s & (setsid sleep %s &) ; done; "
             "trap '' TERM HUP INT; echo up; wait",
             number(), number());
    rig_spawn(r, script);
    while (r->out.n == 0) {
        rig_drain(r->stdout_fd, &r->out);
        usleep(1000);
    }
    usleep(20000);
}

static void a_stop_leaves_no_process_mount_or_group(void **state)
{
    rig *r = *state;
    unsigned mounts = count_mounts();

    start_sleepers(r);
    assert_int_equal(count_processes(number()), 7);
    rig_stop(r);
    assert_int_equal(count_processes(number()), 0);
    assert_int_equal(count_groups(r), 0);
    assert_int_equal(count_mounts(), mounts);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(r->deaths, 0);
}

static void a_stop_answers_what_is_in_flight(void **state)
{
    rig *r = *state;
    const char *const argv[] = { "true", NULL };
    ebb_box_spawn_config config = { .argv = argv,
                                    .envp = rig_env,
                                    .cwd = "/" };

    r->done = false;
    ebb_box_spawn(r->box, &config, rig_on_spawned, r);
    ebb_box_stop(r->box, rig_on_stopped, r);
    rig_wait(r, &r->stopped);
    assert_true(r->done);
    assert_int_equal(r->err.code, EBB_SANDBOX_NOT_RUNNING);
    r->done = false;
    ebb_box_remove(r->box, "/tmp/x", rig_on_done, r);
    assert_false(r->done);
    rig_wait(r, &r->done);
    assert_int_equal(r->err.code, EBB_SANDBOX_NOT_RUNNING);
    ebb_box_free(r->box);
    r->box = NULL;
}

static void the_death_of_the_first_process_is_told_once(void **state)
{
    rig *r = *state;

    start_sleepers(r);
    assert_true(ebb_box_pid(r->box) > 1);
    assert_int_equal(kill(ebb_box_pid(r->box), SIGKILL), 0);
    rig_wait(r, &r->dead);
    assert_int_equal(r->deaths, 1);
    assert_int_equal(count_processes(number()), 0);
    assert_int_equal(count_groups(r), 0);
    ebb_box_stop(r->box, rig_on_stopped, r);
    rig_wait(r, &r->stopped);
    ebb_box_free(r->box);
    r->box = NULL;
    assert_int_equal(r->deaths, 1);
}

static void a_box_freed_before_it_is_ready_leaves_nothing(void **state)
{
    rig *r = *state;
    ebb_err err;

    rig_stop(r);
    for (int turns = 0; turns < 4; turns++) {
        r->ready = false;
        r->box = ebb_box_start(r->loop, &r->config, &err);
        assert_non_null(r->box);
        for (int i = 0; i < turns; i++)
            ebb_loop_run(r->loop, 1);
        if (r->ready)
            rig_stop(r);
        else
            ebb_box_free(r->box);
        r->box = NULL;
        assert_int_equal(count_processes(r->dir), 0);
        assert_int_equal(count_groups(r), 0);
    }
}

static void a_box_stopped_before_it_is_ready_is_never_ready(void **state)
{
    rig *r = *state;
    ebb_err err;

    rig_stop(r);
    r->ready = r->stopped = false;
    r->box = ebb_box_start(r->loop, &r->config, &err);
    assert_non_null(r->box);
    ebb_box_stop(r->box, rig_on_stopped, r);
    rig_wait(r, &r->stopped);
    assert_false(r->ready);
    assert_int_equal(count_processes(r->dir), 0);
    ebb_box_free(r->box);
    r->box = NULL;
}

/* ---- freeze ---- */

static void wait_done(rig *r)
{
    assert_false(r->done);
    rig_wait(r, &r->done);
    assert_int_equal(r->err.code, EBB_OK);
}

static void freeze(rig *r)
{
    r->done = false;
    ebb_box_freeze(r->box, rig_on_done, r);
    wait_done(r);
}

static void thaw(rig *r)
{
    r->done = false;
    ebb_box_thaw(r->box, rig_on_done, r);
    wait_done(r);
}

/* What a frozen box's process has written meanwhile: nothing. */
static size_t progress(rig *r, int ms)
{
    size_t before;

    rig_drain(r->stdout_fd, &r->out);
    before = r->out.n;
    for (int i = 0; i < ms; i += 5) {
        usleep(5000);
        rig_drain(r->stdout_fd, &r->out);
    }
    return r->out.n - before;
}

static void a_frozen_box_stands_still_and_goes_on(void **state)
{
    rig *r = *state;

    rig_spawn(r, "while :; do echo x; (sleep 0.002); done");
    assert_true(progress(r, 300) > 0);
    for (int i = 0; i < 3; i++) {
        freeze(r);
        assert_int_equal(progress(r, 100), 0);
        thaw(r);
        assert_true(progress(r, 300) > 0);
    }
    assert_int_equal(rig_signal(r, SIGKILL, true), EBB_OK);
    rig_finish(r);
    assert_int_equal(rig_run(r, "echo on"), 0);
}

static void a_frozen_box_can_be_stopped(void **state)
{
    rig *r = *state;

    start_sleepers(r);
    freeze(r);
    rig_stop(r);
    assert_int_equal(count_processes(number()), 0);
    assert_int_equal(count_groups(r), 0);
}

static void a_killed_frozen_box_ends_a_freeze_under_way(void **state)
{
    rig *r = *state;

    r->done = false;
    ebb_box_freeze(r->box, rig_on_done, r);
    ebb_box_stop(r->box, rig_on_stopped, r);
    rig_wait(r, &r->stopped);
    assert_true(r->done);
    ebb_box_free(r->box);
    r->box = NULL;
}

int main(void)
{
#define BOX(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define BOX_CASE(name, names) CASE_WITH(name, names, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        BOX_CASE(a_stop_leaves_no_process_mount_or_group, "A11"),
        BOX(a_stop_answers_what_is_in_flight),
        BOX_CASE(the_death_of_the_first_process_is_told_once, "A19"),
        BOX(a_box_freed_before_it_is_ready_leaves_nothing),
        BOX(a_box_stopped_before_it_is_ready_is_never_ready),
        BOX(a_frozen_box_stands_still_and_goes_on),
        BOX_CASE(a_frozen_box_can_be_stopped, "A11"),
        BOX(a_killed_frozen_box_ends_a_freeze_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
