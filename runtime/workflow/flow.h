/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One open run: which recorded outcome is delivered when, which step may run,
 * what the journal is told before and after. It knows no task and no script:
 * runtime/ebb_run.c and ebb_call.c run the steps.
 *
 * Invariant: recorded outcomes are delivered in the order of their numbers,
 * one after each ebb_flow_idle, before anything runs; an outcome is delivered
 * only once it is committed. A run that stopped executes and writes nothing
 * any more: every step gets the error it stopped with.
 */

#include "base/clock.h"
#include "journal/runs.h"
#include "net/loop.h"
#include "workflow/steps.h"

typedef struct ebb_flow_config {
    ebb_loop *loop;
    const ebb_clock *clock;
    ebb_journal *journal;
    ebb_journal_claim_config claim;
    bool force; /* with resume: a step of unknown outcome is tried again */
} ebb_flow_config;

/* Opens, claims and loads a run, or begins it; waits for the journal. */
ebb_flow *ebb_flow_open(const ebb_flow_config *config, ebb_err *err);

/*
 * Nothing runs or is written any more; every step is answered with err, in
 * its turn.
 */
void ebb_flow_give_up(ebb_flow *flow, const ebb_err *err);

/* Releases the run. No fn comes any more. NULL is fine. */
void ebb_flow_close(ebb_flow *flow);

const char *ebb_flow_id(const ebb_flow *flow);
ebb_journal_state ebb_flow_state(const ebb_flow *flow);
const ebb_value *ebb_flow_outcome(const ebb_flow *flow);
int64_t ebb_flow_time_ms(const ebb_flow *flow);
uint64_t ebb_flow_seed(const ebb_flow *flow, const char *path);
bool ebb_flow_script_changed(const ebb_flow *flow);
bool ebb_flow_args_changed(const ebb_flow *flow);
bool ebb_flow_is_lost(const ebb_flow *flow); /* to another owner */
bool ebb_flow_cancel_requested(const ebb_flow *flow);
void ebb_flow_note_raw_order(ebb_flow *flow);

/* A name of the caller's for where its tasks go, or NULL; once set it stays. */
const char *ebb_flow_backend(const ebb_flow *flow);
int ebb_flow_set_backend(ebb_flow *flow, const char *backend, ebb_err *err);

/* Whether a recorded outcome is left to deliver. */
bool ebb_flow_is_replaying(const ebb_flow *flow);

void ebb_flow_idle(ebb_flow *flow);

typedef struct ebb_flow_ask {
    const char *path, *name;
    ebb_retry_class retry_class;
    const ebb_value *input;
    int64_t wake_ms;
    bool intent_later; /* see ebb_flow_intend; of class none only */
    ebb_flow_step_fn *fn;
    void *context;
} ebb_flow_ask;

/* fn comes from the loop: the step to run, or how it ended. */
ebb_flow_step *ebb_flow_step_ask(ebb_flow *flow, const ebb_flow_ask *ask,
                                 ebb_err *err);

/* While fn has not come: it ends as cancelled, unless it is recorded. */
void ebb_flow_step_cancel(ebb_flow_step *step);

/*
 * Commits the intent of a step that runs, immediately before the bytes that
 * execute; done comes once, with err when they may not go out.
 */
void ebb_flow_step_intend(ebb_flow_step *step,
                          void (*done)(void *context, const ebb_err *err),
                          void *context);

/*
 * Records that an attempt failed and when the next one comes; done comes once,
 * with err when there must be none.
 */
void ebb_flow_step_retry(ebb_flow_step *step, int attempts, int64_t next_ms,
                         const ebb_err *why,
                         void (*done)(void *context, const ebb_err *err),
                         void *context);

/*
 * Commits the outcome of a step that was run; value (the result, or the error
 * object if failed) moves. fn comes in its turn, out being that value, or with
 * the error that kept it from the journal.
 */
void ebb_flow_step_finish(ebb_flow_step *step, bool failed, ebb_value *value,
                          ebb_flow_step_fn *fn, void *context);

/* Commits the end; value is borrowed. See ebb_run_end. */
int ebb_flow_end(ebb_flow *flow, ebb_journal_state state,
                 const ebb_value *value,
                 void (*done)(void *context, const ebb_err *err),
                 void *context, ebb_err *err);

/* A line of the run's log, unless the step at its path is recorded (without a
 * path: while recorded outcomes are being delivered); its path, attempt, level
 * and message are read. */
int ebb_flow_log(ebb_flow *flow, ebb_journal_line line,
                 const ebb_value *fields);
