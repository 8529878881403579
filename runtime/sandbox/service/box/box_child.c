/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/box_child.h"

#include "sandbox/protocol.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_MAX 65536

static EBB_NORETURN void fail(const char *what)
{
    dprintf(2, "%s: %s\n", what, strerror(errno));
    _exit(127);
}

/* Until the service has written down who this is; ends if it is gone. */
static void wait_at_gate(const ebb_box_child *child)
{
    char go;
    ssize_t n;

    close(child->gate[1]);
    do
        n = read(child->gate[0], &go, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(127);
}

/* dup2 clears close-on-exec, and no source is one of the places. */
static void place_files(const ebb_box_child *child)
{
    const int places[][2] = {
        { child->null_fd, 0 },
        { child->null_fd, 1 },
        { child->log_fd, 2 },
        { child->listen_fd, EBB_AGENT_LISTEN_FD },
        { child->agent_fd, EBB_AGENT_PROGRAM_FD },
        { child->seccomp_fd, EBB_BOX_CHILD_SECCOMP_FD },
        { child->pid_fd, EBB_BOX_CHILD_PID_FD },
    };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (dup2(places[i][0], places[i][1]) < 0)
            fail("dup2");
}

static void reset_signals(void)
{
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_limit(int resource, rlim_t most)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most)
        limit.rlim_max = most;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

/* In a mount namespace of our own, which bubblewrap's is made from. */
static void show(const char *hidden)
{
    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
        mount(hidden, EBB_BOX_CHILD_SHOWN, NULL, MS_BIND, NULL) < 0)
        fail(hidden);
}

/*
 * The host's root would stay the host's root inside, whatever its uid is
 * called there: it could write under /proc/sys, and RLIMIT_NPROC would not
 * count for it.
 */
static void drop_root(uid_t uid)
{
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
        setresuid(uid, uid, uid) < 0)
        fail("become the sandbox's user");
    if (getuid() == 0 || geteuid() == 0)
        _exit(127);
}

void ebb_box_child_run(const ebb_box_child *child, bool born)
{
    char *environment[] = { NULL };

    wait_at_gate(child);
    place_files(child);
    close_range(EBB_BOX_CHILD_PID_FD + 1, ~0u, 0);
    setsid();
    reset_signals();
    if (ebb_limits_join(child->limits, born) < 0)
        fail("join the sandbox's control group");
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_NOFILE, FILES_MAX);
    if (child->hidden != NULL)
        show(child->hidden);
    if (geteuid() == 0)
        drop_root(child->uid);
    execve(child->argv[0], child->argv, environment);
    fail(child->argv[0]);
}
