/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What /proc says of a process. A pid is a number that another process may
 * have a moment later: only with the start time, or while a pidfd holds it, is
 * it the one that is meant.
 */

#include <stdint.h>
#include <sys/types.h>

typedef struct ebb_process_stat {
    char state; /* R, S, T, Z … */
    pid_t parent, session;
    uint64_t start; /* clock ticks since boot */
} ebb_process_stat;

/* -1: there is none (any more), and errno says so. */
int ebb_process_stat_get(pid_t pid, ebb_process_stat *stat);
