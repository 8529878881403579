/* SPDX-License-Identifier: MIT */

/*
 * Steps, on the thread: intents, attempts, outcomes. Each write first finds
 * its claim to hold (claim.c), in the same transaction, so a stale owner
 * writes nothing.
 */

#include "journal/journal_private.h"

#include <string.h>

typedef ebb_journal_write write_job;

typedef ebb_journal_counts counts;

enum { LARGE_INPUT = 1, LARGE_OUTCOME = 2 };

static const char insert_sql[] =
    "INSERT INTO step (run, path, name, class, digest, wake_ms, began_ms,"
    " intent_sum, input_sum, input_bytes, input)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (run, path) DO NOTHING";

static const char has_outcome_sql[] =
    "SELECT seq IS NOT NULL FROM step WHERE run = ? AND path = ?";

static const char key_sql[] = "SELECT key FROM step WHERE run = ? AND path = ?";

static const char large_sql[] =
    "INSERT INTO large (step, kind, json) VALUES (?, ?, ?)";

static const char outcome_sql[] =
    "UPDATE step SET seq = ?, failed = ?, ended_ms = ?, next_ms = 0,"
    " outcome_sum = ?, outcome_bytes = ?, outcome = ?"
    " WHERE run = ? AND path = ? AND seq IS NULL";

static const char attempts_sql[] =
    "UPDATE step SET attempts = ?, next_ms = ?"
    " WHERE run = ? AND path = ? AND seq IS NULL RETURNING key";

static const char attempt_sql[] =
    "INSERT OR REPLACE INTO attempt (step, number, at_ms, next_ms, sum,"
    " error) VALUES (?, ?, ?, ?, ?, ?)";

static const char del_sql[] = "DELETE FROM step WHERE run = ? AND path = ?"
                              " RETURNING input_bytes + outcome_bytes";

/* Keeps JSON of w's step that is larger than small in the table for it. */
static int add_large(ebb_journal *journal, const write_job *w, int64_t kind,
                     const char *json, size_t n, ebb_err *err)
{
    ebb_sql *sql = &journal->sql;
    int64_t key = 0;

    if (json == NULL || n <= EBB_JOURNAL_SMALL_BYTES)
        return 0;
    if (ebb_sql_once(
            sql,
            ebb_sql_start(sql, err, key_sql, "it", w->claim.run, w->step.path),
            &key, err) < 0 ||
        ebb_sql_change(
            sql, ebb_sql_start(sql, err, large_sql, "iib", key, kind, json, n),
            err) < 0)
        return -1;
    return 0;
}

static const char *small(const char *json, size_t n)
{
    return n <= EBB_JOURNAL_SMALL_BYTES ? json : NULL;
}

/* 1: the row is new; 0: the path was there. */
static int insert_step(ebb_journal *journal, const write_job *w, ebb_err *err)
{
    const ebb_journal_step *s = &w->step;
    int got = ebb_sql_change(
        &journal->sql,
        ebb_sql_start(&journal->sql, err, insert_sql, "ittttiiiiib",
                      w->claim.run, s->path, s->name, s->step_class, s->digest,
                      s->wake_ms, s->began_ms, ebb_journal_intent_sum(s),
                      ebb_journal_json_sum(s->input, s->input_bytes),
                      (int64_t)s->input_bytes, small(s->input, s->input_bytes),
                      s->input_bytes),
        err);

    if (got == 1 &&
        add_large(journal, w, LARGE_INPUT, s->input, s->input_bytes, err) != 0)
        return -1;
    return got;
}

static int check_room(const write_job *w, const counts *c, ebb_err *err)
{
    if (c->steps > EBB_JOURNAL_STEPS_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "step %s would be one more than the %d that a run "
                           "may have; begin another run",
                           w->step.path, EBB_JOURNAL_STEPS_MAX);
    if (c->bytes > EBB_JOURNAL_RUN_BYTES_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "this run holds %lld bytes of inputs and results, "
                           "at most %d are possible (step %s)",
                           (long long)c->bytes, EBB_JOURNAL_RUN_BYTES_MAX,
                           w->step.path);
    return 0;
}

static int has_outcome(ebb_journal *journal, const write_job *w, ebb_err *err)
{
    int64_t has = 0;

    if (ebb_sql_once(&journal->sql,
                     ebb_sql_start(&journal->sql, err, has_outcome_sql, "it",
                                   w->claim.run, w->step.path),
                     &has, err) < 0)
        return -1;
    if (has)
        return ebb_err_set(err, EBB_JOURNAL,
                           "step %s has its outcome already, which is never "
                           "written over",
                           w->step.path);
    return 0;
}

int ebb_journal_run_intent(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    counts c = { 0 };
    int fresh;

    if (ebb_journal_hold(journal, w, &c, &job->err) != 0)
        return -1;
    fresh = insert_step(journal, w, &job->err);
    if (fresh < 0)
        return -1;
    if (fresh == 0)
        return has_outcome(journal, w, &job->err);
    c.steps++;
    c.bytes += (int64_t)w->step.input_bytes;
    if (check_room(w, &c, &job->err) != 0)
        return -1;
    return ebb_journal_count(journal, w, &c, &job->err);
}

/* The outcome into a row that has none. 1; or 0: there is no such row. */
static int set_outcome(ebb_journal *journal, const write_job *w, ebb_err *err)
{
    const ebb_journal_step *s = &w->step;

    return ebb_sql_change(
        &journal->sql,
        ebb_sql_start(&journal->sql, err, outcome_sql, "iiiiibit", s->seq,
                      (int64_t)s->failed, s->ended_ms,
                      ebb_journal_outcome_sum(s), (int64_t)s->outcome_bytes,
                      small(s->outcome, s->outcome_bytes), s->outcome_bytes,
                      w->claim.run, s->path),
        err);
}

/* A step without an intent: a clock, a combinator. */
static int add_whole(ebb_journal *journal, const write_job *w, counts *c,
                     ebb_err *err)
{
    if (has_outcome(journal, w, err) != 0 || insert_step(journal, w, err) < 0)
        return -1;
    c->steps++;
    c->bytes += (int64_t)w->step.input_bytes;
    if (check_room(w, c, err) != 0)
        return -1;
    return set_outcome(journal, w, err);
}

int ebb_journal_run_outcome(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    const ebb_journal_step *s = &w->step;
    counts c = { 0 };
    int got;

    if (ebb_journal_hold(journal, w, &c, &job->err) != 0)
        return -1;
    w->step.seq = ++c.seq;
    c.bytes += (int64_t)s->outcome_bytes;
    got = set_outcome(journal, w, &job->err);
    if (got == 0)
        got = add_whole(journal, w, &c, &job->err);
    if (got < 0 || add_large(journal, w, LARGE_OUTCOME, s->outcome,
                             s->outcome_bytes, &job->err) != 0)
        return -1;
    return ebb_journal_count(journal, w, &c, &job->err);
}

int ebb_journal_run_attempt(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    const ebb_journal_step *s = &w->step;
    const ebb_journal_attempt attempt = {
        .number = s->attempts,
        .error = s->attempt_error,
        .error_bytes = s->attempt_error_bytes,
        .at_ms = w->now_ms,
        .next_ms = s->next_attempt_ms,
    };
    int64_t key = 0;
    counts c = { 0 };
    int got;

    if (ebb_journal_hold(journal, w, &c, &job->err) != 0)
        return -1;
    c.bytes += (int64_t)s->attempt_error_bytes;
    got = ebb_sql_once(&journal->sql,
                       ebb_sql_start(&journal->sql, &job->err, attempts_sql,
                                     "iiit", (int64_t)s->attempts,
                                     s->next_attempt_ms, w->claim.run, s->path),
                       &key, &job->err);
    if (got < 0)
        return -1;
    if (got == 0)
        return ebb_err_set(&job->err, EBB_JOURNAL,
                           "step %s is not begun, or has its outcome: an "
                           "attempt cannot be recorded",
                           s->path);
    if (ebb_sql_change(&journal->sql,
                       ebb_sql_start(&journal->sql, &job->err, attempt_sql,
                                     "iiiiib", key, (int64_t)attempt.number,
                                     attempt.at_ms, attempt.next_ms,
                                     ebb_journal_attempt_sum(&attempt),
                                     attempt.error, attempt.error_bytes),
                       &job->err) < 0)
        return -1;
    return ebb_journal_count(journal, w, &c, &job->err);
}

int ebb_journal_run_del(ebb_journal *journal, ebb_journal_job *job)
{
    write_job *w = (write_job *)job;
    const char *path = w->paths, *end = w->paths + w->paths_bytes;
    int64_t bytes;
    counts c = { 0 };
    int got;

    if (ebb_journal_hold(journal, w, &c, &job->err) != 0)
        return -1;
    for (; path < end; path += strlen(path) + 1) {
        got = ebb_sql_once(&journal->sql,
                           ebb_sql_start(&journal->sql, &job->err, del_sql,
                                         "it", w->claim.run, path),
                           &bytes, &job->err);
        if (got < 0)
            return -1;
        if (got == 1) {
            c.steps--;
            c.bytes -= bytes;
        }
    }
    return ebb_journal_count(journal, w, &c, &job->err);
}
