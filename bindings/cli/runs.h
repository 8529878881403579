/* SPDX-License-Identifier: MIT */
#pragma once

/* How runs are shown to people: tables, one run with its steps, one step. */

#include "cli/cli.h"

/* "850 ms", "3.2 s", "4 m 10 s", "2 h 3 m", "5 d". */
#define EBB_DURATION_BYTES 24
void ebb_duration_write(int64_t ms, char out[EBB_DURATION_BYTES]);

void ebb_runs_show_list(const ebb_value *runs);

/* The facts of a run, and then its steps with a waterfall. */
void ebb_runs_show_head(const ebb_value *run);
void ebb_runs_show_steps(const ebb_value *run);

/* A line of one step, for a run that is followed. */
void ebb_runs_show_line(const ebb_value *step);

/* How it ended, what it left. */
void ebb_runs_show_end(const ebb_value *run);

/* Everything of one step. */
void ebb_runs_show_step(const ebb_value *step);
