/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files box*.c share: the box itself, its launch, its connection and
 * the requests in flight. Nobody else includes it.
 *
 * Life: LAUNCHING until bubblewrap has said the first process's pid and that
 * process, the agent, has answered; READY; ENDING from the first sign of death
 * or a stop until bubblewrap is reaped, the first process is gone (the kernel
 * lets it go last) and the control groups are removed; ENDED.
 */

#include "sandbox/protocol.h"
#include "sandbox/service/box/box.h"
#include "sandbox/service/box/limits.h"

#define EBB_BOX_READY_MS 10000
#define EBB_BOX_END_MS 5000    /* then the kernel holds something: logged */
#define EBB_BOX_POLL_MS 2      /* of what tells no event */
#define EBB_BOX_FREEZE_MS 5000

#define EBB_BOX_REQUESTS_MAX 1024
#define EBB_BOX_QUEUE_BYTES_MAX (8u * 1024 * 1024)
#define EBB_BOX_MESSAGES_PER_TURN_MAX 64

typedef enum ebb_box_state {
    EBB_BOX_LAUNCHING,
    EBB_BOX_READY,
    EBB_BOX_ENDING,
    EBB_BOX_ENDED
} ebb_box_state;

typedef struct ebb_box_request {
    struct ebb_box_request *next;
    uint32_t id;
    uint32_t type; /* ebb_agent_type */
    bool stat;     /* a LIST of one entry */
    bool answered; /* stat: the entry has come */
    bool writes;   /* OPEN */
    int stdin_fd;  /* SPAWN: our end; -1 */
    size_t entries_left;
    const char *name; /* of the operation, for messages */
    char *path;       /* for messages; NULL */
    union {
        ebb_box_spawn_fn *spawned;
        ebb_box_stat_fn *stat;
        ebb_box_open_fn *opened;
        ebb_box_done_fn *done;
    } fn;
    void (*on_entry)(void *context, const ebb_box_entry *entry);
    void *context;
    ebb_err err; /* why it failed before it was sent */
} ebb_box_request;

/* A message that did not fit into the socket; fds are duplicates. */
typedef struct ebb_box_message {
    struct ebb_box_message *next;
    size_t n;
    int fds[EBB_AGENT_FDS_MAX];
    unsigned fds_count;
    char bytes[];
} ebb_box_message;

struct ebb_box {
    ebb_loop *loop;
    ebb_box_config config; /* its strings are these: */
    char *id, *dir;
    ebb_box_state state;
    bool said_ready; /* on_ready was called, or a stop came before */
    bool stopped;
    ebb_err err; /* why a launch failed */

    /* The processes: bubblewrap, our child, and the first one inside. */
    pid_t outer_pid, pid;
    int outer_fd, pid_fd; /* pidfds; -1 */
    bool outer_gone, inner_gone;
    ebb_loop_watch *outer_watch, *inner_watch;
    int pid_pipe; /* bubblewrap says the pid here; -1 when it has */
    ebb_loop_watch *pid_watch;
    int log_fd; /* its standard error */
    int home_fd;
    ebb_limits limits;
    ebb_loop_timer *timer; /* of the launch, then of the end */
    int64_t end_ms;        /* when the end began, steady */
    ebb_loop_fn *on_stopped;
    void *stop_context;

    /* The connection (box_agent.c). */
    int socket_fd;
    ebb_loop_watch *socket_watch;
    bool greeted;
    uint32_t last_id;
    ebb_box_request *requests, *failed;
    size_t requests_count;
    ebb_box_message *queue, **queue_end;
    size_t queue_bytes;

    /* A freeze by control group under way (box_freeze.c). */
    ebb_loop_timer *freeze_timer;
    ebb_box_done_fn *freeze_done;
    void *freeze_context;
    bool freezing; /* towards frozen; else thawed */
    int64_t freeze_ms;
    ebb_err freeze_err;
};

/* ---- launch (box_launch.c, box_root.c) ---- */

/*
 * Starts bubblewrap; fills outer_pid, outer_fd, pid_pipe, log_fd, socket_fd.
 * On failure what was opened is the box's to close.
 */
int ebb_box_launch(ebb_box *box, ebb_err *err);

/* Raise it with every change of what box_root.c puts into it. */
#define EBB_BOX_ROOT_NAME ".root-1"

/* Makes parent's EBB_BOX_ROOT_NAME, the read-only root of all sandboxes. */
int ebb_box_root_make(const char *parent, ebb_err *err);
/* Adds to it what box_etc.c names of the host's /etc, and the root lacks. */
void ebb_box_etc_add(const char *root);

/* Reads more of what bubblewrap says; false if there is nothing now. */
bool ebb_box_pid_read(ebb_box *box);

/* ---- what is left of it (box_left.c) ---- */

/* Names bubblewrap's process in the box's directory. */
int ebb_box_left_write(const char *dir, pid_t pid, ebb_err *err);

/* ---- the end (box_end.c) ---- */

/* Ends a box whose agent does not keep to the protocol, with a log line. */
void ebb_box_condemn(ebb_box *box, const char *fmt, ...) EBB_PRINTF(2, 3);
void ebb_box_begin_end(ebb_box *box);
/* Goes on when something has become true: ready, or ended. */
void ebb_box_proceed(ebb_box *box);
/* SIGKILL to everything inside; more than once does no harm. */
void ebb_box_kill(ebb_box *box);
void ebb_box_stop_cancel(ebb_box *box);
/*
 * Kills and waits here and now, for a box that is freed before it was ready:
 * the kernel needs a few milliseconds, and nothing may be left.
 */
void ebb_box_end_now(ebb_box *box);

/* A freeze or thaw under way ends with the box (box_freeze.c). */
void ebb_box_freeze_end(ebb_box *box);

/* ---- the connection (box_agent.c) ---- */

int ebb_box_link_open(ebb_box *box, ebb_err *err);
void ebb_box_link_close(ebb_box *box);

ebb_box_request *ebb_box_request_new(uint32_t type, const char *name,
                                     void *context);
/* Sends it; the request is then the connection's. fds are borrowed. */
void ebb_box_request_start(ebb_box *box, ebb_box_request *request,
                           ebb_agent_head *head, const char *text,
                           const int *fds, unsigned fds_count);
/* Calls the request's callback later, with a failure. Takes it. */
void ebb_box_request_fail(ebb_box *box, ebb_box_request *request);
/* Calls the callback of every request: the box is dead. */
void ebb_box_requests_end(ebb_box *box);

/* ---- answers (box_answer.c) ---- */

/* Calls the callback with err and frees the request. */
void ebb_box_request_finish(ebb_box_request *request, const ebb_err *err);

/* The last answers; each finishes the request. -1: against the protocol. */
int ebb_box_answer_done(ebb_box_request *request, int error);
int ebb_box_answer_started(ebb_box_request *request, uint32_t pid,
                           const int fds[2]);
int ebb_box_answer_file(ebb_box_request *request, int fd);
/* More entries of a list; does not finish it. */
int ebb_box_answer_entries(ebb_box_request *request,
                           const ebb_agent_head *head, const char *text);
