/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The journal: what durable runs remember, in one SQLite file of one host that
 * many processes share. It stores and hands back; it knows neither tasks nor
 * how a run is replayed (runtime/workflow does), and it reads no JSON but to
 * check it.
 *
 * One thread owns the file. The loop posts, the thread commits what has
 * gathered as one transaction with fsync, the loop is woken. Invariant: an
 * answer without an error means that it is on the disk, and that the claim
 * under which it was written still held in the same transaction.
 */

#include "base/clock.h"
#include "base/err.h"
#include "net/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ebb_journal ebb_journal;

#define EBB_JOURNAL_ID_BYTES_MAX   255
#define EBB_JOURNAL_PATH_BYTES_MAX 1024
#define EBB_JOURNAL_NAME_BYTES_MAX 255     /* of a step, a script, a class */
#define EBB_JOURNAL_JSON_BYTES_MAX 4000000 /* an input, an outcome, args */
#define EBB_JOURNAL_LOG_BYTES_MAX  65536   /* a message; longer is cut */
#define EBB_JOURNAL_SMALL_BYTES    65536   /* larger JSON: a table of its own */
#define EBB_JOURNAL_RUN_BYTES_MAX  1000000000 /* JSON of one run, together */
#define EBB_JOURNAL_STEPS_MAX      1000000    /* of one run */
#define EBB_JOURNAL_LOG_LINES_MAX  100000     /* of one run */
#define EBB_JOURNAL_RECOVERIES_MAX 10         /* in a row, without an outcome */
#define EBB_JOURNAL_BUSY_MS        30000      /* waiting for others' locks */
#define EBB_JOURNAL_JOBS_MAX       65536      /* waiting for the thread */

/*
 * Opens path, making it (0600) and its missing folders (0700), or brings an
 * older schema up; waits, at most EBB_JOURNAL_BUSY_MS for others' locks. Every
 * failure is EBB_JOURNAL (or EBB_NO_MEMORY) and says what to do. loop and
 * clock must outlive the journal; the process' allocator must be one for
 * several threads. Not to be used in a forked child.
 */
ebb_journal *ebb_journal_open(ebb_loop *loop, const ebb_clock *clock,
                              const char *path, ebb_err *err);

/*
 * Writes what is queued, unless others hold the lock: then those jobs fail.
 * Answers that are still due come from inside this call. NULL is fine.
 */
void ebb_journal_close(ebb_journal *journal);

/* The answer to a job: err is NULL, or says why nothing was written. */
typedef void ebb_journal_fn(void *context, const ebb_err *err);

/* fn comes exactly once, from the loop, in the order of the jobs; or NULL. */
typedef struct ebb_journal_done {
    ebb_journal_fn *fn;
    void *context;
} ebb_journal_done;

/* Ownership of one run: given by ebb_journal_claim, checked by each write. */
typedef struct ebb_journal_claim {
    int64_t run;   /* the key of the row, never used again; 0: no claim */
    int64_t fence; /* raised by each change of owner */
} ebb_journal_claim;

typedef struct ebb_journal_step {
    const char *path;       /* NUL-terminated, unique in its run */
    const char *name;       /* "e2b.runCode", "ebb.sleep", a step's own */
    const char *step_class; /* "read", "lifecycle", "none" */
    const char *digest;     /* of the input, for people to compare; or NULL */
    const char *input;      /* JSON, or NULL */
    size_t input_bytes;
    int64_t wake_ms;  /* of a sleep; else 0 */
    int64_t began_ms; /* 0 when written: now */

    int attempts;              /* made so far */
    int64_t next_attempt_ms;   /* wall clock of the next; 0: none planned */
    const char *attempt_error; /* JSON of the last; or NULL */
    size_t attempt_error_bytes;

    int64_t seq;         /* order of outcomes in the run, from 1; 0: none yet */
    bool failed;         /* the outcome is an error object */
    const char *outcome; /* JSON; NULL if none yet, or larger than small */
    size_t outcome_bytes;
    int64_t ended_ms; /* 0 when written: now */
} ebb_journal_step;

/*
 * The writes of a run's owner. Each copies what it is given, returns 0 and
 * answers later; or returns -1 (a limit, EBB_INVALID_INPUT, EBB_NO_MEMORY, a
 * full queue) and never answers. Answers besides: EBB_LOST_OWNERSHIP,
 * EBB_JOURNAL, EBB_LIMIT_EXCEEDED (of the run).
 */

/*
 * Before the effect. Reads path, name, step_class, digest, input, wake_ms,
 * began_ms. A path that is there without outcome is fine and stays as it was.
 * Without done.fn it is written with the next job, whichever that is: a
 * reading costs one commit, not two.
 */
int ebb_journal_add_intent(ebb_journal *journal, const ebb_journal_claim *claim,
                           const ebb_journal_step *step, ebb_journal_done done,
                           ebb_err *err);

/*
 * An attempt failed. Reads path, attempts (its number, from 1),
 * attempt_error, next_attempt_ms. The intent must be there.
 */
int ebb_journal_add_attempt(ebb_journal *journal,
                            const ebb_journal_claim *claim,
                            const ebb_journal_step *step, ebb_journal_done done,
                            ebb_err *err);

/*
 * The outcome, with the intent if there was none (a step that needs none: a
 * clock, a combinator): reads all but attempts and seq. One that is there is
 * never written over: EBB_JOURNAL. Outcomes get their seq in the order of
 * these calls.
 */
int ebb_journal_add_outcome(ebb_journal *journal,
                            const ebb_journal_claim *claim,
                            const ebb_journal_step *step, ebb_journal_done done,
                            ebb_err *err);

/*
 * Forgets the outcomes of n paths, which may then be tried again; attempts
 * and intents go with them. For a failed run that was claimed with resume.
 */
int ebb_journal_del_outcomes(ebb_journal *journal,
                             const ebb_journal_claim *claim,
                             const char *const *paths, size_t n,
                             ebb_journal_done done, ebb_err *err);

typedef struct ebb_journal_line {
    const char *path; /* the step it belongs to, or NULL */
    int attempt;
    int level; /* the caller's numbers */
    const char *message;
    const char *fields; /* JSON, or NULL */
    size_t fields_bytes;
    int64_t at_ms; /* 0 when written: now */
} ebb_journal_line;

int ebb_journal_add_line(ebb_journal *journal, const ebb_journal_claim *claim,
                         const ebb_journal_line *line, ebb_journal_done done,
                         ebb_err *err);

/* The run met keys in raw order: see raw_order in ebb_journal_run. */
int ebb_journal_set_raw_order(ebb_journal *journal,
                              const ebb_journal_claim *claim,
                              ebb_journal_done done, ebb_err *err);

/* Where the run's tasks go: see backend in ebb_journal_run. */
int ebb_journal_set_backend(ebb_journal *journal,
                            const ebb_journal_claim *claim, const char *backend,
                            ebb_journal_done done, ebb_err *err);

typedef enum ebb_journal_state {
    EBB_JOURNAL_ACTIVE, /* runs, or is interrupted */
    EBB_JOURNAL_DONE,
    EBB_JOURNAL_FAILED,
    EBB_JOURNAL_CANCELLED,
    EBB_JOURNAL_STUCK, /* EBB_JOURNAL_RECOVERIES_MAX recoveries in a row */
    EBB_JOURNAL_STATES_COUNT
} ebb_journal_state;

/* "active", "done", … */
const char *ebb_journal_state_name(ebb_journal_state state);

/* The end, with its result or error object as JSON; the claim ends too. */
int ebb_journal_end(ebb_journal *journal, const ebb_journal_claim *claim,
                    ebb_journal_state state, const char *outcome,
                    ebb_journal_done done, ebb_err *err);

/* Gives the run up as it is, interrupted: anybody may claim it. */
int ebb_journal_release(ebb_journal *journal, const ebb_journal_claim *claim,
                        ebb_journal_done done, ebb_err *err);

/*
 * Asks how the claim stands: EBB_CANCELLED when somebody asked for the run to
 * be cancelled, EBB_LOST_OWNERSHIP when it was taken over. Costs no commit.
 */
int ebb_journal_poll(ebb_journal *journal, const ebb_journal_claim *claim,
                     ebb_journal_done done, ebb_err *err);

/*
 * Reads an outcome that was too large to come with its run. json is valid in
 * the callback only; NULL with err.
 */
typedef void ebb_journal_json_fn(void *context, const char *json, size_t n,
                                 const ebb_err *err);
int ebb_journal_find_outcome(ebb_journal *journal,
                             const ebb_journal_claim *claim, const char *path,
                             ebb_journal_json_fn *fn, void *context,
                             ebb_err *err);
