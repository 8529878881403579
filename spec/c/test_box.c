/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "support/box_run.h"
#include "support/case.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

/* ---- what a command gets and gives ---- */

static void a_command_gives_its_streams_and_its_status(void **state)
{
    rig *r = *state;

    assert_int_equal(rig_run(r, "echo hello; echo trouble >&2; exit 3"), 3);
    assert_string_equal(rig_out(r), "hello\n");
    assert_string_equal(rig_errors(r), "trouble\n");
    assert_int_equal(rig_run(r, "kill -TERM $$"), 128 + SIGTERM);
}

static void both_streams_of_a_megabyte_arrive_whole(void **state)
{
    rig *r = *state;

    rig_run(r, "head -c 1048576 /dev/zero | tr '\\0' x; "
               "head -c 1048576 /dev/zero | tr '\\0' y >&2; cat");
    assert_int_equal(r->out.n, 1048576);
    assert_int_equal(r->errors.n, 1048576);
    assert_null(memchr(r->out.bytes, 'y', r->out.n));
}

static void a_program_that_is_not_there_is_an_ordinary_127(void **state)
{
    rig *r = *state;
    const char *const argv[] = { "no-such-program", "x", NULL };

    rig_spawn_config(r, &(ebb_box_spawn_config){ .argv = argv,
                                                 .envp = rig_env,
                                                 .cwd = "/" });
    assert_int_equal(r->err.code, EBB_OK);
    rig_finish(r);
    assert_int_equal(WEXITSTATUS(r->status), 127);
    assert_string_equal(rig_errors(r),
                        "no-such-program: No such file or directory\n");
}

static void a_file_that_cannot_be_executed_is_an_ordinary_126(void **state)
{
    rig *r = *state;
    const char *const argv[] = { "/etc/passwd", NULL };

    rig_spawn_config(r, &(ebb_box_spawn_config){ .argv = argv,
                                                 .envp = rig_env,
                                                 .cwd = "/" });
    rig_finish(r);
    assert_int_equal(WEXITSTATUS(r->status), 126);
    assert_string_equal(rig_errors(r), "/etc/passwd: Permission denied\n");
}

static void a_bad_working_directory_is_an_error_with_its_errno(void **state)
{
    rig *r = *state;
    static const struct { const char *cwd; int error; } cases[] = {
        { "/no/such", ENOENT }, { "/etc/passwd", ENOTDIR }, { "x", 0 },
    };
    const char *const argv[] = { "true", NULL };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_spawn_config(r, &(ebb_box_spawn_config){ .argv = argv,
                                                     .envp = rig_env,
                                                     .cwd = cases[i].cwd });
        assert_int_equal(r->err.code, EBB_INVALID_INPUT);
        assert_int_equal(r->err.status, cases[i].error);
        assert_int_equal(r->stdout_fd, -1);
    }
    assert_int_equal(rig_run(r, "pwd"), 0); /* the agent is where it was */
    assert_string_equal(rig_out(r), "/home/user\n");
}

static void standard_input_is_empty_or_a_pipe(void **state)
{
    rig *r = *state;
    const char *const argv[] = { "cat", NULL };
    ebb_box_spawn_config config = { .argv = argv,
                                    .envp = rig_env,
                                    .cwd = "/",
                                    .stdin_pipe = true };

    assert_int_equal(rig_run(r, "readlink /proc/self/fd/0; cat"), 0);
    assert_string_equal(rig_out(r), "/dev/null\n");
    rig_spawn_config(r, &config);
    assert_true(fcntl(r->stdin_fd, F_GETFL) & O_NONBLOCK);
    assert_int_equal(write(r->stdin_fd, "to and fro", 10), 10);
    rig_close_fd(&r->stdin_fd);
    rig_finish(r);
    assert_string_equal(rig_out(r), "to and fro");
}

static void the_environment_is_exactly_what_was_given(void **state)
{
    rig *r = *state;
    const char *const argv[] = { "/usr/bin/env", NULL };
    const char *const envp[] = { "B=2", "A=\xff weird\n", "EMPTY=", NULL };

    rig_spawn_config(r, &(ebb_box_spawn_config){ .argv = argv,
                                                 .envp = envp,
                                                 .cwd = "/" });
    rig_finish(r);
    assert_string_equal(rig_out(r), "B=2\nA=\xff weird\n\nEMPTY=\n");
}

static void arguments_of_a_megabyte_go_through(void **state)
{
    rig *r = *state;
    static char big[16][100001];
    const char *argv[20] = { "/bin/bash", "-c",
                             "x=\"$*\"; echo $# ${#x}", "name" };

    for (int i = 0; i < 12; i++) {
        memset(big[i], 'a' + i, 100000);
        argv[4 + i] = big[i];
    }
    rig_spawn_config(r, &(ebb_box_spawn_config){ .argv = argv,
                                                 .envp = rig_env,
                                                 .cwd = "/" });
    assert_int_equal(r->err.code, EBB_OK);
    rig_finish(r);
    assert_string_equal(rig_out(r), "12 1200011\n");
}

static void arguments_beyond_the_bounds_are_refused_or_a_126(void **state)
{
    rig *r = *state;
    static char big[5u << 20];
    const char *argv[] = { "/bin/echo", big, NULL };
    ebb_box_spawn_config config = { .argv = argv,
                                    .envp = rig_env,
                                    .cwd = "/" };

    memset(big, 'x', sizeof big - 1);
    rig_spawn_config(r, &config);
    assert_int_equal(r->err.code, EBB_LIMIT_EXCEEDED);
    big[200000] = '\0'; /* the kernel's limit of one argument is 128 KiB */
    rig_spawn_config(r, &config);
    rig_finish(r);
    assert_int_equal(WEXITSTATUS(r->status), 126);
    assert_string_equal(rig_errors(r),
                        "/bin/echo: Argument list too long\n");
}

/* ---- what a command can see and do ---- */

static void a_process_has_its_three_descriptors_and_no_rights(void **state)
{
    rig *r = *state;

    rig_run(r, "for f in /proc/self/fd/*; do echo ${f##*/}; done | "
               "head -3 | tr '\\n' ' '; ls /proc/$$/fd | tr '\\n' ' '");
    assert_non_null(strstr(rig_out(r), "0 1 2 "));
    rig_run(r, "exec ls /proc/self/fd"); /* 3 is ls's own */
    assert_string_equal(rig_out(r), "0\n1\n2\n3\n");
    rig_run(r, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status | sort -u "
               "-k 2 | cut -f 2");
    assert_string_equal(rig_out(r), "0000000000000000\n1\n");
}

/* 32 and 33, which the library lets nobody change. */
static void handle_library_signals(void (*handler)(int))
{
    const struct {
        void (*handler)(int);
        unsigned long rest[7];
    } action = { .handler = handler };

    for (int i = 32; i <= 33; i++)
        syscall(SYS_rt_sigaction, i, &action, NULL, (size_t)8);
}

/* Whatever whoever started the service has made of its own process. */
static void a_command_starts_with_ordinary_signals_and_limits(void **state)
{
    rig *r = *state;
    sigset_t blocked, before;
    mode_t mask;

    rig_stop(r);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    handle_library_signals(SIG_IGN);
    mask = umask(0);
    rig_start(r);
    handle_library_signals(SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    umask(mask);
    rig_run(r, "exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
    assert_string_equal(rig_out(r), "SigBlk:\t0000000000000000\n"
                                    "SigIgn:\t0000000000000000\n");
    rig_run(r, "umask; ulimit -c; [ $(ulimit -n) -ge 1024 ] && echo enough; "
               "yes | head -1; echo ${PIPESTATUS[0]}");
    assert_string_equal(rig_out(r), "0022\n0\nenough\ny\n141\n");
}

static void no_process_is_the_hosts_root(void **state)
{
    rig *r = *state;
    char path[256];
    struct stat st;

    assert_int_equal(rig_run(r, "id -u; id -g; id -G; id -un"), 0);
    assert_string_equal(rig_out(r), "1000\n1000\n1000\nuser\n");
    snprintf(path, sizeof path, "%s/home/x", r->dir);
    rig_run(r, "touch ~/x");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, r->config.uid);
    assert_int_not_equal(st.st_uid, 0);
    assert_int_not_equal(
        rig_run(r, "echo x > /proc/sys/kernel/core_pattern"), 0);
}

static void the_hosts_files_are_not_there(void **state)
{
    rig *r = *state;

    assert_int_equal(rig_run(r, "ls / | tr '\\n' ' '; ls /home"), 0);
    assert_null(strstr(rig_out(r), "root"));
    assert_null(strstr(rig_out(r), "boot"));
    assert_non_null(strstr(rig_out(r), "user\n"));
    assert_int_not_equal(rig_run(r, "cat /etc/shadow"), 0);
    assert_int_not_equal(rig_run(r, "touch /usr/x /etc/x /x"), 0);
    assert_int_equal(rig_run(r, "touch /tmp/x ~/x; stat -c %a /tmp"), 0);
    assert_string_equal(rig_out(r), "1777\n");
}

static void other_processes_and_the_agent_are_out_of_reach(void **state)
{
    rig *r = *state;

    rig_run(r, "ls /proc | grep -c '^[0-9]'; hostname");
    assert_true(strtol(rig_out(r), NULL, 10) < 8);
    assert_non_null(strstr(rig_out(r), "\nsandbox\n"));
    rig_run(r, "kill -9 1; kill -STOP 1; kill -TERM 1; echo alive");
    assert_string_equal(rig_out(r), "alive\n");
    assert_int_not_equal(rig_run(r, "ls /proc/1/fd"), 0);
    assert_int_not_equal(rig_run(r, "cat /proc/1/environ"), 0);
}

static void there_is_no_network_unless_it_is_asked_for(void **state)
{
    rig *r = *state;
    char ours[64];
    ssize_t n;

    rig_run(r, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '");
    assert_string_equal(rig_out(r), "lo\n");
    rig_stop(r);
    r->config.network = true;
    rig_start(r);
    rig_run(r, "readlink -n /proc/self/ns/net");
    n = readlink("/proc/self/ns/net", ours, sizeof ours - 1);
    ours[n] = '\0';
    assert_string_equal(rig_out(r), ours);
}

static void system_calls_of_the_list_are_refused(void **state)
{
    rig *r = *state;

    assert_int_equal(
        rig_run(r, "/usr/bin/python3 - <<'END'\n"
                   "import ctypes, errno, os, socket, threading\n"
                   "libc = ctypes.CDLL(None, use_errno=True)\n"
                   "def call(*a):\n"
                   "    libc.syscall(*a)\n"
                   "    return errno.errorcode[ctypes.get_errno()]\n"
                   "print(call(272, 0x10000000), call(321, 0, 0, 0),\n"
                   "      call(425, 1, 0), call(435, 0, 0),\n"
                   "      call(101, 0, 0, 0, 0), call(165, 0, 0, 0, 0, 0),\n"
                   "      call(56, 0x10000011, 0, 0, 0, 0))\n"
                   "try: socket.socket(38, 5)\n"
                   "except OSError as e: print(errno.errorcode[e.errno])\n"
                   "threading.Thread(target=print, args=['threads']).start()\n"
                   "END"),
        0);
    assert_string_equal(rig_out(r), "EPERM EPERM ENOSYS ENOSYS EPERM EPERM "
                                    "EPERM\nEAFNOSUPPORT\nthreads\n");
}

static void ordinary_programs_work(void **state)
{
    rig *r = *state;

    assert_int_equal(rig_run(r, "/usr/bin/python3 -c 'import ssl, json, "
                                "sqlite3, ctypes; print(40 + 2)'"), 0);
    assert_string_equal(rig_out(r), "42\n");
    assert_int_equal(rig_run(r, "echo $(seq 3 | awk '{s+=$1} END {print "
                                "s}'); bash -lc 'echo $PATH'"), 0);
    assert_string_equal(rig_out(r), "6\n/usr/local/bin:/usr/bin:/bin\n");
}

/* ---- signals, ends, limits ---- */

static void a_signal_reaches_one_process_or_its_group(void **state)
{
    rig *r = *state;

    rig_spawn(r, "sleep 1000 & wait $!; echo on");
    usleep(50000);
    assert_int_equal(rig_signal(r, SIGKILL, false), EBB_OK);
    while (!r->exited)
        ebb_loop_run(r->loop, 1000);
    assert_int_equal(WTERMSIG(r->status), SIGKILL);
    /* Its child lives on, holds the pipe, and is still in the group. */
    assert_true(rig_drain(r->stdout_fd, &r->out));
    assert_int_equal(rig_signal(r, SIGKILL, false), EBB_NOT_FOUND);
    assert_int_equal(rig_signal(r, SIGKILL, true), EBB_OK);
    rig_finish(r);
    assert_int_equal(rig_signal(r, SIGKILL, true), EBB_NOT_FOUND);
}

static void a_group_signal_leaves_other_sessions_alone(void **state)
{
    rig *r = *state;

    rig_spawn(r, "setsid sleep 987 >/dev/null 2>&1 & sleep 986 & wait");
    usleep(100000);
    assert_int_equal(rig_signal(r, SIGTERM, true), EBB_OK);
    rig_finish(r);
    rig_run(r, "ps ax -o args | grep '^sleep'");
    assert_string_equal(rig_out(r), "sleep 987\n");
    r->pid = 999999;
    assert_int_equal(rig_signal(r, SIGTERM, false), EBB_NOT_FOUND);
}

static void orphans_are_reaped(void **state)
{
    rig *r = *state;

    assert_int_equal(rig_run(r, "for i in $(seq 300); do (sleep 0 &); done; "
                                "sleep 0.3; ps ax -o stat | grep -c Z"), 1);
    assert_string_equal(rig_out(r), "0\n");
}

static void a_fork_bomb_ends_at_the_limit_of_the_sandbox(void **state)
{
    rig *r = *state;

    rig_stop(r);
    r->config.limits.pids = 50;
    rig_start(r);
    assert_int_equal(r->err.code, EBB_OK);
    rig_run(r, "for i in $(seq 100); do sleep 3 & done 2>&1 | grep -m 1 -o "
               "'Resource temporarily unavailable'");
    assert_non_null(strstr(rig_out(r), "Resource temporarily"));
}

static void many_processes_at_once_all_end(void **state)
{
    rig *r = *state;

    for (int i = 0; i < 200; i++) {
        assert_int_equal(rig_run(r, "exit 7"), 7);
        assert_int_equal(r->out.n + r->errors.n, 0);
    }
}

int main(void)
{
#define BOX(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define BOX_CASE(name, names) CASE_WITH(name, names, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        BOX(a_command_gives_its_streams_and_its_status),
        BOX_CASE(both_streams_of_a_megabyte_arrive_whole, "C01"),
        BOX_CASE(a_program_that_is_not_there_is_an_ordinary_127, "D04"),
        BOX_CASE(a_file_that_cannot_be_executed_is_an_ordinary_126, "D04"),
        BOX_CASE(a_bad_working_directory_is_an_error_with_its_errno, "D04"),
        BOX(standard_input_is_empty_or_a_pipe),
        BOX(the_environment_is_exactly_what_was_given),
        BOX(arguments_of_a_megabyte_go_through),
        BOX(arguments_beyond_the_bounds_are_refused_or_a_126),
        BOX_CASE(a_process_has_its_three_descriptors_and_no_rights, "C15"),
        BOX_CASE(a_command_starts_with_ordinary_signals_and_limits, "C15"),
        BOX(no_process_is_the_hosts_root),
        BOX(the_hosts_files_are_not_there),
        BOX(other_processes_and_the_agent_are_out_of_reach),
        BOX(there_is_no_network_unless_it_is_asked_for),
        BOX(system_calls_of_the_list_are_refused),
        BOX(ordinary_programs_work),
        BOX_CASE(a_signal_reaches_one_process_or_its_group, "A11"),
        BOX_CASE(a_group_signal_leaves_other_sessions_alone, "A11"),
        BOX_CASE(orphans_are_reaped, "C18"),
        BOX_CASE(a_fork_bomb_ends_at_the_limit_of_the_sandbox, "C18"),
        BOX(many_processes_at_once_all_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
