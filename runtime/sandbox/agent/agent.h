/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The agent: pid 1 in a sandbox, static, one thread. It starts processes and
 * does file calls for the service and hands over descriptors, not bytes. It
 * decides nothing: limits, deadlines and checks are the service's, which does
 * not trust it, since user code shares its uid.
 *
 * Invariant: it never blocks on anything but the service's own connection;
 * what may take long (LIST, REMOVE, a MOVE between file systems) runs in a
 * worker, a fork that answers by itself.
 */

#include "base/buf.h"
#include "sandbox/protocol.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Started processes, running or ended; a spawn beyond is EAGAIN. */
#define EBB_AGENT_PROCESSES_MAX 4096
/* Ended ones kept for a service that connects later. */
#define EBB_AGENT_ENDED_MAX 1024
#define EBB_AGENT_WORKERS_MAX 64

#define EBB_AGENT_METADATA_PREFIX "user.e2b." /* of attributes */

typedef struct ebb_agent_process {
    uint32_t pid;
    int stdout_fd, stderr_fd; /* our copies of the read ends; -1 if ended */
    bool ended;
    int status;
} ebb_agent_process;

typedef struct ebb_agent_worker {
    pid_t pid; /* 0: free */
    uint32_t id;
    unsigned connection; /* the one that asked */
} ebb_agent_worker;

typedef struct ebb_agent {
    int listen_fd, signal_fd;
    int socket_fd;       /* the service's connection; -1 if there is none */
    unsigned connection; /* counts them */
    ebb_agent_process *processes; /* in order of their start */
    size_t processes_count, processes_room, ended_count;
    ebb_agent_worker workers[EBB_AGENT_WORKERS_MAX];
} ebb_agent;

/* A request as received; text ends in a NUL unless it is empty. */
typedef struct ebb_agent_request {
    ebb_agent_head head;
    const char *text;
    int fds[EBB_AGENT_FDS_MAX]; /* closed by main.c; -1 after a take */
    unsigned fds_count;
} ebb_agent_request;

/* ---- answers (answer.c) ---- */

/* Sends a message; a connection that fails is closed. */
void ebb_agent_send(ebb_agent *agent, const ebb_agent_head *head,
                    const void *text, const int *fds, unsigned fds_count);

/* The last answer of a request: 0 or an errno. */
void ebb_agent_send_done(ebb_agent *agent, uint32_t id, int error);

/* ---- processes (spawn.c, process.c) ---- */

void ebb_agent_spawn(ebb_agent *agent, ebb_agent_request *request);
void ebb_agent_signal(ebb_agent *agent, const ebb_agent_request *request);
/* SIGSTOP or SIGCONT to everything but the agent. */
void ebb_agent_signal_all(ebb_agent *agent, uint32_t id, int signum);

/* Room for one more process, so that a start cannot fail after the fork. */
int ebb_agent_process_reserve(ebb_agent *agent);
void ebb_agent_process_add(ebb_agent *agent, ebb_agent_process process);

/* Reaps all that has ended and tells the service. */
void ebb_agent_reap(ebb_agent *agent);
/* Tells a service that has just connected what has ended. */
void ebb_agent_send_exits(ebb_agent *agent);

/* ---- files (files.c, list.c, remove.c) ---- */

void ebb_agent_make_dir(ebb_agent *agent, const ebb_agent_request *request);
void ebb_agent_open(ebb_agent *agent, const ebb_agent_request *request);
void ebb_agent_set_metadata(ebb_agent *agent,
                            const ebb_agent_request *request);

/* These return the errno of the last answer; all but move in a worker. */
int ebb_agent_move(ebb_agent *agent, const ebb_agent_request *request);
/* After EXDEV. */
int ebb_agent_move_across(ebb_agent *agent,
                          const ebb_agent_request *request);
int ebb_agent_list(ebb_agent *agent, const ebb_agent_request *request);
int ebb_agent_remove(ebb_agent *agent, const ebb_agent_request *request);

/* An entry as it goes into ENTRIES, of name in the directory dir_fd. */
int ebb_agent_entry_write(ebb_buf *out, int dir_fd, const char *name,
                          const char *path, uint32_t *mode);
