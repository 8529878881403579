/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Extends a sandbox's life while a call runs that lasts longer than what was
 * promised: a connect of its own, in the background, again and again. It is
 * no part of the call's outcome.
 */

#include "e2b/job.h"
#include "net/loop.h"

typedef struct ebb_e2b_extension {
    ebb_e2b_job *job;
    ebb_loop_timer *timer;
    ebb_e2b_transfer *transfer;
} ebb_e2b_extension;

int ebb_e2b_extension_start(ebb_e2b_extension *extension, ebb_e2b_job *job);
void ebb_e2b_extension_clear(ebb_e2b_extension *extension);
