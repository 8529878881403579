/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of the journal share: jobs, the thread's part of the journal,
 * and small helpers over its tables. Nothing outside journal/ includes this.
 */

#include "journal/journal.h"
#include "journal/owner.h"
#include "journal/runs.h"
#include "journal/sql.h"

#include <pthread.h>

typedef struct ebb_journal_job ebb_journal_job;

/*
 * One thing for the thread to do. run may be called twice (a group that failed
 * as a whole is tried job by job), so it starts from nothing. Returning -1
 * undoes what it wrote; returning 0 with err set keeps it and answers err.
 */
struct ebb_journal_job {
    ebb_journal_job *next;
    int (*run)(ebb_journal *journal, ebb_journal_job *job);
    void (*answer)(ebb_journal_job *job); /* on the loop; frees the job */
    ebb_err err;                          /* code 0: none */
    size_t bytes;                         /* what it writes, roughly */
    bool writes;
    bool patient; /* it is committed with one that is not */
    bool waited; /* somebody waits for finished; no answer */
    bool finished;
};

typedef struct ebb_journal_jobs {
    ebb_journal_job *first, *last;
    size_t n;
} ebb_journal_jobs;

struct ebb_journal {
    ebb_loop *loop;
    const ebb_clock *clock;
    char *path;
    pthread_t thread;

    /* the thread's own */
    ebb_sql sql;
    ebb_owner self;
    int64_t busy_since;
    int wal_frames; /* in its log, as of this one's last commit */

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t asked; /* the thread waits: a job, or closing */
    pthread_cond_t told;  /* others wait: started, or a job is finished */
    ebb_journal_jobs queue;
    size_t urgent; /* jobs of the queue that are not patient */
    ebb_journal_jobs answers;
    ebb_err failure;       /* of the opening */
    int64_t closing_since; /* 0: not closing */
    bool started;
    bool woken; /* the loop has been told of answers */

    bool *gone; /* the loop's: set when freed from inside an answer */
};

/* ---- journal.c ---- */

/* Takes the job, or returns -1 and leaves it alone: the queue is full. */
int ebb_journal_post(ebb_journal *journal, ebb_journal_job *job, ebb_err *err);

/* Posts a job of the caller's and waits; returns -1 if it has an err. */
int ebb_journal_wait(ebb_journal *journal, ebb_journal_job *job, ebb_err *err);

/* ---- group.c: on the thread ---- */

/* n writes from first as one transaction; -1: it could not begin. */
int ebb_journal_run_group(ebb_journal *journal, ebb_journal_job *first,
                          size_t n);
void ebb_journal_run_read(ebb_journal *journal, ebb_journal_job *job);

/* ---- wal.c: on the thread ---- */

void ebb_journal_wal_watch(ebb_journal *journal);

/* Room in the log for the transaction that was begun: it holds the lock. */
void ebb_journal_wal_extend(ebb_journal *journal);

/* Moves a long log into the file; idle: no job waits. */
void ebb_journal_wal_checkpoint(ebb_journal *journal, bool idle);

/* ---- schema.c ---- */

/* Opens the file on this thread, making it or bringing it up to date. */
int ebb_journal_open_file(ebb_journal *journal,
                          int (*busy)(void *context, int count), ebb_err *err);

/* ---- write.c: what the loop asks ---- */

/* A write of a run's owner; its texts are in the same block. */
typedef struct ebb_journal_write {
    ebb_journal_job base;
    ebb_journal *journal;
    ebb_journal_claim claim;
    ebb_journal_done done;
    int64_t now_ms;
    ebb_journal_step step; /* also the outcome of an end */
    ebb_journal_line line;
    ebb_journal_state state;
    const char *backend;
    const char *paths; /* NUL-terminated, one after another */
    size_t paths_bytes;
} ebb_journal_write;

/* ---- claim.c and step.c: what the thread does of it ---- */

/* What a run has. */
typedef struct ebb_journal_counts {
    int64_t steps, bytes, lines, seq;
} ebb_journal_counts;

/* The first thing of every write: its claim holds, or -1. */
int ebb_journal_hold(ebb_journal *journal, const ebb_journal_write *write,
                     ebb_journal_counts *counts, ebb_err *err);

/* What the run has after the write; a new seq is progress. */
int ebb_journal_count(ebb_journal *journal, const ebb_journal_write *write,
                      const ebb_journal_counts *counts, ebb_err *err);

int ebb_journal_run_intent(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_attempt(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_outcome(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_del(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_line(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_raw_order(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_backend(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_end(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_release(ebb_journal *journal, ebb_journal_job *job);
int ebb_journal_run_poll(ebb_journal *journal, ebb_journal_job *job);

/* ---- rows.c: texts and checksums of rows ---- */

/* 1 to EBB_JOURNAL_ID_BYTES_MAX of UTF-8 without control characters. */
int ebb_journal_check_id(const char *id, ebb_err *err);

/* Texts that live as long as their run. */
typedef struct ebb_journal_texts {
    struct ebb_journal_chunk *chunks;
    bool starved; /* a text found no memory */
} ebb_journal_texts;

/* A copy with a NUL; NULL in: NULL. */
const char *ebb_journal_texts_add(ebb_journal_texts *texts, const char *bytes,
                                  size_t n);
/* Makes *text, NUL-terminated or NULL, a copy. */
void ebb_journal_texts_own(ebb_journal_texts *texts, const char **text);
void ebb_journal_texts_clear(ebb_journal_texts *texts);

int64_t ebb_journal_run_sum(const ebb_journal_run *run);
int64_t ebb_journal_end_sum(ebb_journal_state state, const char *outcome,
                            size_t outcome_bytes);
int64_t ebb_journal_intent_sum(const ebb_journal_step *step);
int64_t ebb_journal_json_sum(const char *json, size_t n);
int64_t ebb_journal_outcome_sum(const ebb_journal_step *step);
int64_t ebb_journal_attempt_sum(const ebb_journal_attempt *attempt);
int64_t ebb_journal_line_sum(const ebb_journal_line *line);

/* ---- read.c: rows as structs, with borrowed texts ---- */

/* The columns that the readers expect, in their order. */
#define EBB_JOURNAL_RUN_HEAD                                                   \
    "key, id, state, fence, owner_boot, owner_pid, owner_start, "              \
    "recoveries, steps, raw_order, cancel_ms, started_ms, updated_ms, "        \
    "ended_ms, seed, run_sum, end_sum, script, script_sha256, "                \
    "forked_from, backend"
#define EBB_JOURNAL_RUN_COLUMNS EBB_JOURNAL_RUN_HEAD ", args, outcome"
#define EBB_JOURNAL_STEP_HEAD                                                  \
    "key, path, name, class, digest, wake_ms, began_ms, attempts, "            \
    "next_ms, seq, failed, ended_ms, intent_sum, outcome_sum, "                \
    "outcome_bytes, input_bytes"
#define EBB_JOURNAL_STEP_COLUMNS EBB_JOURNAL_STEP_HEAD ", outcome"
/* With input and outcome from wherever they are. */
#define EBB_JOURNAL_STEP_ALL                                                   \
    EBB_JOURNAL_STEP_HEAD                                                      \
    ", coalesce(outcome, (SELECT json FROM large"                              \
    "   WHERE step = step.key AND kind = 2))"                                  \
    ", coalesce(input, (SELECT json FROM large"                                \
    "   WHERE step = step.key AND kind = 1)), input_sum"

/*
 * Each returns NULL, or what is wrong with the row. head: without args and
 * outcome, and not checked. all: with input, and large JSON too.
 */
const char *ebb_journal_read_run(ebb_journal *journal, sqlite3_stmt *row,
                                 bool head, ebb_journal_run *out);
const char *ebb_journal_read_step(sqlite3_stmt *row, bool all,
                                  ebb_journal_step *out);

/* number, at_ms, next_ms, sum, error, path. */
const char *ebb_journal_read_attempt(sqlite3_stmt *row,
                                     ebb_journal_attempt *out);

/* path, attempt, level, at_ms, sum, message, fields. */
const char *ebb_journal_read_line(sqlite3_stmt *row, ebb_journal_line *out);

/* ---- load.c ---- */

/* What of a run is read. */
typedef enum ebb_journal_depth {
    EBB_JOURNAL_DEPTH_RUN,
    EBB_JOURNAL_DEPTH_REPLAY, /* steps, without inputs and large outcomes */
    EBB_JOURNAL_DEPTH_ALL
} ebb_journal_depth;

/* The run of an id, NULL with EBB_NOT_FOUND; waits. */
ebb_journal_run *ebb_journal_load(ebb_journal *journal, const char *id,
                                  ebb_journal_depth depth, ebb_err *err);

/* An empty run, to be filled; NULL: no memory. */
ebb_journal_run *ebb_journal_run_new(void);
ebb_journal_texts *ebb_journal_run_texts(ebb_journal_run *run);
