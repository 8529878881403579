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

/* The metadata of a sandbox that has its idempotency key. */
#define EBB_RUNS_KEY_FIELD "_render_tasks_idempotency_key"

/* ---- ebb_runs_backend.c ---- */

/*
 * The runtime for the back end of a run: rt, or another one, which *opened
 * (else NULL) is too, to be closed. NULL with err.
 */
ebb_runtime *ebb_runs_reach(ebb_runtime *rt, const char *backend,
                            ebb_runtime **opened, ebb_err *err);

/* The other back end: the cloud for the local service, and back. */
ebb_runtime *ebb_runs_open_other(const ebb_runtime *rt, ebb_err *err);

/* Whether there is a local service that need not be started. */
bool ebb_runs_local_serves(const ebb_runtime *rt);

/* ---- ebb_runs_prune.c ---- */

/*
 * Ends them on whichever back end they live; the ids go to killed. Blocks: not
 * on a host's loop.
 */
int ebb_runs_end_sandboxes(ebb_runtime *rt, const ebb_journal_run *run,
                           ebb_value *killed, ebb_err *err);
