/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the verbs of `ebb runs` share: their options, how a run is shown to
 * people, how its script goes on.
 */

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

/* Everything of one step of the run. */
void ebb_runs_show_step(const ebb_value *run, const ebb_value *step);

/* ---- runs_resume.c: each returns an exit status ---- */

typedef struct ebb_runs_options {
    const char *id, *step, *from;
    bool take_over, force, kill;
} ebb_runs_options;

/* id NULL: every run whose process is dead. */
int ebb_runs_resume(ebb_cli *cli, ebb_runtime *rt,
                    const ebb_runs_options *options);
int ebb_runs_fork_on(ebb_cli *cli, ebb_runtime *rt,
                     const ebb_runs_options *options);
