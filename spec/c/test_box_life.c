/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/limits.h"
#include "support/box_rig.h"

#include <dirent.h>
#include <glob.h>
#include <signal.h>
#include <sys/mman.h>

/* ---- what is left on the host ---- */

static unsigned count_groups(const rig *r)
{
    static const char *const patterns[] = { "/sys/fs/cgroup/ebb-%s",
                                            "/sys/fs/cgroup/*/ebb-%s",
                                            "/sys/fs/cgroup/*/*/ebb-%s",
                                            "/sys/fs/cgroup/*/*/*/ebb-%s" };
    unsigned count = 0;

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char pattern[128];
        glob_t found;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(pattern, sizeof pattern, patterns[i], r->id);
#pragma GCC diagnostic pop
        if (glob(pattern, 0, NULL, &found) == 0) {
            count += (unsigned)found.gl_pathc;
            globfree(&found);
        }
    }
    return count;
}

/* Processes whose command line has the word, host-wide. */
static unsigned count_processes(const char *word)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    unsigned count = 0;

    while ((entry = readdir(proc)) != NULL) {
        char path[300], text[4096];
        ssize_t n;
        int fd;

        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        n = read(fd, text, sizeof text);
        close(fd);
        count += n > 0 && memmem(text, (size_t)n, word, strlen(word)) != NULL;
    }
    closedir(proc);
    return count;
}

static unsigned count_mounts(void)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    unsigned count = 0;
    int c;

    while ((c = fgetc(file)) != EOF)
        count += c == '\n';
    fclose(file);
    return count;
}

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

/* ---- what can be wrong with the machine ---- */

static void the_check_passes_here(void **state)
{
    ebb_err err = { .code = EBB_OK };

    (void)state;
    if (ebb_box_check(&err) != 0)
        fail_msg("%s", err.msg);
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

/* As root: all of it once more as somebody without rights. */
static void it_works_for_a_plain_user(void **state)
{
    rig *r = *state;
    char agent[PATH_MAX], copy[PATH_MAX], command[3 * PATH_MAX];
    int status, self = open("/proc/self/exe", O_RDONLY);
    pid_t pid;

    if (geteuid() != 0 || getenv("EBB_TEST_PLAIN") != NULL)
        skip();
    snprintf(agent, sizeof agent, "%s/ebb-agent", getenv("EBB_LIBEXEC"));
    snprintf(copy, sizeof copy, "%s/libexec", r->state);
    assert_int_equal(mkdir(copy, 0755), 0);
    snprintf(command, sizeof command, "cp '%s' '%s/ebb-agent'", agent, copy);
    assert_int_equal(system(command), 0);
    pid = fork();
    if (pid == 0) {
        char *args[] = { (char[]){ "test_box_life" }, NULL };
        int log = memfd_create("log", 0);

        dup2(log, 1);
        dup2(log, 2);
        setenv("EBB_LIBEXEC", copy, 1);
        setenv("EBB_TEST_PLAIN", "1", 1);
        if (setgid(65534) == 0 && setuid(65534) == 0)
            fexecve(self, args, environ);
        _exit(127);
    }
    close(self);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
#define BOX(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        BOX(a_stop_leaves_no_process_mount_or_group),
        BOX(a_stop_answers_what_is_in_flight),
        BOX(the_death_of_the_first_process_is_told_once),
        BOX(a_box_freed_before_it_is_ready_leaves_nothing),
        BOX(a_box_stopped_before_it_is_ready_is_never_ready),
        BOX(a_frozen_box_stands_still_and_goes_on),
        BOX(a_frozen_box_can_be_stopped),
        BOX(a_killed_frozen_box_ends_a_freeze_under_way),
        BOX(usage_counts_time_and_memory),
        BOX(memory_is_limited_or_the_limit_is_refused),
        BOX(cpus_and_processes_are_limited_by_groups_where_they_can),
        BOX(a_limit_of_disk_space_is_refused),
        BOX(groups_that_a_killed_service_left_can_be_removed),
        BOX(the_check_passes_here),
        BOX(a_missing_agent_is_an_error_that_names_it),
        BOX(what_bubblewrap_says_is_the_error),
        BOX(the_hosts_root_is_refused),
        BOX(a_state_directory_below_a_closed_one_works),
        BOX(it_works_for_a_plain_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
