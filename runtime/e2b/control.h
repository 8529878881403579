/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Calls of the control plane: REST with JSON, answers of at most 8 MiB and
 * 200,000 values. Which calls a task makes is the task's business.
 */

#include "e2b/job.h"

typedef struct ebb_e2b_control {
    const char *method;
    const char *path;            /* see ebb_e2b_path */
    const ebb_value *body;       /* borrowed; NULL: none */
    const char *idempotency_key; /* or NULL */
    ebb_e2b_answer_fn *on_answer;
} ebb_e2b_control;

/* Starts the job's transfer. False: it could not, and the job has failed. */
bool ebb_e2b_control_start(ebb_e2b_job *job, const ebb_e2b_control *control);

/*
 * "<prefix>/sandboxes/<id><suffix>" with the id escaped, in a new string; id
 * NULL leaves it and its slash out.
 */
char *ebb_e2b_path(const char *prefix, const char *id, const char *suffix);

/*
 * The prefix of routes that have two versions: "/v2" unless this base URL has
 * shown that it does not know it.
 */
const char *ebb_e2b_prefix(const ebb_e2b *e2b);

/*
 * Whether an answer to a /v2 route says that the route itself is unknown, so
 * that the call is to be made again without /v2; remembers what it learns.
 */
bool ebb_e2b_falls_back(ebb_e2b *e2b, const ebb_e2b_answer *answer);

/* Seconds on the wire: milliseconds rounded up. */
int64_t ebb_e2b_seconds(double ms);
