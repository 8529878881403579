/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What happens between fork and exec of bubblewrap: system calls only, since
 * the service may have threads. Failures go to the log as text.
 */

#include "sandbox/service/box/limits.h"

/* The files of a child come from above this, and end at fixed places. */
#define EBB_BOX_CHILD_FD_MIN 16
#define EBB_BOX_CHILD_SECCOMP_FD 5
#define EBB_BOX_CHILD_PID_FD 6

/* Where a hidden directory is shown to bubblewrap. */
#define EBB_BOX_CHILD_SHOWN "/tmp"

typedef struct ebb_box_child {
    int null_fd, log_fd; /* standard input and output; standard error */
    int listen_fd, agent_fd, seccomp_fd, pid_fd;
    int gate[2]; /* a pipe: a byte lets the child go on, its end ends it */
    uid_t uid;          /* to become, and the gid, if we are root */
    const char *hidden; /* a directory that uid cannot reach; NULL */
    const ebb_limits *limits;
    char *const *argv;
} ebb_box_child;

/* born: already in the version 2 group. Does not return. */
void ebb_box_child_run(const ebb_box_child *child, bool born)
    EBB_NORETURN;
