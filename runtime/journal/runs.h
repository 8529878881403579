/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Runs as a whole: claiming one, loading it, and what people do with the
 * journal (list, show, cancel, fork, prune, check). Every function here waits
 * for the journal's thread, at most EBB_JOURNAL_BUSY_MS and what is queued
 * before it; answers of earlier jobs still come from the loop, later.
 */

#include "journal/journal.h"

/* One attempt that failed. */
typedef struct ebb_journal_attempt {
    const char *path;
    int number;
    const char *error; /* JSON */
    size_t error_bytes;
    int64_t at_ms;
    int64_t next_ms; /* 0: no further one was planned */
} ebb_journal_attempt;

/* A run with what was asked for; all its texts are its own. */
typedef struct ebb_journal_run {
    ebb_journal_claim claim; /* run 0: not ours */
    const char *id;
    const char *script;        /* as it was begun; or NULL */
    const char *script_sha256; /* as it was begun; or NULL */
    const char *args;          /* JSON; or NULL */
    const char *forked_from;   /* id of another run; or NULL */
    const char *backend;       /* that the caller named; or NULL */
    ebb_journal_state state;
    const char *outcome; /* JSON of its end; or NULL */
    size_t outcome_bytes;
    uint64_t seed; /* random, of this run; a fork keeps it */
    bool raw_order;
    bool cancel_asked;
    int recoveries;    /* from a dead owner, ever */
    int64_t owner_pid; /* 0: none */
    bool owner_alive;
    int64_t started_ms, updated_ms, ended_ms;
    int64_t steps_count; /* also where steps were not asked for */

    ebb_journal_step *steps; /* outcomes by seq, then the rest as begun */
    size_t steps_n;
    ebb_journal_attempt *attempts; /* show only, as they came */
    size_t attempts_n;
    ebb_journal_line *lines; /* show only, as they came */
    size_t lines_n;
} ebb_journal_run;

void ebb_journal_run_free(ebb_journal_run *run); /* NULL is fine */

typedef struct ebb_journal_claim_config {
    const char *id; /* 1 to EBB_JOURNAL_ID_BYTES_MAX of UTF-8, no controls */
    const char *script;
    const char *script_sha256;
    const char *args; /* JSON */
    bool resume;      /* reopens one that failed, was cancelled or is stuck */
    bool take_over;   /* from an owner that is alive */
    bool interrupted; /* only one that is there and has not ended */
} ebb_journal_claim_config;

/*
 * Claims a run, or begins it, and loads it with its steps (inputs left out,
 * outcomes up to EBB_JOURNAL_SMALL_BYTES). One that has ended comes as it
 * ended, without steps and without a claim, unless resume. NULL: EBB_OWNED
 * (a living owner, named), EBB_STUCK, EBB_INVALID_INPUT, EBB_JOURNAL; with
 * interrupted also EBB_NOT_FOUND and EBB_CONFLICT.
 */
ebb_journal_run *ebb_journal_claim_run(ebb_journal *journal,
                                       const ebb_journal_claim_config *config,
                                       ebb_err *err);

/* A run with steps, inputs, attempts, log; EBB_NOT_FOUND. */
ebb_journal_run *ebb_journal_get_run(ebb_journal *journal, const char *id,
                                     ebb_err *err);

/*
 * At most n_max runs, newest first, without steps; as an array of *n. Those
 * that are active come before those that have ended, if not all can.
 */
int ebb_journal_list(ebb_journal *journal, size_t n_max, ebb_journal_run ***out,
                     size_t *n, ebb_err *err);
void ebb_journal_list_free(ebb_journal_run **runs, size_t n);

/*
 * One that is interrupted ends as cancelled with outcome (an error object as
 * JSON); a living owner is asked, and *asked is true. EBB_NOT_FOUND;
 * EBB_CONFLICT when it has ended.
 */
int ebb_journal_cancel(ebb_journal *journal, const char *id,
                       const char *outcome, bool *asked, ebb_err *err);

/*
 * Makes the run new_id of what id had recorded before the step at path (all
 * outcomes of smaller seq than that step's and those below it): interrupted,
 * with script, args and seed of the old one. EBB_NOT_FOUND, EBB_CONFLICT when
 * new_id is there.
 */
int ebb_journal_fork(ebb_journal *journal, const char *id, const char *path,
                     const char *new_id, ebb_err *err);

/* Removes a run that has ended: all of it, or nothing. As ebb_journal_cancel
 * it says EBB_NOT_FOUND; EBB_CONFLICT when it is active. */
int ebb_journal_del_run(ebb_journal *journal, const char *id, ebb_err *err);

/* One problem that the check found; run is "" for the file as a whole. */
typedef void ebb_journal_problem_fn(void *context, const char *run,
                                    const char *what);

/*
 * Looks at every row: SQLite's own check, checksums, JSON that does not
 * parse. fn is called from inside for each problem, at most
 * EBB_JOURNAL_PROBLEMS_MAX; returns how many, or -1.
 */
#define EBB_JOURNAL_PROBLEMS_MAX 100
int ebb_journal_check(ebb_journal *journal, ebb_journal_problem_fn *fn,
                      void *context, ebb_err *err);
