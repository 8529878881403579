/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What holds a sandbox together and within its limits on this machine: control
 * groups where we may make them, resource limits elsewhere. A limit that was
 * asked for and cannot be enforced is an error; what is not enforced is never
 * claimed to be.
 *
 * Version 1 groups are joined only for a limit that was asked for: a lone
 * move into a group costs some 20 ms (the kernel waits for a grace period),
 * while a process is born into a version 2 group for nothing.
 */

#include "base/err.h"
#include "sandbox/service/box/box.h"
#include "sandbox/service/box/cgroup.h"

/* Processes of a sandbox unless asked otherwise: a fork bomb ends here. */
#define EBB_LIMITS_PROCESSES_DEFAULT 1024

typedef struct ebb_limits {
    char *dirs[EBB_CGROUP_KINDS]; /* groups of this sandbox; NULL: none */
    int unified_fd;               /* of the version 2 group; or -1 */
    uint64_t processes_max;       /* for the agent's RLIMIT_NPROC */
} ebb_limits;

/* How each thing is done, for people; NULL: not at all. */
typedef struct ebb_limits_report {
    const char *freeze, *memory, *pids, *cpus, *disk;
} ebb_limits_report;

/* What this machine can enforce; cheap enough for a start and for doctor. */
void ebb_limits_describe(ebb_limits_report *report);

/* EBB_UNSUPPORTED if a limit that is not 0 cannot be enforced here. */
int ebb_limits_check(const ebb_box_limits *asked, ebb_err *err);

/* Makes the groups of a sandbox and writes its limits into them. */
int ebb_limits_open(ebb_limits *limits, const char *id,
                    const ebb_box_limits *asked, ebb_err *err);

/*
 * Moves the calling process into the groups: between fork and exec, system
 * calls only. born says whether it was cloned into the version 2 group.
 */
int ebb_limits_join(const ebb_limits *limits, bool born);

/* Whether groups can freeze; else the agent stops the processes one by one. */
bool ebb_limits_can_freeze(const ebb_limits *limits);
int ebb_limits_freeze(const ebb_limits *limits, bool frozen, ebb_err *err);
/* Whether that has come about. */
bool ebb_limits_is_frozen(const ebb_limits *limits, bool frozen);

/* Kills what is in the version 2 group, and thaws so that a kill arrives. */
void ebb_limits_kill(const ebb_limits *limits);

/* Removes the groups; false while the kernel still counts a process there. */
bool ebb_limits_close(ebb_limits *limits);

/*
 * Removes the groups that a killed service left of a sandbox, and kills what
 * is still in them; waits for that a moment.
 */
void ebb_limits_del(const char *id);

/* CPU time and memory; pid: the first process inside. */
void ebb_limits_usage_get(const ebb_limits *limits, pid_t pid,
                          ebb_box_usage *usage);
