/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files behind ebb_runs_… in ebb_run.h share. */

#include "ebb_run_private.h"

/* ---- ebb_runs_view.c; NULL: no memory ---- */

/* A run without its steps, and with all there is. */
ebb_value *ebb_runs_value(const ebb_journal_run *run, int64_t now_ms);
ebb_value *ebb_runs_value_whole(const ebb_journal_run *run, int64_t now_ms);

/* ---- ebb_runs_sandboxes.c ---- */

/*
 * The sandboxes that the run made and did not kill: [{sandboxId?, step,
 * idempotencyKey?}]; without an id it is not known whether one was made.
 */
ebb_value *ebb_runs_sandboxes(const ebb_journal_run *run);

/* ---- ebb_runs_prune.c ---- */

/*
 * Ends them on whichever back end they live; the ids go to killed. Blocks: not
 * on a host's loop.
 */
int ebb_runs_end_sandboxes(ebb_runtime *rt, const ebb_journal_run *run,
                           ebb_value *killed, ebb_err *err);
