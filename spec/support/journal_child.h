/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Other processes on the journal of a rig. SQLite's state must not cross a
 * fork, so the rig is closed while children are made.
 */

#include <signal.h>
#include <sys/wait.h>

#include "support/journal_rig.h"

/* Works with a journal of its own; what it returns is the exit status. */
typedef int rig_child_fn(journal_rig *rig, int out);

typedef struct rig_child {
    pid_t pid;
    int in; /* what it writes to out */
} rig_child;

/* The rig must be closed. The child ends without closing its journal. */
static inline rig_child rig_fork(journal_rig *rig, rig_child_fn *fn)
{
    int ends[2];
    pid_t pid;

    assert_null(rig->journal);
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        alarm(200);
        rig_open(rig);
        if (rig->journal == NULL) {
            fprintf(stderr, "child: %s\n", rig->err.msg);
            _exit(99);
        }
        _exit(fn(rig, ends[1]));
    }
    close(ends[1]);
    return (rig_child){ pid, ends[0] };
}

/* Waits for one byte of the child: it has come so far. */
static inline void rig_await_child(rig_child *child)
{
    char byte;

    assert_int_equal(read(child->in, &byte, 1), 1);
}

static inline void rig_say(int out)
{
    if (write(out, "x", 1) != 1)
        _exit(98);
}

/* Its exit status, or minus the signal that ended it. */
static inline int rig_join(rig_child *child)
{
    int status;

    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    close(child->in);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline void rig_kill(rig_child *child)
{
    kill(child->pid, SIGKILL);
    assert_int_equal(rig_join(child), -SIGKILL);
}

/* Claims "r" and waits to be killed. */
static inline int rig_hold(journal_rig *rig, int out)
{
    if (rig_claim(rig, "r") == NULL)
        return 97;
    rig_say(out);
    pause();
    return 0;
}

/* A child that holds "r"; the rig is open again. */
static inline rig_child rig_holder(journal_rig *rig)
{
    rig_child child;

    rig_close(rig);
    child = rig_fork(rig, rig_hold);
    rig_await_child(&child);
    rig_open(rig);
    return child;
}
