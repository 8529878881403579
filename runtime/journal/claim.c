/* SPDX-License-Identifier: MIT */

/*
 * What holds a claim up, on the thread: the fence that every write checks, and
 * what is written of the run itself: its log, its end, its release.
 */

#include "journal/journal_private.h"

typedef ebb_journal_write write_job;
typedef ebb_journal_counts counts;

/* No run counts so far; a file that does would make the next sum overflow. */
#define COUNT_MAX (INT64_MAX / 4)

static const char hold_sql[] =
    "SELECT steps, bytes, lines, seq FROM run WHERE key = ? AND fence = ?";

static const char count_sql[] =
    "UPDATE run SET updated_ms = ?1, steps = ?2, bytes = ?3, lines = ?4,"
    " fruitless = iif(seq = ?5, fruitless, 0), seq = ?5 WHERE key = ?6";

static const char holder_sql[] =
    "SELECT id, state, owner_pid FROM run WHERE key = ?";

static const char line_sql[] =
    "INSERT INTO log (run, path, attempt, level, at_ms, sum, message, fields)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

static const char raw_order_sql[] =
    "UPDATE run SET raw_order = 1 WHERE key = ?";

static const char backend_sql[] = "UPDATE run SET backend = ? WHERE key = ?";

static const char end_sql[] =
    "UPDATE run SET state = ?, outcome = ?, end_sum = ?, ended_ms = ?,"
    " updated_ms = ?, owner_boot = NULL, owner_pid = NULL,"
    " owner_start = NULL, fence = fence + 1"
    " WHERE key = ? AND fence = ? RETURNING key";

static const char release_sql[] =
    "UPDATE run SET owner_boot = NULL, owner_pid = NULL, owner_start = NULL,"
    " fence = fence + 1 WHERE key = ? AND fence = ? RETURNING key";

static const char poll_sql[] =
    "SELECT cancel_ms IS NOT NULL FROM run WHERE key = ? AND fence = ?";

/* Says to whom the run went. Returns -1. */
static int lost(ebb_journal *journal, const ebb_journal_claim *claim,
                ebb_err *err)
{
    sqlite3_stmt *row =
        ebb_sql_start(&journal->sql, err, holder_sql, "i", claim->run);
    int got = row == NULL ? -1 : ebb_sql_step(&journal->sql, row, err);
    const char *id;
    int64_t pid;

    if (got < 0)
        return -1;
    if (got == 0)
        return ebb_err_set(err, EBB_LOST_OWNERSHIP,
                           "this run was removed from the journal");
    id = ebb_sql_text(row, 0, NULL);
    if (id == NULL)
        id = "(no id)";
    pid = ebb_sql_int(row, 2);
    if (ebb_sql_int(row, 1) != EBB_JOURNAL_ACTIVE)
        ebb_err_set(
            err, EBB_LOST_OWNERSHIP, "run %s was ended (%s)", id,
            ebb_journal_state_name((ebb_journal_state)ebb_sql_int(row, 1)));
    else if (pid != 0)
        ebb_err_set(err, EBB_LOST_OWNERSHIP,
                    "run %s was taken over by process %lld; this one stops", id,
                    (long long)pid);
    else
        ebb_err_set(err, EBB_LOST_OWNERSHIP,
                    "run %s is no longer this process's", id);
    ebb_sql_done(row);
    return -1;
}

/* The statement under the claim: it gives a row, or the claim is lost. */
static int claimed(ebb_journal *journal, const write_job *w,
                   sqlite3_stmt *statement, int64_t *first, ebb_err *err)
{
    int got = ebb_sql_once(&journal->sql, statement, first, err);

    if (got == 0)
        return lost(journal, &w->claim, err);
    return got < 0 ? -1 : 0;
}

static bool is_count(int64_t n)
{
    return n >= -COUNT_MAX && n <= COUNT_MAX;
}

int ebb_journal_hold(ebb_journal *journal, const write_job *w, counts *c,
                     ebb_err *err)
{
    ebb_sql *sql = &journal->sql;
    sqlite3_stmt *row =
        ebb_sql_start(sql, err, hold_sql, "ii", w->claim.run, w->claim.fence);
    int got = row == NULL ? -1 : ebb_sql_step(sql, row, err);

    if (got < 0)
        return -1;
    if (got == 0)
        return lost(journal, &w->claim, err);
    *c = (counts){ ebb_sql_int(row, 0), ebb_sql_int(row, 1),
                   ebb_sql_int(row, 2), ebb_sql_int(row, 3) };
    ebb_sql_done(row);
    if (is_count(c->steps) && is_count(c->bytes) && is_count(c->lines) &&
        is_count(c->seq))
        return 0;
    return ebb_err_set(err, EBB_JOURNAL,
                       "this run is damaged in the journal %s: its counts "
                       "cannot be; a fork counts anew",
                       journal->path);
}

int ebb_journal_count(ebb_journal *journal, const write_job *w, const counts *c,
                      ebb_err *err)
{
    ebb_sql *sql = &journal->sql;

    return ebb_sql_change(sql,
                          ebb_sql_start(sql, err, count_sql, "iiiiii",
                                        w->now_ms, c->steps, c->bytes, c->lines,
                                        c->seq, w->claim.run),
                          err) < 0
               ? -1
               : 0;
}

int ebb_journal_run_line(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    const ebb_journal_line *l = &w->line;
    counts c = { 0 };

    if (ebb_journal_hold(journal, w, &c, &job->err) != 0)
        return -1;
    c.lines++;
    if (c.lines > EBB_JOURNAL_LOG_LINES_MAX)
        return ebb_err_set(&job->err, EBB_LIMIT_EXCEEDED,
                           "the log of this run has %d lines, and no more "
                           "are possible",
                           EBB_JOURNAL_LOG_LINES_MAX);
    if (ebb_sql_change(&journal->sql,
                       ebb_sql_start(&journal->sql, &job->err, line_sql,
                                     "itiiiitb", w->claim.run, l->path,
                                     (int64_t)l->attempt, (int64_t)l->level,
                                     l->at_ms, ebb_journal_line_sum(l),
                                     l->message, l->fields, l->fields_bytes),
                       &job->err) < 0)
        return -1;
    return ebb_journal_count(journal, w, &c, &job->err);
}

int ebb_journal_run_raw_order(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    int64_t ignored;
    counts c = { 0 };

    if (ebb_journal_hold(journal, w, &c, &job->err) != 0)
        return -1;
    return ebb_sql_once(&journal->sql,
                        ebb_sql_start(&journal->sql, &job->err, raw_order_sql,
                                      "i", w->claim.run),
                        &ignored, &job->err);
}

int ebb_journal_run_backend(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    counts c = { 0 };
    int64_t ignored;

    if (ebb_journal_hold(journal, w, &c, &job->err) != 0)
        return -1;
    return ebb_sql_once(&journal->sql,
                        ebb_sql_start(&journal->sql, &job->err, backend_sql,
                                      "ti", w->backend, w->claim.run),
                        &ignored, &job->err);
}

int ebb_journal_run_end(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    const ebb_journal_step *s = &w->step;
    int64_t key;

    return claimed(
        journal, w,
        ebb_sql_start(
            &journal->sql, &job->err, end_sql, "ibiiiii", (int64_t)w->state,
            s->outcome, s->outcome_bytes,
            ebb_journal_end_sum(w->state, s->outcome, s->outcome_bytes),
            w->now_ms, w->now_ms, w->claim.run, w->claim.fence),
        &key, &job->err);
}

int ebb_journal_run_release(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    int64_t key;

    return claimed(journal, w,
                   ebb_sql_start(&journal->sql, &job->err, release_sql, "ii",
                                 w->claim.run, w->claim.fence),
                   &key, &job->err);
}

int ebb_journal_run_poll(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    int64_t asked = 0;

    if (claimed(journal, w,
                ebb_sql_start(&journal->sql, &job->err, poll_sql, "ii",
                              w->claim.run, w->claim.fence),
                &asked, &job->err) != 0)
        return -1;
    if (asked)
        ebb_err_set(&job->err, EBB_CANCELLED,
                    "somebody asked for this run to be cancelled");
    return 0;
}
