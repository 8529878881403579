/* SPDX-License-Identifier: MIT */

/* Loading runs: rows become structs that own their texts. */

#include "base/mem.h"
#include "journal/journal_private.h"

#include <stdlib.h>

/* What a caller gets is the first member. */
typedef struct loaded {
    ebb_journal_run run;
    ebb_journal_texts texts;
    size_t steps_room, attempts_room, lines_room;
} loaded;

typedef struct load_job {
    ebb_journal_job base;
    const char *id;
    ebb_journal_depth depth;
    ebb_journal_run *out;
} load_job;

static const char run_sql[] =
    "SELECT " EBB_JOURNAL_RUN_COLUMNS " FROM run WHERE id = ?";

static const char steps_sql[] =
    "SELECT " EBB_JOURNAL_STEP_COLUMNS " FROM step WHERE run = ?";

static const char all_steps_sql[] =
    "SELECT " EBB_JOURNAL_STEP_ALL " FROM step WHERE run = ?";

static const char last_attempt_sql[] =
    "SELECT number, at_ms, next_ms, sum, error, NULL FROM attempt"
    " WHERE step = ? ORDER BY number DESC LIMIT 1";

static const char attempts_sql[] =
    "SELECT number, at_ms, attempt.next_ms, sum, error, path FROM step"
    " JOIN attempt ON step = key WHERE run = ? ORDER BY attempt.rowid";

static const char lines_sql[] =
    "SELECT path, attempt, level, at_ms, sum, message, fields FROM log"
    " WHERE run = ? ORDER BY key";

ebb_journal_run *ebb_journal_run_new(void)
{
    return ebb_mem_zero(sizeof(loaded));
}

ebb_journal_texts *ebb_journal_run_texts(ebb_journal_run *run)
{
    return &((loaded *)run)->texts;
}

void ebb_journal_run_free(ebb_journal_run *run)
{
    if (run == NULL)
        return;
    ebb_journal_texts_clear(ebb_journal_run_texts(run));
    ebb_mem_free(run->steps);
    ebb_mem_free(run->attempts);
    ebb_mem_free(run->lines);
    ebb_mem_free(run);
}

/* Room for one more of n items; NULL: no memory, and items is as it was. */
static void *grown(void *items, size_t n, size_t *room, size_t item_bytes)
{
    size_t want = *room == 0 ? 16 : *room * 2;

    if (n < *room)
        return items;
    items = ebb_mem_resize(items, want * item_bytes);
    if (items != NULL)
        *room = want;
    return items;
}

static int no_memory(ebb_err *err)
{
    return ebb_err_set(err, EBB_NO_MEMORY, "a run of the journal");
}

static int damaged_row(const ebb_journal_run *run, const char *what,
                       const char *path, const char *why, ebb_err *err)
{
    return ebb_err_set(err, EBB_JOURNAL,
                       "run %s: %s %s is damaged in the journal: %s; begin "
                       "again under another id, or fork the run from before",
                       run->id, what, path != NULL ? path : "(no name)", why);
}

static void own(ebb_journal_texts *texts, const char **text, size_t n)
{
    *text = ebb_journal_texts_add(texts, *text, n);
}

/* ---- steps ---- */

/* The state of the schedule, from the attempt's own row. */
static int read_schedule(ebb_journal *journal, loaded *l, int64_t key,
                         ebb_journal_step *step, ebb_err *err)
{
    ebb_journal_attempt last;
    sqlite3_stmt *row =
        ebb_sql_start(&journal->sql, err, last_attempt_sql, "i", key);
    int got = row == NULL ? -1 : ebb_sql_step(&journal->sql, row, err);
    const char *why;

    if (got <= 0)
        return got;
    why = ebb_journal_read_attempt(row, &last);
    if (why == NULL) {
        step->attempts = last.number;
        step->next_attempt_ms = last.next_ms;
        step->attempt_error_bytes = last.error_bytes;
        step->attempt_error =
            ebb_journal_texts_add(&l->texts, last.error, last.error_bytes);
    }
    ebb_sql_done(row);
    if (why != NULL)
        return damaged_row(&l->run, "an attempt of step", step->path, why, err);
    return 0;
}

static int add_step(ebb_journal *journal, loaded *l, sqlite3_stmt *row,
                    bool all, ebb_err *err)
{
    ebb_journal_step step, *steps;
    const char *why = ebb_journal_read_step(row, all, &step);
    int64_t key = ebb_sql_int(row, 0);

    if (why != NULL)
        return damaged_row(&l->run, "step", step.path, why, err);
    ebb_journal_texts_own(&l->texts, &step.path);
    ebb_journal_texts_own(&l->texts, &step.name);
    ebb_journal_texts_own(&l->texts, &step.step_class);
    ebb_journal_texts_own(&l->texts, &step.digest);
    own(&l->texts, &step.outcome, step.outcome_bytes);
    own(&l->texts, &step.input, step.input_bytes);
    steps = grown(l->run.steps, l->run.steps_n, &l->steps_room, sizeof *steps);
    if (steps == NULL || l->texts.starved)
        return no_memory(err);
    l->run.steps = steps;
    if (step.seq == 0 && read_schedule(journal, l, key, &step, err) != 0)
        return -1;
    if (step.seq == 0)
        step.seq = -key; /* only until they are sorted */
    steps[l->run.steps_n++] = step;
    return 0;
}

/* Outcomes by seq; then those without, which have -key, as they began. */
static int by_order(const void *a, const void *b)
{
    const ebb_journal_step *x = a, *y = b;

    if ((x->seq < 0) != (y->seq < 0))
        return x->seq < 0 ? 1 : -1;
    if (x->seq == y->seq)
        return 0;
    return (x->seq < 0) == (x->seq < y->seq) ? 1 : -1;
}

static void sort_steps(ebb_journal_run *run)
{
    if (run->steps_n > 0)
        qsort(run->steps, run->steps_n, sizeof *run->steps, by_order);
    for (size_t i = run->steps_n; i > 0 && run->steps[i - 1].seq < 0; i--)
        run->steps[i - 1].seq = 0;
}

static int load_steps(ebb_journal *journal, loaded *l, bool all, ebb_err *err)
{
    sqlite3_stmt *row =
        ebb_sql_start(&journal->sql, err, all ? all_steps_sql : steps_sql, "i",
                      l->run.claim.run);
    int got;

    if (row == NULL)
        return -1;
    while ((got = ebb_sql_step(&journal->sql, row, err)) == 1)
        if (add_step(journal, l, row, all, err) != 0) {
            ebb_sql_done(row);
            return -1;
        }
    if (got < 0)
        return ebb_err_wrap(err, "run %s", l->run.id);
    sort_steps(&l->run);
    return 0;
}

/* ---- what people see besides ---- */

static int add_attempt(loaded *l, sqlite3_stmt *row, ebb_err *err)
{
    ebb_journal_attempt attempt, *attempts;
    const char *why = ebb_journal_read_attempt(row, &attempt);

    if (why != NULL)
        return damaged_row(&l->run, "an attempt of step", attempt.path, why,
                           err);
    ebb_journal_texts_own(&l->texts, &attempt.path);
    own(&l->texts, &attempt.error, attempt.error_bytes);
    attempts = grown(l->run.attempts, l->run.attempts_n, &l->attempts_room,
                     sizeof *attempts);
    if (attempts == NULL || l->texts.starved)
        return no_memory(err);
    l->run.attempts = attempts;
    attempts[l->run.attempts_n++] = attempt;
    return 0;
}

static int add_line(loaded *l, sqlite3_stmt *row, ebb_err *err)
{
    ebb_journal_line line, *lines;
    const char *why = ebb_journal_read_line(row, &line);

    if (why != NULL)
        return damaged_row(&l->run, "a log line of step", line.path, why, err);
    ebb_journal_texts_own(&l->texts, &line.path);
    ebb_journal_texts_own(&l->texts, &line.message);
    own(&l->texts, &line.fields, line.fields_bytes);
    lines = grown(l->run.lines, l->run.lines_n, &l->lines_room, sizeof *lines);
    if (lines == NULL || l->texts.starved)
        return no_memory(err);
    l->run.lines = lines;
    lines[l->run.lines_n++] = line;
    return 0;
}

typedef int add_fn(loaded *l, sqlite3_stmt *row, ebb_err *err);

static int load_rows(ebb_journal *journal, loaded *l, const char *sql,
                     add_fn *add, ebb_err *err)
{
    sqlite3_stmt *row =
        ebb_sql_start(&journal->sql, err, sql, "i", l->run.claim.run);
    int got;

    if (row == NULL)
        return -1;
    while ((got = ebb_sql_step(&journal->sql, row, err)) == 1)
        if (add(l, row, err) != 0) {
            ebb_sql_done(row);
            return -1;
        }
    return got < 0 ? ebb_err_wrap(err, "run %s", l->run.id) : 0;
}

/* ---- the run ---- */

static int load_head(ebb_journal *journal, loaded *l, const char *id,
                     ebb_err *err)
{
    sqlite3_stmt *row = ebb_sql_start(&journal->sql, err, run_sql, "t", id);
    int got = row == NULL ? -1 : ebb_sql_step(&journal->sql, row, err);
    const char *why;

    if (got < 0)
        return -1;
    if (got == 0)
        return ebb_err_set(err, EBB_NOT_FOUND, "no run %s in the journal %s",
                           id, journal->path);
    why = ebb_journal_read_run(journal, row, false, &l->run);
    ebb_journal_texts_own(&l->texts, &l->run.id);
    ebb_journal_texts_own(&l->texts, &l->run.script);
    ebb_journal_texts_own(&l->texts, &l->run.script_sha256);
    ebb_journal_texts_own(&l->texts, &l->run.args);
    ebb_journal_texts_own(&l->texts, &l->run.forked_from);
    ebb_journal_texts_own(&l->texts, &l->run.backend);
    own(&l->texts, &l->run.outcome, l->run.outcome_bytes);
    ebb_sql_done(row);
    if (l->texts.starved)
        return no_memory(err);
    if (why != NULL)
        return damaged_row(&l->run, "its", "own row", why, err);
    return 0;
}

static int load_all(ebb_journal *journal, loaded *l, const load_job *job,
                    ebb_err *err)
{
    bool all = job->depth == EBB_JOURNAL_DEPTH_ALL;

    if (load_head(journal, l, job->id, err) != 0)
        return -1;
    if (job->depth == EBB_JOURNAL_DEPTH_RUN)
        return 0;
    if (load_steps(journal, l, all, err) != 0)
        return -1;
    if (!all)
        return 0;
    if (load_rows(journal, l, attempts_sql, add_attempt, err) != 0)
        return -1;
    return load_rows(journal, l, lines_sql, add_line, err);
}

static int run_load(ebb_journal *journal, ebb_journal_job *base)
{
    load_job *job = (load_job *)base;

    job->out = ebb_journal_run_new();
    if (job->out == NULL)
        return no_memory(&base->err);
    if (load_all(journal, (loaded *)job->out, job, &base->err) == 0)
        return 0;
    ebb_journal_run_free(job->out);
    job->out = NULL;
    return -1;
}

ebb_journal_run *ebb_journal_load(ebb_journal *journal, const char *id,
                                  ebb_journal_depth depth, ebb_err *err)
{
    load_job job = { .base = { .run = run_load }, .id = id, .depth = depth };

    if (ebb_journal_wait(journal, &job.base, err) != 0)
        return NULL;
    return job.out;
}

ebb_journal_run *ebb_journal_get_run(ebb_journal *journal, const char *id,
                                     ebb_err *err)
{
    ebb_journal_run *run =
        ebb_journal_load(journal, id, EBB_JOURNAL_DEPTH_ALL, err);

    if (run != NULL)
        run->claim = (ebb_journal_claim){ 0 };
    return run;
}
