/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/limits.h"
#include "support/box_host.h"
#include "support/box_run.h"
#include "support/case.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* ---- limits and usage ---- */

static void usage_counts_time_and_memory(void **state)
{
    rig *r = *state;
    ebb_box_usage before, after;

    ebb_box_usage_get(r->box, &before);
    rig_run(r, "python3 -c 'x = bytearray(50 << 20); s = 0\n"
               "for i in range(3000000): s += i\n"
               "print(1, flush=True); import time; time.sleep(0)'");
    ebb_box_usage_get(r->box, &after);
    assert_true(after.cpu_seconds > before.cpu_seconds + 0.02);
    assert_true(after.memory_bytes > 0);
    assert_true(after.disk_total_bytes > after.disk_bytes);
    rig_spawn(r, "exec python3 -c 'x = bytearray(50 << 20); print(1, "
                 "flush=True); import time; time.sleep(9)'");
    while (r->out.n == 0)
        rig_drain(r->stdout_fd, &r->out);
    ebb_box_usage_get(r->box, &after);
    assert_true(after.memory_bytes > 50u << 20);
}

static void memory_is_limited_or_the_limit_is_refused(void **state)
{
    rig *r = *state;
    ebb_limits_report report;
    ebb_err err;

    rig_stop(r);
    ebb_limits_describe(&report);
    assert_non_null(report.freeze);
    assert_non_null(report.pids);
    assert_null(report.disk);
    r->config.limits.memory_bytes = 100u << 20;
    if (report.memory == NULL) {
        assert_int_equal(ebb_limits_check(&r->config.limits, &err), -1);
        assert_int_equal(err.code, EBB_UNSUPPORTED);
        assert_null(ebb_box_start(r->loop, &r->config, &err));
        assert_int_equal(err.code, EBB_UNSUPPORTED);
        return;
    }
    assert_int_equal(ebb_limits_check(&r->config.limits, &err), 0);
    rig_start(r);
    assert_int_equal(
        rig_run(r, "python3 -c 'x = bytearray(300 << 20)'"), 137);
    assert_int_equal(rig_run(r, "python3 -c 'x = bytearray(10 << 20)'"), 0);
}

static void cpus_and_processes_are_limited_by_groups_where_they_can(void **s)
{
    rig *r = *s;
    ebb_limits_report report;
    ebb_box_usage before, after;
    double start;

    rig_stop(r);
    ebb_limits_describe(&report);
    r->config.limits.pids = 40;
    r->config.limits.cpus = report.cpus != NULL ? 0.25 : 0;
    rig_start(r);
    assert_int_equal(r->err.code, EBB_OK);
    rig_run(r, "for i in $(seq 60); do sleep 2 & done 2>&1 | grep -m 1 -o "
               "'temporarily unavailable'");
    assert_non_null(strstr(rig_out(r), "temporarily"));
    if (report.cpus == NULL)
        return;
    ebb_box_usage_get(r->box, &before);
    start = rig_ms();
    rig_run(r, "timeout 0.8 sh -c 'while :; do :; done'");
    ebb_box_usage_get(r->box, &after);
    assert_true(after.cpu_seconds - before.cpu_seconds <
                (rig_ms() - start) / 1e3 * 0.5);
}

static void a_limit_of_disk_space_is_refused(void **state)
{
    rig *r = *state;
    ebb_err err;

    rig_stop(r);
    r->config.limits.disk_bytes = 1u << 30;
    assert_null(ebb_box_start(r->loop, &r->config, &err));
    assert_int_equal(err.code, EBB_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "--disk"));
    assert_int_equal(count_groups(r), 0);
}

static void groups_that_a_killed_service_left_can_be_removed(void **state)
{
    rig *r = *state;
    ebb_box_limits none = { .pids = 0 };
    ebb_limits limits;
    ebb_err err;

    rig_stop(r);
    assert_int_equal(ebb_limits_open(&limits, r->id, &none, &err), 0);
    ebb_limits_del(r->id);
    assert_int_equal(count_groups(r), 0);
    ebb_limits_close(&limits);
    ebb_limits_del("none-such");
}

/* Where there is version 2 it is taken, so the older one is tried alone. */
static void version_1_freezes_thaws_and_lets_a_kill_arrive(void **state)
{
    rig *r = *state;
    ebb_limits limits = { .unified_fd = -1 };
    ebb_cgroup_places places;
    char *dir, name[PATH_MAX];
    ebb_err err;
    pid_t pid;

    assert_int_equal(ebb_cgroup_find(&places, &err), 0);
    dir = ebb_cgroup_new(places.own[EBB_CGROUP_FREEZER], r->id);
    ebb_cgroup_clear(&places);
    if (dir == NULL)
        skip();
    snprintf(name, sizeof name, "%s", dir);
    limits.dirs[EBB_CGROUP_FREEZER] = dir;
    assert_true(ebb_limits_can_freeze(&limits));
    pid = fork();
    if (pid == 0)
        _exit(ebb_limits_join(&limits, false) == 0 ? pause() : 1);
    while (ebb_cgroup_read(dir, "cgroup.procs", "") == 0)
        usleep(1000);
    for (int turn = 0; turn < 3; turn++) {
        bool frozen = turn != 1;

        assert_int_equal(ebb_limits_freeze(&limits, frozen, &err), 0);
        while (!ebb_limits_is_frozen(&limits, frozen))
            usleep(1000);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    ebb_limits_kill(&limits);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    while (!ebb_limits_close(&limits))
        usleep(1000);
    assert_int_equal(access(name, F_OK), -1);
}

/* ---- what can be wrong with the machine ---- */

static void the_check_passes_here(void **state)
{
    ebb_err err = { .code = EBB_OK };

    (void)state;
    if (ebb_box_check(&err) != 0)
        fail_msg("%s", err.msg);
}

/* What the check says in a child for which it was made worse. */
static const char *check_in(bool (*worsen)(void))
{
    static char said[EBB_ERR_MSG_BYTES];
    int fds[2];
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        ebb_err err = { .msg = "passed" };

        if (!worsen())
            snprintf(err.msg, sizeof err.msg, "skip");
        else if (ebb_box_check(&err) == 0)
            snprintf(err.msg, sizeof err.msg, "passed");
        (void)!write(fds[1], err.msg, sizeof err.msg);
        _exit(0);
    }
    close(fds[1]);
    n = read(fds[0], said, sizeof said);
    close(fds[0]);
    waitpid(pid, NULL, 0);
    assert_int_equal(n, sizeof said);
    if (strcmp(said, "skip") == 0)
        skip();
    return said;
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

    if (fd >= 0)
        close(fd);
    return ok;
}

/* In a user namespace of our own, where that number is ours to set. */
static bool forbid_namespaces(void)
{
    char map[64];

    snprintf(map, sizeof map, "0 %u 1", (unsigned)geteuid());
    return unshare(CLONE_NEWUSER) == 0 &&
           write_text("/proc/self/uid_map", map) &&
           write_text("/proc/sys/user/max_user_namespaces", "0");
}

static char chroot_dir[] = "/tmp/ebb-chroot-XXXXXX";

static bool enter_chroot(void)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("/", chroot_dir, NULL, MS_BIND | MS_REC, NULL) == 0 &&
           chroot(chroot_dir) == 0 && chdir("/") == 0;
}

static void a_machine_without_user_namespaces_is_told_the_fix(void **state)
{
    (void)state;
    assert_non_null(strstr(check_in(forbid_namespaces),
                           "sysctl -w user.max_user_namespaces="));
}

static void a_chroot_is_told_from_other_reasons(void **state)
{
    const char *said;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(chroot_dir));
    said = check_in(enter_chroot);
    assert_int_equal(rmdir(chroot_dir), 0);
    assert_non_null(strstr(said, "chroot"));
}

static void a_missing_agent_is_an_error_that_names_it(void **state)
{
    rig *r = *state;
    char *libexec = strdup(getenv("EBB_LIBEXEC"));
    ebb_err err;

    rig_stop(r);
    setenv("EBB_LIBEXEC", r->state, 1);
    assert_null(ebb_box_start(r->loop, &r->config, &err));
    setenv("EBB_LIBEXEC", libexec, 1);
    free(libexec);
    assert_int_equal(err.code, EBB_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "ebb-agent"));
    assert_int_equal(count_groups(r), 0);
}

static void too_few_descriptors_are_an_error_and_leak_none(void **state)
{
    rig *r = *state;
    struct rlimit saved, low;
    ebb_err err;
    int first, last;

    rig_stop(r);
    ebb_loop_run(r->loop, 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    first = dup(0);
    close(first);
    for (rlim_t more = 0; more < 24; more++) {
        low = (struct rlimit){ (rlim_t)first + more, saved.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        err.code = EBB_OK;
        r->box = ebb_box_start(r->loop, &r->config, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
        if (r->box != NULL)
            break;
        assert_int_not_equal(err.code, EBB_OK);
        ebb_loop_run(r->loop, 0);
        last = dup(0);
        close(last);
        assert_int_equal(last, first);
    }
    ebb_box_free(r->box);
    r->box = NULL;
    assert_int_equal(count_groups(r), 0);
}

static void what_bubblewrap_says_is_the_error(void **state)
{
    rig *r = *state;
    char place[200];

    rig_stop(r);
    snprintf(place, sizeof place, "%s/.root-1/etc/ssl", r->state);
    assert_int_equal(rmdir(place), 0);
    rig_start(r);
    assert_int_equal(r->err.code, EBB_SERVER);
    assert_non_null(strstr(r->err.msg, "bubblewrap did not start: bwrap: "));
    assert_int_equal(count_groups(r), 0);
    ebb_box_free(r->box);
    r->box = NULL;
}

static void the_hosts_root_is_refused(void **state)
{
    rig *r = *state;
    ebb_err err;

    rig_stop(r);
    r->config.uid = 0;
    assert_null(ebb_box_start(r->loop, &r->config, &err));
    assert_int_equal(err.code, EBB_INVALID_INPUT);
}

static void a_state_directory_below_a_closed_one_works(void **state)
{
    rig *r = *state;
    char shown[sizeof r->state];

    rig_stop(r);
    memcpy(shown, r->state, sizeof shown);
    assert_int_equal(chmod(r->state, 0700), 0); /* as /root is */
    snprintf(r->state + strlen(r->state), 8, "/below");
    assert_int_equal(mkdir(r->state, 0711), 0);
    rig_make_dirs(r, "shown");
    rig_start(r);
    if (r->err.code != EBB_OK)
        fail_msg("%s", r->err.msg);
    rig_run(r, "touch ~/x /tmp/x; ls ~ /tmp");
    assert_string_equal(rig_out(r), "/home/user:\nx\n\n/tmp:\nx\n");
    memcpy(r->state, shown, sizeof shown);
}

int main(void)
{
#define BOX(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define BOX_CASE(name, names) CASE_WITH(name, names, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        BOX(usage_counts_time_and_memory),
        BOX_CASE(memory_is_limited_or_the_limit_is_refused, "C24"),
        BOX_CASE(cpus_and_processes_are_limited_by_groups_where_they_can,
                 "C24"),
        BOX_CASE(a_limit_of_disk_space_is_refused, "C24"),
        BOX_CASE(groups_that_a_killed_service_left_can_be_removed, "A19"),
        BOX(version_1_freezes_thaws_and_lets_a_kill_arrive),
        BOX(the_check_passes_here),
        BOX(a_machine_without_user_namespaces_is_told_the_fix),
        BOX(a_chroot_is_told_from_other_reasons),
        BOX(a_missing_agent_is_an_error_that_names_it),
        BOX(too_few_descriptors_are_an_error_and_leak_none),
        BOX(what_bubblewrap_says_is_the_error),
        BOX(the_hosts_root_is_refused),
        BOX(a_state_directory_below_a_closed_one_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
