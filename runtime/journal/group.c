/* SPDX-License-Identifier: MIT */

/*
 * Group commit: what has gathered becomes one transaction with one fsync, in
 * which each job has a savepoint, so that one that fails is undone alone.
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

/* One of several: what it wrote is undone alone. -1: all of them are. */
static int run_member(ebb_journal *journal, ebb_journal_job *job, ebb_err *err)
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

/* The first n jobs as one transaction. -1: nothing of them was written. */
static int commit_group(ebb_journal *journal, ebb_journal_job *job, size_t n,
                        ebb_err *err)
{
    for (; n > 0; n--, job = job->next)
        if (run_member(journal, job, err) != 0) {
            roll_back(journal);
            return -1;
        }
    if (run_literal(journal, "COMMIT", err) == 0)
        return 0;
    roll_back(journal);
    return -1;
}

int ebb_journal_run_group(ebb_journal *journal, ebb_journal_job *first,
                          size_t n)
{
    ebb_err err = { 0 };

    if (run_literal(journal, "BEGIN IMMEDIATE", &err) != 0) {
        fail_all(first, n, &err);
        return -1;
    }
    if (commit_group(journal, first, n, &err) == 0)
        return 0;
    fail_all(first, n, &err);
    /*
     * One that cannot be written (too large for what is left of the disk) does
     * not stop the others.
     */
    for (; n > 1 && first != NULL; first = first->next)
        if (ebb_journal_run_group(journal, first, 1) != 0)
            break;
    return 0;
}

void ebb_journal_run_read(ebb_journal *journal, ebb_journal_job *job)
{
    if (run_literal(journal, "BEGIN", &job->err) != 0)
        return;
    job->run(journal, job);
    roll_back(journal);
}
