/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Durable runs, a part of ebb.h, which includes it.
 *
 * A run is one execution of a workflow under an id; a step is anything in it
 * whose outcome the journal remembers. The host names each step by a path that
 * is the same in every execution ("3", "4.2/1"), asked for in the order of its
 * code. docs/durable.md says what is promised.
 */

#include "ebb.h"

EBB_C_BEGIN

typedef struct ebb_run ebb_run;
typedef struct ebb_step ebb_step;

typedef enum ebb_run_state {
    EBB_RUN_ACTIVE, /* begins, or goes on */
    EBB_RUN_DONE,
    EBB_RUN_FAILED,
    EBB_RUN_CANCELLED
} ebb_run_state;

typedef struct ebb_run_config {
    size_t size;
    const char *id;            /* 1 to 255 bytes; NULL: a random one */
    const char *script;        /* its absolute path, or a name for people */
    const char *script_sha256; /* hex; another one is noted */
    const ebb_value *args;     /* array of strings; recorded at the start */
    bool resume;    /* reopen a failed run: the step that ended it is tried */
    bool take_over; /* from an owner that is alive */
    bool force;     /* with resume: a step of unknown outcome too */
    /*
     * Only a run that is interrupted, as a sweep of many programs wants it:
     * EBB_NOT_FOUND and EBB_CONFLICT (it has ended) besides EBB_OWNED.
     */
    bool interrupted;
} ebb_run_config;

EBB_API void ebb_run_config_init(ebb_run_config *config);

/*
 * Opens, claims and loads a run, or begins it; waits for the journal. Errors:
 * EBB_OWNED (by a living process, named), EBB_STUCK, EBB_JOURNAL,
 * EBB_INVALID_INPUT. One that has ended is given as it ended.
 */
EBB_API ebb_run *ebb_run_open(ebb_runtime *rt, const ebb_run_config *config,
                              ebb_err *err);

/*
 * Gives it up: without an end it is interrupted and may be opened again. Steps
 * that were asked for or are being ended hear EBB_CANCELLED before it returns.
 */
EBB_API void ebb_run_close(ebb_run *run);

/*
 * The same while it stays open: what is in flight or asked for from here on is
 * answered with EBB_CANCELLED, and nothing is recorded any more.
 */
EBB_API void ebb_run_give_up(ebb_run *run);

EBB_API const char *ebb_run_id(const ebb_run *run);
EBB_API ebb_run_state ebb_run_get_state(const ebb_run *run);

/* What it ended with: the result, or the error object. Borrowed, or NULL. */
EBB_API const ebb_value *ebb_run_outcome(const ebb_run *run);

/* The script is not the one it was begun with (by script_sha256). */
EBB_API bool ebb_run_script_changed(const ebb_run *run);
/* Nor are its arguments. */
EBB_API bool ebb_run_args_changed(const ebb_run *run);

/* For script_sha256: the SHA-256 of bytes in hex, with its NUL. */
EBB_API void ebb_run_sha256(const void *bytes, size_t n, char hex[65]);

/* The wall clock at the last step boundary that was delivered, in ms. */
EBB_API int64_t ebb_run_time_ms(const ebb_run *run);

/* A number of this run and this path, the same in every execution. */
EBB_API uint64_t ebb_run_seed(const ebb_run *run, const char *path);

/*
 * Somebody else asked to cancel it (`ebb runs cancel`) or took it over, and
 * nothing recorded is left to deliver: the host cancels the script as for
 * Ctrl-C, once.
 */
EBB_API bool ebb_run_cancel_requested(const ebb_run *run);

/* What a mismatch may be blamed on; kept with the run. */
EBB_API void ebb_run_note_raw_order(ebb_run *run);

/*
 * Nothing of the host can go on without an answer: recorded outcomes are
 * delivered one at a time, in their order, each after such a call; when none
 * is left, the steps that wait may run. The host calls this before each
 * ebb_poll while a run is open.
 */
EBB_API void ebb_run_idle(ebb_run *run);

/*
 * Commits the end: the result or the error object, which are borrowed. done
 * comes once, from the loop; err says why it could not be recorded
 * (EBB_REPLAY_MISMATCH: recorded steps were never asked for). -1, and the run
 * goes on: EBB_LIMIT_EXCEEDED of more than 4,000,000 bytes as JSON. A run that
 * stopped (lost_ownership, journal, replay_mismatch) gives that error and
 * stays interrupted.
 */
EBB_API int ebb_run_end(ebb_run *run, ebb_run_state state,
                        const ebb_value *outcome,
                        void (*done)(void *context, const ebb_err *err),
                        void *context, ebb_err *err);

typedef struct ebb_step_config {
    const char *path;
    const char *name;       /* "ebb.sleep", "ebb.race", a step's own */
    const char *step_class; /* "read", "lifecycle" or "none" (default) */
    const ebb_value *input; /* its digest must match the recorded one */
    int64_t wake_ms;        /* of a sleep: wall clock; kept from the first */
} ebb_step_config;

/*
 * The answer to ebb_step_begin, once, from the loop. step given: run it, then
 * ebb_step_end; wake_ms is the recorded one. No step: out is the recorded
 * result, or with err the recorded error object; or the run cannot go on
 * (EBB_REPLAY_MISMATCH, EBB_LOST_OWNERSHIP, EBB_JOURNAL, EBB_CANCELLED). out
 * is the callee's.
 */
typedef void ebb_step_fn(void *context, ebb_step *step, int64_t wake_ms,
                         ebb_value *out, const ebb_err *err);

/*
 * Asks for a step. The handle serves ebb_step_cancel until fn has come. A
 * combinator asks for its step and starts its branches at once, without
 * waiting for fn: its recorded outcome comes after those of its branches, and
 * a step to run is given only when no recorded outcome is left.
 */
EBB_API ebb_step *ebb_step_begin(ebb_run *run, const ebb_step_config *config,
                                 ebb_step_fn *fn, void *context,
                                 ebb_err *err);

/*
 * Still waiting: fn comes with EBB_CANCELLED, which is recorded. Nothing
 * happens to a step whose outcome is recorded: what the script saw comes.
 */
EBB_API void ebb_step_cancel(ebb_step *step);

/*
 * Commits the outcome of a step that was run; result or error object are
 * borrowed. done comes when it is recorded (or with err when it cannot be), one
 * at a time as every outcome: the script goes on from there.
 */
EBB_API void ebb_step_end(ebb_step *step, const ebb_value *result,
                          const ebb_value *error,
                          void (*done)(void *context, const ebb_err *err),
                          void *context);

/*
 * ebb_start as a step: the recorded outcome, or the task with its intent,
 * attempts and outcome in the journal. ebb_cancel cancels it.
 */
EBB_API ebb_op *ebb_start_step(ebb_run *run, const char *path,
                               const char *task, const ebb_value *input,
                               ebb_done_fn *done, void *context,
                               ebb_err *err);

/* A line of the run's log, once per execution of the step it belongs to. */
EBB_API int ebb_run_log(ebb_run *run, const char *path, ebb_log_level level,
                        const char *message, const ebb_value *fields);

/*
 * The journal, for people and programs; each waits for it. A run is {id,
 * script, args, backend? ("local", or the API's address: where its tasks go),
 * state ("running", "interrupted", "done", "failed", "cancelled", "stuck"),
 * startedAt, updatedAt, endedAt?, ageMs, ms, owner?: {pid, alive}, recoveries,
 * stepsCount, forkedFrom?, result? or error?}; show adds steps: [{path, name,
 * class, state, startedAt, endedAt?, offsetMs, ms?, input, output? or error?,
 * failedAttempts?, …}], log, and sandboxes: those it made and did not kill.
 */
EBB_API int ebb_runs_list(ebb_runtime *rt, ebb_value **out, ebb_err *err);
EBB_API int ebb_runs_show(ebb_runtime *rt, const char *id, ebb_value **out,
                          ebb_err *err);
/*
 * run is as ebb_runs_show gave it: asks its back end which of its sandboxes are
 * alive, leaves the others out, and adds status and endAt. -1: it could not be
 * asked, and the list is as it was. Blocks: not on a host's loop.
 */
EBB_API int ebb_runs_find_alive(ebb_runtime *rt, ebb_value *run, ebb_err *err);
/*
 * Asks its owner to cancel it and does not wait for that; or ends an
 * interrupted one as cancelled, and then the sandboxes it made and did not kill
 * (-1 if that fails). One that was cancelled and left some: ends those.
 */
EBB_API int ebb_runs_cancel(ebb_runtime *rt, const char *id, ebb_err *err);
/* A new run with the steps of id before path; *new_id is freed by ebb_free. */
EBB_API int ebb_runs_fork(ebb_runtime *rt, const char *id, const char *path,
                          char **new_id, ebb_err *err);
/*
 * Removes ended runs; kill: first ends the sandboxes they left alive, on
 * whichever back end they live. {removed, killed, failed: [{id, message}]}.
 */
EBB_API int ebb_runs_prune(ebb_runtime *rt, bool kill, ebb_value **out,
                           ebb_err *err);

EBB_C_END
