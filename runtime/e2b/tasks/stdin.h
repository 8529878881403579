/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Feeds a running command its standard input, then closes it. A command that
 * ends without reading is no failure; input that was lost on the way is.
 */

#include "e2b/job.h"

#include <stdint.h>

typedef struct ebb_e2b_stdin {
    ebb_e2b_job *job;
    uint32_t pid;
    ebb_e2b_transfer *transfer;
    bool failed; /* the command may have seen a part only */
} ebb_e2b_stdin;

/* Sends n bytes (borrowed for the call) and then the end. */
void ebb_e2b_stdin_start(ebb_e2b_stdin *input, ebb_e2b_job *job, uint32_t pid,
                         const char *bytes, size_t n);
void ebb_e2b_stdin_clear(ebb_e2b_stdin *input);
