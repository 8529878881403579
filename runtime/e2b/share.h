/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Calls that need the same sandbox at the same time share one connect: the
 * first one asks and leads, the others follow it. It sends nothing itself.
 *
 * Invariant: a job is in at most one list. Whoever leaves, by an end or a
 * cancel, unlinks itself, and a leader that leaves gives its followers back
 * to the caller first.
 */

#include <stdbool.h>
#include <stdint.h>

struct ebb_e2b;
struct ebb_e2b_job;

/* A list of jobs, in their order. */
typedef struct ebb_e2b_jobs {
    struct ebb_e2b_job *first;
} ebb_e2b_jobs;

/* A job's part in it. */
typedef struct ebb_e2b_share {
    ebb_e2b_jobs *list; /* it is in: the leaders, a leader's followers */
    struct ebb_e2b_job *next;
    ebb_e2b_jobs followers; /* of a leader */
    int64_t life_ms;        /* that a leader asked for at first */
} ebb_e2b_share;

/*
 * Joins a connect under way that the job may use: for its sandbox, for a life
 * as long, and after a refusal only one that began after a refusal, too.
 * False: there is none, and the job leads now.
 */
bool ebb_e2b_share_join(struct ebb_e2b_job *job);

/* Moves a leader's followers to a list of the caller's; it leads no more. */
void ebb_e2b_share_take(struct ebb_e2b_job *job, ebb_e2b_jobs *list);

/* Makes the job a leader of those in the list, which is empty then. */
void ebb_e2b_share_lead(struct ebb_e2b_job *job, ebb_e2b_jobs *list);

void ebb_e2b_share_add(ebb_e2b_jobs *list, struct ebb_e2b_job *job);

/* The first of the list, out of it; NULL at its end. */
struct ebb_e2b_job *ebb_e2b_share_next(ebb_e2b_jobs *list);

/* Out of whichever list it is in, if any. Followers must be gone. */
void ebb_e2b_share_leave(struct ebb_e2b_job *job);
