/* SPDX-License-Identifier: MIT */

/* Reading one outcome that was too large to be loaded with its run. */

#include "base/mem.h"
#include "journal/journal_private.h"

#include <string.h>

typedef struct find_job {
    ebb_journal_job base;
    ebb_journal_json_fn *fn;
    void *context;
    int64_t run;
    char *json; /* NULL until it is found */
    size_t n;
    char path[];
} find_job;

static const char outcome_sql[] =
    "SELECT " EBB_JOURNAL_STEP_ALL " FROM step WHERE run = ? AND path = ?";

static int keep_json(find_job *job, sqlite3_stmt *row)
{
    ebb_journal_step step;
    const char *why = ebb_journal_read_step(row, true, &step);

    if (why == NULL && step.outcome == NULL)
        why = "it has no outcome";
    if (why != NULL)
        return ebb_err_set(&job->base.err, EBB_JOURNAL,
                           "step %s is damaged in the journal: %s", job->path,
                           why);
    job->json = ebb_mem_dup_n(step.outcome, step.outcome_bytes);
    job->n = step.outcome_bytes;
    if (job->json == NULL)
        return ebb_err_set(&job->base.err, EBB_NO_MEMORY, "the outcome of %s",
                           job->path);
    return 0;
}

static int run_find(ebb_journal *journal, ebb_journal_job *base)
{
    find_job *job = (find_job *)base;
    sqlite3_stmt *row = ebb_sql_start(&journal->sql, &base->err, outcome_sql,
                                      "it", job->run, job->path);
    int got = row == NULL ? -1 : ebb_sql_step(&journal->sql, row, &base->err);

    if (got == 0)
        return ebb_err_set(&base->err, EBB_NOT_FOUND, "no step %s", job->path);
    if (got == 1) {
        got = keep_json(job, row);
        ebb_sql_done(row);
    }
    return got;
}

static void answer_find(ebb_journal_job *base)
{
    find_job *job = (find_job *)base;

    job->fn(job->context, job->json, job->n,
            base->err.code == EBB_OK ? NULL : &base->err);
    ebb_mem_free(job->json);
    ebb_mem_free(job);
}

int ebb_journal_find_outcome(ebb_journal *journal,
                             const ebb_journal_claim *claim, const char *path,
                             ebb_journal_json_fn *fn, void *context,
                             ebb_err *err)
{
    size_t n = strlen(path) + 1;
    find_job *job = ebb_mem_zero(sizeof *job + n);

    if (job == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "journal");
    job->base = (ebb_journal_job){ .run = run_find, .answer = answer_find };
    job->fn = fn;
    job->context = context;
    job->run = claim->run;
    memcpy(job->path, path, n);
    if (ebb_journal_post(journal, &job->base, err) == 0)
        return 0;
    ebb_mem_free(job);
    return -1;
}
