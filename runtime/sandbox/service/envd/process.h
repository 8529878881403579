/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The running commands of one sandbox as envd serves them: process.Process of
 * the protocol. Starting and signals go to the box; output comes through the
 * pipes that the box handed over.
 *
 * A process ends for its readers when it has exited and both pipes are at
 * their end (a child may hold them); a signal or the deadline stops waiting
 * for them. Output is not kept: without a subscriber it is read and dropped.
 */

#include "sandbox/service/envd/envd.h"
#include "sandbox/service/envd/envd_rpc.h"

#include "wire/process.pb-c.h"

#define EBB_ENVD_PROCESSES_MAX 1024u
#define EBB_ENVD_ENDED_MAX     256u
#define EBB_ENVD_RETENTION_MS  30000
#define EBB_ENVD_READ_BYTES    32768u

/*
 * Written to a subscriber and not yet sent. Above it the pipes are not read,
 * so that the command blocks as on a slow terminal: one slow reader costs the
 * others their speed, never memory and never output.
 */
#define EBB_ENVD_UNSENT_BYTES_MAX ((size_t)1 << 20)

/* Calls that wait to write to one process's stdin, and what each may hold. */
#define EBB_ENVD_INPUTS_MAX      16u
#define EBB_ENVD_INPUT_BYTES_MAX ((size_t)8 << 20)

typedef struct ebb_envd_subscriber ebb_envd_subscriber;
typedef struct ebb_envd_input ebb_envd_input;

typedef struct ebb_envd_pipe {
    ebb_envd_process *process;
    int fd;         /* -1: at its end */
    unsigned field; /* of DataEvent: 1 stdout, 2 stderr */
    ebb_loop_watch *watch;
} ebb_envd_pipe;

struct ebb_envd_process {
    ebb_envd_process *next;
    ebb_envd *envd;
    uint32_t pid;
    Process__StartRequest *request; /* owned */
    ebb_envd_pipe pipes[2];
    ebb_envd_subscriber *subscribers;
    bool stalled; /* not reading, for a slow subscriber */

    int stdin_fd;       /* -1: none, or closed */
    bool stdin_closing; /* once what waits is written */
    ebb_loop_watch *stdin_watch;
    ebb_envd_input *inputs; /* waiting, in order */
    size_t inputs_count;

    ebb_loop_timer *deadline;
    bool exited, signalled;
    int status; /* wait's, once exited */
};

/* How a process ended, kept for a late Connect. */
struct ebb_envd_ended {
    ebb_envd_ended *next;
    uint32_t pid;
    int status;
    int64_t ended_ms;
    char *tag; /* may be NULL */
};

/* ---- process.c ---- */

void ebb_envd_list(ebb_envd_call *call, const ProtobufCMessage *request);
void ebb_envd_signal(ebb_envd_call *call, const ProtobufCMessage *request);
void ebb_envd_update(ebb_envd_call *call, const ProtobufCMessage *request);

/* What was asked to run; never NULL. */
Process__ProcessConfig *ebb_envd_process_config(
    const Process__StartRequest *request);

/* The running process, or NULL after the call was failed. */
ebb_envd_process *ebb_envd_process_find(ebb_envd_call *call,
                                        const Process__ProcessSelector *by);
ebb_envd_process *ebb_envd_process_match(const ebb_envd *envd,
                                         const Process__ProcessSelector *by);
ebb_envd_process *ebb_envd_process_of(const ebb_envd *envd, uint32_t pid);

/* What is left of a process that is in no list and has no subscribers. */
void ebb_envd_process_free(ebb_envd_process *process);

/* An exited process whose last output was said: forgets it. */
void ebb_envd_process_finish(ebb_envd_process *process);

/* ---- process_start.c ---- */

void ebb_envd_start(ebb_envd_call *call, const ProtobufCMessage *request);

/* ---- process_launch.c ---- */

/* What the box needs to start a command; owned by this struct. */
typedef struct ebb_envd_launch {
    ebb_box_spawn_config spawn; /* points into what follows */
    char **argv;                /* the strings are the request's */
    char **envp;
    char *cwd;
} ebb_envd_launch;

int ebb_envd_launch_init(ebb_envd_launch *launch, const ebb_envd_call *call,
                         const Process__ProcessConfig *config, ebb_err *err);
void ebb_envd_launch_clear(ebb_envd_launch *launch);

/* ---- process_output.c ---- */

void ebb_envd_connect(ebb_envd_call *call, const ProtobufCMessage *request);

/* Sends start and then what the process writes to the call. */
void ebb_envd_subscribe(ebb_envd_process *process, ebb_envd_call *call,
                        bool starter);

int ebb_envd_output_open(ebb_envd_process *process, int stdout_fd,
                         int stderr_fd, ebb_err *err);
void ebb_envd_output_close(ebb_envd_process *process);

/* Finishes the process if it has ended for its readers. */
void ebb_envd_output_check(ebb_envd_process *process);

/* The process's time is over: fails the call that started it. */
void ebb_envd_output_expire(ebb_envd_process *process);

/* Sends end and the end of stream to every subscriber. */
void ebb_envd_output_end(ebb_envd_process *process);

/* ---- process_event.c ---- */

void ebb_envd_send_start(ebb_envd_call *call, uint32_t pid);
void ebb_envd_send_keepalive(ebb_envd_call *call);
void ebb_envd_send_end(ebb_envd_call *call, int status);

/* Room before the bytes of a data event for its heads. */
#define EBB_ENVD_DATA_HEAD_BYTES 32u

/*
 * The binary envelope of n bytes at data, whose heads are written before
 * them; *size is its length.
 */
const char *ebb_envd_data_binary(char *data, size_t n, unsigned field,
                                 size_t *size);

/* The JSON envelope of the same into out. */
int ebb_envd_data_json(const char *data, size_t n, unsigned field,
                       ebb_buf *out);

/* ---- process_input.c ---- */

void ebb_envd_send_input(ebb_envd_call *call, const ProtobufCMessage *request);
void ebb_envd_stream_input(ebb_envd_call *call,
                           const ProtobufCMessage *request);
void ebb_envd_close_stdin(ebb_envd_call *call, const ProtobufCMessage *request);

/* The process is gone: what waits is a broken pipe. */
void ebb_envd_input_close(ebb_envd_process *process);
