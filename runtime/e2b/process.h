/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A command in a sandbox: process.Process/Start as a binary Connect stream,
 * and what is sent to a running one. It gives out events and says how the
 * stream ended; what that means for a task is the task's business.
 *
 * Bytes of output go from the frame to on_output, nothing is kept.
 */

#include "base/buf.h"
#include "base/value.h"
#include "e2b/transfer.h"
#include "wire/connect.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ebb_e2b_command {
    const char *text;      /* for /bin/bash -l -c */
    const char *cwd;       /* or NULL */
    const ebb_value *envs; /* map of strings, or NULL */
    bool wants_stdin;      /* else it reads from /dev/null */
} ebb_e2b_command;

/* Appends the request of Start: one envelope. */
int ebb_e2b_process_write_start(ebb_buf *out, const ebb_e2b_command *command,
                                ebb_err *err);

/* The messages of unary calls to a running process. */
int ebb_e2b_process_write_kill(ebb_buf *out, uint32_t pid);
int ebb_e2b_process_write_input(ebb_buf *out, uint32_t pid, const char *bytes,
                                size_t n);
int ebb_e2b_process_write_close(ebb_buf *out, uint32_t pid);

#define EBB_E2B_STATUS_BYTES  64
#define EBB_E2B_MESSAGE_BYTES 256

typedef struct ebb_e2b_process {
    /* How far the stream has come. */
    bool started;  /* pid is known */
    bool ended;    /* exit_code and status are known */
    bool finished; /* the end-of-stream envelope came */
    uint32_t pid;
    int32_t exit_code;
    char status[EBB_E2B_STATUS_BYTES]; /* "exit status 0", "signal: killed" */
    ebb_connect_code code; /* of the end of the stream; OK: no error */
    char message[EBB_E2B_MESSAGE_BYTES];

    ebb_connect_reader reader;
    void *context;
    void (*on_start)(void *context);
    /* stream is 1 for stdout and a pty, 2 for stderr. */
    void (*on_output)(void *context, int stream, const char *bytes, size_t n);
} ebb_e2b_process;

void ebb_e2b_process_init(ebb_e2b_process *process, void *context);
void ebb_e2b_process_clear(ebb_e2b_process *process);

/* Takes bytes of the answer; EBB_PROTOCOL for what is no such stream. */
int ebb_e2b_process_add(ebb_e2b_process *process, const char *bytes, size_t n,
                        ebb_err *err);

/*
 * "SIGKILL" of "signal: killed", into out; false if no signal ended it.
 */
bool ebb_e2b_process_signal(const ebb_e2b_process *process, char out[16]);
