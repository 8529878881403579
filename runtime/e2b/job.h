/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One attempt of an E2B task while it is under way: what is in flight and what
 * must be freed. It decides nothing about E2B; each task embeds one as its
 * first member and adds its own.
 *
 * Invariant: a job ends exactly once, by ebb_e2b_job_finish or _fail, which
 * drop whatever is still in flight and free it.
 */

#include "e2b/client.h"
#include "e2b/share.h"
#include "e2b/transfer.h"
#include "task/attempt.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ebb_e2b_job ebb_e2b_job;
typedef void ebb_e2b_job_fn(ebb_e2b_job *job);

/* An answer of the control plane; everything is borrowed for the call. */
typedef struct ebb_e2b_answer {
    int status;
    const ebb_value *json;  /* NULL: none, or not JSON and err says so */
    const char *next_token; /* X-Next-Token of a list, or NULL */
    const ebb_err *err;     /* NULL: a 2xx that is what it should be */
} ebb_e2b_answer;

typedef void ebb_e2b_answer_fn(ebb_e2b_job *job, const ebb_e2b_answer *answer);

struct ebb_e2b_job {
    ebb_e2b *e2b;
    ebb_attempt *attempt;
    const ebb_value *input; /* of the attempt */
    const char *sandbox_id; /* of the input; NULL where there is none */
    char subject[96];       /* of messages: "sandbox i123" */

    size_t size;          /* of the whole block */
    ebb_e2b_job_fn *next; /* what to do when the place is known */
    ebb_e2b_job *waits;   /* the next job that waits for the place */

    ebb_e2b_transfer *transfer; /* in flight, or NULL */
    unsigned asked;             /* requests of the control plane so far */
    bool begun_again;           /* once, by ebb_e2b_job_begin_again */
    ebb_e2b_answer_fn *on_answer;
    struct ebb_e2b_sandboxes *listing; /* under way, or NULL */

    /* Of ebb_e2b_connect. */
    ebb_e2b_target target;
    int64_t life_ms;         /* asked for */
    int64_t promised_end_ms; /* of the sandbox, steady clock */
    ebb_e2b_job_fn *connected;
    ebb_e2b_share share;
    bool refused; /* once: connected again and sent once more */
    bool allowed; /* the attempt's starter has let the effect go out */

    /* The task's own; may be NULL. */
    ebb_e2b_job_fn *clear;  /* frees its members */
    ebb_e2b_job_fn *cancel; /* instead of dropping all and EBB_CANCELLED */
    /* Of a failure that brings none: what had happened before it, or NULL. */
    ebb_value *(*details)(const ebb_e2b_job *job);
};

/*
 * Makes the attempt's job, a zeroed block of size bytes, and calls begin when
 * the back end is known. Fails the attempt itself when that cannot be.
 */
void ebb_e2b_job_start(ebb_attempt *attempt, size_t size, ebb_e2b_job_fn *begin,
                       ebb_e2b_job_fn *clear);

/*
 * The local service ends when it is idle: if the job's very first request
 * found nobody there and sent nothing, the service is looked for, or started,
 * once more and the job begins again. False: it does not.
 */
bool ebb_e2b_job_begin_again(ebb_e2b_job *job, const ebb_e2b_transfer *transfer,
                             const ebb_err *failure);

/* Ends the attempt. result moves; NULL is EBB_NO_MEMORY. */
void ebb_e2b_job_finish(ebb_e2b_job *job, ebb_value *result);

/* Ends the attempt. details (or NULL) moves. */
void ebb_e2b_job_fail(ebb_e2b_job *job, const ebb_err *err, ebb_value *details);
void ebb_e2b_job_no_memory(ebb_e2b_job *job);

/*
 * For transfers of class none: before_body, by way of the attempt, which is
 * asked once: what is sent again after a refusal has not run before.
 */
void ebb_e2b_job_before_body(void *job);

/* Of the steady clock. */
int64_t ebb_e2b_job_now(const ebb_e2b_job *job);
