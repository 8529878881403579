/* SPDX-License-Identifier: MIT */

/*
 * A new run with what another had recorded before one of its steps. What lies
 * below a step at path "4" has paths that begin with "4." or "4/".
 */

#include "journal/journal_private.h"

#include <string.h>

typedef struct fork_job {
    ebb_journal_job base;
    const char *id, *path, *new_id;
    int64_t now_ms;
    int64_t from, to; /* keys of runs */
    int64_t cut;      /* outcomes below this seq are taken */
} fork_job;

/* The old run's rows whose outcome is below the cut, without path's own. */
#define TAKEN                                                                  \
    " old.run = ?1 AND old.seq < ?2 AND old.path <> ?3"                        \
    " AND substr(old.path, 1, length(?3) + 1) NOT IN (?3 || '.',"              \
    " ?3 || '/')"

static const char source_sql[] =
    "SELECT " EBB_JOURNAL_RUN_COLUMNS " FROM run WHERE id = ?";

static const char run_sql[] =
    "INSERT INTO run (id, state, fence, started_ms, updated_ms, seed,"
    " run_sum, end_sum, raw_order, script, script_sha256, args, forked_from,"
    " backend) VALUES (?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING RETURNING key";

static const char known_sql[] =
    "SELECT count(*) FROM step WHERE run = ? AND path = ?";

/* Without an outcome it comes after all that have one. */
static const char cut_sql[] =
    "SELECT min(coalesce(seq, 9223372036854775807)) FROM step"
    " WHERE run = ?1 AND (path = ?2 OR substr(path, 1, length(?2) + 1)"
    " IN (?2 || '.', ?2 || '/'))";

static const char steps_sql[] =
    "INSERT INTO step (run, path, name, class, digest, wake_ms, began_ms,"
    " attempts, next_ms, seq, failed, ended_ms, intent_sum, input_sum,"
    " outcome_sum, outcome_bytes, outcome, input_bytes, input)"
    " SELECT ?4, path, name, class, digest, wake_ms, began_ms, attempts,"
    " next_ms, seq, failed, ended_ms, intent_sum, input_sum, outcome_sum,"
    " outcome_bytes, outcome, input_bytes, input FROM step AS old WHERE" TAKEN
    " ORDER BY key";

static const char large_sql[] =
    "INSERT INTO large (step, kind, json)"
    " SELECT new.key, kind, json FROM step AS old"
    " JOIN large ON large.step = old.key"
    " JOIN step AS new ON new.run = ?4 AND new.path = old.path WHERE" TAKEN;

static const char attempts_sql[] =
    "INSERT INTO attempt (step, number, at_ms, next_ms, sum, error)"
    " SELECT new.key, number, at_ms, attempt.next_ms, sum, error"
    " FROM step AS old JOIN attempt ON attempt.step = old.key"
    " JOIN step AS new ON new.run = ?4 AND new.path = old.path WHERE" TAKEN;

static const char count_sql[] =
    "UPDATE run SET (steps, bytes, seq) ="
    " (SELECT count(*), coalesce(sum(input_bytes + outcome_bytes), 0),"
    "  coalesce(max(seq), 0) FROM step WHERE run = ?1) WHERE key = ?1";

static int insert_run(ebb_journal *journal, fork_job *job,
                      const ebb_journal_run *source)
{
    ebb_journal_run fresh = *source;
    ebb_err *err = &job->base.err;
    int got;

    fresh.id = job->new_id;
    fresh.forked_from = job->id;
    got = ebb_sql_once(
        &journal->sql,
        ebb_sql_start(&journal->sql, err, run_sql, "tiiiiiittttt", fresh.id,
                      fresh.started_ms, job->now_ms, (int64_t)fresh.seed,
                      ebb_journal_run_sum(&fresh),
                      ebb_journal_end_sum(EBB_JOURNAL_ACTIVE, NULL, 0),
                      (int64_t)fresh.raw_order, fresh.script,
                      fresh.script_sha256, fresh.args, fresh.forked_from,
                      fresh.backend),
        &job->to, err);
    if (got == 0)
        return ebb_err_set(err, EBB_CONFLICT, "there is a run %s already",
                           job->new_id);
    return got < 0 ? -1 : 0;
}

static int copy_run(ebb_journal *journal, fork_job *job)
{
    ebb_err *err = &job->base.err;
    sqlite3_stmt *row =
        ebb_sql_start(&journal->sql, err, source_sql, "t", job->id);
    int got = row == NULL ? -1 : ebb_sql_step(&journal->sql, row, err);
    ebb_journal_run source = { 0 };
    const char *why;
    int result;

    if (got < 0)
        return -1;
    if (got == 0)
        return ebb_err_set(err, EBB_NOT_FOUND, "no run %s in the journal %s",
                           job->id, journal->path);
    why = ebb_journal_read_run(journal, row, false, &source);
    job->from = source.claim.run;
    result = why != NULL ? ebb_err_set(err, EBB_JOURNAL,
                                       "run %s is damaged in the journal: %s",
                                       job->id, why)
                         : insert_run(journal, job, &source);
    ebb_sql_done(row);
    return result;
}

static int find_cut(ebb_journal *journal, fork_job *job)
{
    ebb_err *err = &job->base.err;
    int64_t known = 0;

    if (ebb_sql_once(&journal->sql,
                     ebb_sql_start(&journal->sql, err, known_sql, "it",
                                   job->from, job->path),
                     &known, err) < 0 ||
        ebb_sql_once(&journal->sql,
                     ebb_sql_start(&journal->sql, err, cut_sql, "it", job->from,
                                   job->path),
                     &job->cut, err) < 0)
        return -1;
    if (known == 0)
        return ebb_err_set(err, EBB_NOT_FOUND,
                           "run %s has no step %s; `ebb runs show %s` lists "
                           "them",
                           job->id, job->path, job->id);
    return 0;
}

static int run_fork(ebb_journal *journal, ebb_journal_job *base)
{
    static const char *const copies[] = { steps_sql, large_sql, attempts_sql };
    fork_job *job = (fork_job *)base;
    ebb_sql *sql = &journal->sql;
    int64_t ignored;

    if (copy_run(journal, job) != 0 || find_cut(journal, job) != 0)
        return -1;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (ebb_sql_once(sql,
                         ebb_sql_start(sql, &base->err, copies[i], "iiti",
                                       job->from, job->cut, job->path, job->to),
                         &ignored, &base->err) < 0)
            return -1;
    return ebb_sql_once(sql,
                        ebb_sql_start(sql, &base->err, count_sql, "i", job->to),
                        &ignored, &base->err);
}

int ebb_journal_fork(ebb_journal *journal, const char *id, const char *path,
                     const char *new_id, ebb_err *err)
{
    fork_job job = { .base = { .run = run_fork, .writes = true },
                     .id = id,
                     .path = path,
                     .new_id = new_id,
                     .now_ms = ebb_clock_wall_ms(journal->clock) };

    if (ebb_journal_check_id(new_id, err) != 0)
        return -1;
    return ebb_journal_wait(journal, &job.base, err);
}
