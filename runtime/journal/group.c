/* SPDX-License-Identifier: MIT */

/*
 * Group commit: what has gathered becomes one transaction with one fsync. Where
 * a job fails it is done anew, each job with a savepoint, so that one that
 * fails is undone alone; savepoints for all would cost a third more.
 */

#include "journal/journal_private.h"

static int run_literal(ebb_journal *journal, const char *text, ebb_err *err)
{
    sqlite3_stmt *statement = ebb_sql_start(&journal->sql, err, text, "");

    return statement == NULL ? -1 : ebb_sql_step(&journal->sql, statement, err);
}

/* SQLite undoes a whole transaction by itself after some errors. */
static bool in_transaction(const ebb_journal *journal)
{
    return sqlite3_get_autocommit(journal->sql.db) == 0;
}

static void roll_back(ebb_journal *journal)
{
    ebb_err ignored;

    if (in_transaction(journal))
        run_literal(journal, "ROLLBACK", &ignored);
}

typedef int job_fn(ebb_journal *journal, ebb_journal_job *job, ebb_err *err);

/* -1: all that the group wrote is undone. */
static int run_plain(ebb_journal *journal, ebb_journal_job *job, ebb_err *err)
{
    job->err = (ebb_err){ 0 };
    if (job->run(journal, job) == 0)
        return 0;
    *err = job->err;
    return -1;
}

/* One of several: what it wrote is undone alone. -1: all of them are. */
static int run_saved(ebb_journal *journal, ebb_journal_job *job, ebb_err *err)
{
    job->err = (ebb_err){ 0 };
    if (run_literal(journal, "SAVEPOINT job", err) != 0)
        return -1;
    if (job->run(journal, job) == 0)
        return run_literal(journal, "RELEASE job", err);
    if (!in_transaction(journal)) {
        *err = job->err;
        return -1;
    }
    if (run_literal(journal, "ROLLBACK TO job", err) != 0)
        return -1;
    return run_literal(journal, "RELEASE job", err);
}

static void fail_all(ebb_journal_job *job, size_t n, const ebb_err *err)
{
    for (; n > 0; n--, job = job->next)
        job->err = *err;
}

/* In a transaction that was begun. -1: nothing of them was written. */
static int commit_group(ebb_journal *journal, job_fn *run, ebb_journal_job *job,
                        size_t n, ebb_err *err)
{
    ebb_journal_wal_extend(journal);
    for (; n > 0; n--, job = job->next)
        if (run(journal, job, err) != 0) {
            roll_back(journal);
            return -1;
        }
    if (run_literal(journal, "COMMIT", err) == 0)
        return 0;
    roll_back(journal);
    return -1;
}

/* 0: written; 1: nothing was; -1: it could not begin. */
static int run_group(ebb_journal *journal, job_fn *run, ebb_journal_job *first,
                     size_t n)
{
    ebb_err err = { 0 };
    int failed = run_literal(journal, "BEGIN IMMEDIATE", &err);

    if (failed == 0 && commit_group(journal, run, first, n, &err) == 0)
        return 0;
    fail_all(first, n, &err);
    return failed != 0 ? -1 : 1;
}

int ebb_journal_run_group(ebb_journal *journal, ebb_journal_job *first,
                          size_t n)
{
    int failed = run_group(journal, run_plain, first, n);

    if (failed <= 0 || n == 1)
        return failed < 0 ? -1 : 0;
    failed = run_group(journal, run_saved, first, n);
    /*
     * One that cannot be written (too large for what is left of the disk) does
     * not stop the others.
     */
    for (; failed > 0 && first != NULL; first = first->next)
        if (run_group(journal, run_plain, first, 1) < 0)
            break;
    return failed < 0 ? -1 : 0;
}

void ebb_journal_run_read(ebb_journal *journal, ebb_journal_job *job)
{
    if (run_literal(journal, "BEGIN", &job->err) != 0)
        return;
    job->run(journal, job);
    roll_back(journal);
}
