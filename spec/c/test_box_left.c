/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* for the support pieces */
#include <signal.h>
#include <sys/prctl.h>

#include "sandbox/service/box/limits.h"
#include "support/box_host.h"

/*
 * What a service that is killed while it starts a box leaves behind: the next
 * one finds it by the box's directory alone. Orphans come to this process, so
 * that it sees every one of them.
 */

#define MOMENTS   40
#define STEP_US   200  /* between two moments of the kill */
#define GONE_MS   3000 /* until all of it has ended */
#define SETTLE_US 30000

/* A service that starts a box; it is killed when it has, or before. */
static pid_t start_service(const rig *left)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        rig r = *left;
        ebb_err err;

        r.loop = ebb_loop_new(NULL, &err);
        if (ebb_box_start(r.loop, &r.config, &err) == NULL)
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    return pid;
}

static void kill_service(pid_t pid, useconds_t after)
{
    int status;

    if (after > 0) {
        usleep(after);
        kill(pid, SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Until no child is left, ours or adopted; false after GONE_MS. */
static bool all_gone(void)
{
    double end = rig_ms() + GONE_MS;

    while (rig_ms() < end) {
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
            return true;
        usleep(1000);
    }
    return false;
}

static void nothing_is_left_of_a_killed_start(void **state)
{
    rig r;
    unsigned found = 0;

    (void)state;
    rig_open_state(&r);
    for (int i = 0; i < MOMENTS; i++) {
        char id[16];
        pid_t service;

        snprintf(id, sizeof id, "left%d", i);
        rig_make_dirs(&r, id);
        service = start_service(&r);
        kill_service(service, (useconds_t)i * STEP_US);
        if (i % 2 == 0)
            usleep(SETTLE_US); /* bubblewrap has come further by then */
        found += count_processes(r.id) > 0;
        ebb_box_left_kill(r.dir);
        if (!all_gone())
            fail_msg("killed after %d us: %u processes", i * STEP_US,
                     count_processes(r.id));
        assert_int_equal(count_processes(r.id), 0);
        ebb_box_left_kill(r.dir); /* and again: nothing to do */
        ebb_limits_del(r.id);
    }
    assert_true(found > 0);
    rig_close_state(&r);
}

/* What is written there may be another's process by now. */
static void a_process_that_only_has_the_pid_lives(void **state)
{
    char path[200], text[64];
    int status;
    rig r;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        pause();
        _exit(0);
    }
    rig_open_state(&r);
    rig_make_dirs(&r, "other");
    snprintf(path, sizeof path, "%s/" EBB_BOX_LEFT_NAME, r.dir);
    static const char *const records[] = { "%d 12345\n", "%d",     "x\n",
                                           "",           "-1 1\n", "1 1\n" };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        FILE *file = fopen(path, "w");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, records[i], (int)pid);
#pragma GCC diagnostic pop
        fputs(text, file);
        fclose(file);
        ebb_box_left_kill(r.dir);
    }
    unlink(path);
    ebb_box_left_kill(r.dir);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    rig_close_state(&r);
}

static void a_box_that_runs_can_be_ended_by_it(void **state)
{
    rig r;

    (void)state;
    rig_open_state(&r);
    rig_make_dirs(&r, "runs");
    rig_start(&r);
    assert_int_equal(r.err.code, EBB_OK);
    ebb_box_left_kill(r.dir);
    rig_wait(&r, &r.dead);
    ebb_box_free(r.box);
    assert_int_equal(count_processes(r.id), 0);
    rig_close_state(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_of_a_killed_start),
        cmocka_unit_test(a_process_that_only_has_the_pid_lives),
        cmocka_unit_test(a_box_that_runs_can_be_ended_by_it),
    };

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
