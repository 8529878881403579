/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A runCommand under way, shared by its two halves: task_command starts and
 * stops it, command_end says what its end means for the caller.
 */

#include "e2b/connection.h"
#include "e2b/tasks/extension.h"
#include "e2b/probe.h"
#include "e2b/process.h"
#include "e2b/tasks/stdin.h"
#include "net/loop.h"
#include "task/bounded.h"

typedef struct ebb_e2b_running {
    ebb_e2b_job job;
    ebb_e2b_process process;
    ebb_bounded out, err; /* what it wrote */
    int64_t timeout_ms;   /* 0: none */
    bool streaming;       /* job.transfer is the command's stream */
    ebb_loop_timer *timer;
    ebb_e2b_extension extension;
    ebb_e2b_stdin input;
    ebb_e2b_transfer *kill; /* SendSignal under way */
    ebb_code ending;    /* TIMEOUT or CANCELLED once that has begun, else OK */
    uint64_t received;  /* bytes of the stream */
    uint64_t looked_at; /* of them, when its end was last waited for */
    int64_t end_ms;       /* of the half second for its end */
    int64_t drain_end_ms; /* 0: that is not nearly over */
    ebb_e2b_probe probe;  /* after the stream broke */
    ebb_err broken;       /* what made us stop reading the stream */
} ebb_e2b_running;

/* The stream is over: ends the job, or connects again after a refusal. */
void ebb_e2b_running_done(ebb_e2b_running *c, ebb_e2b_transfer *transfer,
                          const ebb_err *failure);

/* The end that a timeout or cancel began, when no more is waited for. */
void ebb_e2b_running_end_early(ebb_e2b_running *c);

/* outcome_unknown, with the output so far in details. */
void ebb_e2b_running_unknown(ebb_e2b_running *c, const char *why);
