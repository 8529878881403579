/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of durable runs share. */

#include "ebb_private.h"

#include "workflow/flow.h"

struct ebb_run {
    ebb_runtime *rt;
    ebb_run *next;
    ebb_flow *flow;
    ebb_step *steps; /* that the host asked for */
};

#define EBB_RUN_ID_BYTES 13 /* of a random id, with its NUL */

/* ---- ebb_step.c: the calls of a run ---- */

bool ebb_run_has_ops(const ebb_run *run);
void ebb_run_ops_cancel(ebb_run *run);
/* Those that did not end in time: forgotten, their callbacks never come. */
void ebb_run_ops_drop(ebb_run *run);

/* ---- ebb_run_backend.c ---- */

/* Before a task of e2b goes out; -1: elsewhere than those before. */
int ebb_run_keep_backend(ebb_run *run, ebb_err *err);

/* As early as it is known that one will: in the journal before its intent. */
void ebb_run_mark_backend(ebb_run *run);

/* ---- ebb_run_step.c ---- */

/* Ends those that the host asked for: nothing comes any more. */
void ebb_run_steps_drop(ebb_run *run);

/* ---- ebb_journal.c ---- */

/* The journal of a runtime, opened when first asked for. NULL with err. */
ebb_journal *ebb_runtime_journal(ebb_runtime *rt, ebb_err *err);

/* Where it is or would be; freed with ebb_mem_free. NULL with err. */
char *ebb_journal_path(const ebb_config *config, ebb_err *err);
