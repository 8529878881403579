/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Connecting to a sandbox before an operation on its data plane: it yields the
 * access token, wakes a paused sandbox and extends its life, never shortens
 * it. The answer is used again for up to 30 s while it covers the call, and
 * calls that come while it is under way wait for it instead of asking, too.
 */

#include "e2b/errors.h"
#include "e2b/job.h"

#include <stdint.h>

#define EBB_E2B_LIFE_MS        300000 /* what a connect asks for at least */
#define EBB_E2B_LIFE_MARGIN_MS 30000  /* beyond a call's own limit */

typedef struct ebb_e2b_known {
    ebb_e2b_target target; /* target.id NULL: free */
    char *asked_id;        /* the id callers use */
    int64_t at_ms;         /* when it was answered, steady clock */
    int64_t promised_end_ms;
} ebb_e2b_known;

/* Recent answers, the oldest of which makes way. */
#define EBB_E2B_KNOWN_MAX 64
typedef struct ebb_e2b_connections {
    ebb_e2b_known known[EBB_E2B_KNOWN_MAX];
    ebb_e2b_jobs leaders; /* whose connects are under way */
} ebb_e2b_connections;

void ebb_e2b_connections_clear(ebb_e2b_connections *connections);

/*
 * Fills job->target and calls connected, at once or later; or fails the job.
 * call_ms is the call's own limit (0: none).
 */
void ebb_e2b_connect(ebb_e2b_job *job, int64_t call_ms,
                     ebb_e2b_job_fn *connected);

/*
 * The job ends or begins anew while a connect of its own, or of another, is
 * under way: its followers ask for themselves.
 */
void ebb_e2b_connect_leave(ebb_e2b_job *job);

/* Forgets what is known of a sandbox: it was refused, paused or killed. */
void ebb_e2b_connection_drop(ebb_e2b *e2b, const char *sandbox_id);

/* Whether an answer proves that nothing ran, and why. */
typedef enum ebb_e2b_refusal {
    EBB_E2B_NOT_REFUSED,
    EBB_E2B_NOT_RUNNING, /* 502: the sandbox or its port is not there */
    EBB_E2B_NOT_ALLOWED  /* 401: not this token */
} ebb_e2b_refusal;

ebb_e2b_refusal ebb_e2b_refusal_of(const ebb_e2b_transfer *transfer);

/*
 * After a refusal: connects again and calls connected once more, the first
 * time; then EBB_SANDBOX_NOT_RUNNING or EBB_UNAUTHORIZED. Returns false if
 * the transfer was not refused.
 */
bool ebb_e2b_connect_again(ebb_e2b_job *job, const ebb_e2b_transfer *transfer);

#define EBB_E2B_WHY_BYTES (EBB_E2B_WORDS_BYTES + 32)

/*
 * What an answer other than 200 means for a request that executes. True: the
 * job goes on after a refusal, or has ended because nothing ran (4xx). False:
 * it may have run, why says what came.
 */
bool ebb_e2b_refused(ebb_e2b_job *job, const ebb_e2b_transfer *transfer,
                     char why[EBB_E2B_WHY_BYTES]);
