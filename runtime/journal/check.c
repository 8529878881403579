/* SPDX-License-Identifier: MIT */

/* The integrity check: the file by SQLite's own, then each row by ours. */

#include "base/mem.h"
#include "base/value.h"
#include "journal/journal_private.h"

#include <string.h>

typedef struct problem {
    char *run, *what;
} problem;

typedef struct check_job {
    ebb_journal_job base;
    problem problems[EBB_JOURNAL_PROBLEMS_MAX];
    int n;
    bool starved;
} check_job;

static const char file_sql[] = "PRAGMA integrity_check(100)";

static const char runs_sql[] =
    "SELECT " EBB_JOURNAL_RUN_COLUMNS " FROM run ORDER BY key";

static const char steps_sql[] =
    "SELECT " EBB_JOURNAL_STEP_ALL " FROM step WHERE run = ? ORDER BY key";

static const char attempts_sql[] =
    "SELECT number, at_ms, attempt.next_ms, sum, error, path FROM step"
    " JOIN attempt ON step = key WHERE run = ?";

static const char lines_sql[] =
    "SELECT path, attempt, level, at_ms, sum, message, fields FROM log"
    " WHERE run = ?";

static void note(check_job *job, const char *run, char *what)
{
    problem *p = &job->problems[job->n];

    if (job->n == EBB_JOURNAL_PROBLEMS_MAX || what == NULL) {
        job->starved = job->starved || what == NULL;
        ebb_mem_free(what);
        return;
    }
    p->run = ebb_mem_dup(run);
    p->what = what;
    job->starved = job->starved || p->run == NULL;
    job->n++;
}

/* What is wrong with JSON that is there, or NULL. */
static const char *bad_json(const char *json, size_t n)
{
    ebb_err err;
    ebb_value *value;

    if (json == NULL)
        return NULL;
    value = ebb_value_parse(json, n, 0, &err);
    if (value == NULL)
        return "its JSON does not parse";
    ebb_value_free(value);
    return NULL;
}

static const char *check_step(sqlite3_stmt *row, const char **path)
{
    ebb_journal_step step;
    const char *why = ebb_journal_read_step(row, true, &step);

    *path = step.path;
    if (why == NULL)
        why = bad_json(step.input, step.input_bytes);
    if (why == NULL)
        why = bad_json(step.outcome, step.outcome_bytes);
    return why;
}

static const char *check_attempt(sqlite3_stmt *row, const char **path)
{
    ebb_journal_attempt attempt;
    const char *why = ebb_journal_read_attempt(row, &attempt);

    *path = attempt.path;
    return why != NULL ? why : bad_json(attempt.error, attempt.error_bytes);
}

static const char *check_line(sqlite3_stmt *row, const char **path)
{
    ebb_journal_line line;
    const char *why = ebb_journal_read_line(row, &line);

    *path = line.path;
    return why != NULL ? why : bad_json(line.fields, line.fields_bytes);
}

/* One kind of rows that a run has. */
typedef struct kind {
    const char *sql, *name;
    const char *(*check)(sqlite3_stmt *row, const char **path);
} kind;

static const kind kinds[] = {
    { steps_sql, "step", check_step },
    { attempts_sql, "an attempt of step", check_attempt },
    { lines_sql, "a log line of step", check_line },
};

/* A kind that cannot be read to its end is a problem of the run. */
static void check_rows(ebb_journal *journal, check_job *job,
                       const ebb_journal_run *run, const kind *k)
{
    ebb_err err;
    sqlite3_stmt *row =
        ebb_sql_start(&journal->sql, &err, k->sql, "i", run->claim.run);
    int got = -1;

    while (row != NULL && (got = ebb_sql_step(&journal->sql, row, &err)) == 1) {
        const char *path = NULL, *why = k->check(row, &path);

        if (why != NULL)
            note(job, run->id,
                 ebb_mem_printf("%s %s: %s", k->name,
                                path != NULL ? path : "(no path)", why));
    }
    if (got < 0)
        note(job, run->id, ebb_mem_dup(err.msg));
}

static void check_run(ebb_journal *journal, check_job *job, sqlite3_stmt *row)
{
    ebb_journal_run run = { 0 };
    const char *why = ebb_journal_read_run(journal, row, false, &run);

    if (run.id == NULL)
        run.id = "(no id)";
    if (why == NULL)
        why = bad_json(run.args, run.args != NULL ? strlen(run.args) : 0);
    if (why == NULL)
        why = bad_json(run.outcome, run.outcome_bytes);
    if (why != NULL)
        note(job, run.id, ebb_mem_printf("its own row: %s", why));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_rows(journal, job, &run, &kinds[i]);
}

static void check_file(ebb_journal *journal, check_job *job)
{
    ebb_err err;
    sqlite3_stmt *row = ebb_sql_start(&journal->sql, &err, file_sql, "");
    int got = -1;

    while (row != NULL && (got = ebb_sql_step(&journal->sql, row, &err)) == 1) {
        const char *what = ebb_sql_text(row, 0, NULL);

        if (what != NULL && strcmp(what, "ok") != 0)
            note(job, "", ebb_mem_dup(what));
    }
    if (got < 0)
        note(job, "", ebb_mem_dup(err.msg));
}

static int run_check(ebb_journal *journal, ebb_journal_job *base)
{
    check_job *job = (check_job *)base;
    ebb_err err;
    sqlite3_stmt *row;
    int got = -1;

    check_file(journal, job);
    row = ebb_sql_start(&journal->sql, &err, runs_sql, "");
    while (row != NULL && (got = ebb_sql_step(&journal->sql, row, &err)) == 1)
        check_run(journal, job, row);
    if (got < 0)
        note(job, "", ebb_mem_dup(err.msg));
    if (job->starved)
        return ebb_err_set(&base->err, EBB_NO_MEMORY,
                           "the check of the journal");
    return 0;
}

int ebb_journal_check(ebb_journal *journal, ebb_journal_problem_fn *fn,
                      void *context, ebb_err *err)
{
    check_job job = { .base = { .run = run_check } };
    int result = ebb_journal_wait(journal, &job.base, err);

    for (int i = 0; i < job.n; i++) {
        if (result == 0)
            fn(context, job.problems[i].run, job.problems[i].what);
        ebb_mem_free(job.problems[i].run);
        ebb_mem_free(job.problems[i].what);
    }
    return result == 0 ? job.n : -1;
}
