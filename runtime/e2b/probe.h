/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * After a stream broke: whether the sandbox is still there, so that the error
 * can tell a killed sandbox from a lost connection. One short question to the
 * control plane; it never delays the end by more than EBB_E2B_PROBE_MS.
 */

#include "e2b/job.h"

#include <stdbool.h>

#define EBB_E2B_PROBE_MS 700

typedef struct ebb_e2b_probe {
    ebb_e2b_job *job;
    bool under_way;
    bool ended;                  /* the sandbox is gone, and everything in it */
    char why[EBB_ERR_MSG_BYTES]; /* the stream's end, and what was found */
    ebb_e2b_job_fn *settled;
} ebb_e2b_probe;

/* Asks and calls settled, at once or later. */
void ebb_e2b_probe_start(ebb_e2b_probe *probe, ebb_e2b_job *job,
                         const char *why, ebb_e2b_job_fn *settled);
