/* SPDX-License-Identifier: MIT */

/* What people do with the journal: list runs, cancel one, remove one. */

#include "base/mem.h"
#include "journal/journal_private.h"

#include <stdio.h>
#include <string.h>

typedef ebb_journal_run *run_pointer;

typedef struct list_job {
    ebb_journal_job base;
    size_t n_max;
    run_pointer *runs;
    size_t n, room;
} list_job;

typedef struct id_job {
    ebb_journal_job base;
    const char *id;
    const char *outcome;
    int64_t now_ms;
    bool asked;
} id_job;

/* However many have ended since, one that has not is among them. */
static const char list_sql[] =
    "SELECT " EBB_JOURNAL_RUN_HEAD " FROM run WHERE key IN"
    " (SELECT key FROM run ORDER BY state <> 0, key DESC LIMIT ?)"
    " ORDER BY key DESC";

static const char standing_sql[] =
    "SELECT key, state, owner_boot, owner_pid, owner_start FROM run"
    " WHERE id = ?";

static const char ask_sql[] =
    "UPDATE run SET cancel_ms = ? WHERE key = ? AND cancel_ms IS NULL";

static const char cancel_sql[] =
    "UPDATE run SET state = ?, outcome = ?, end_sum = ?, ended_ms = ?,"
    " updated_ms = ?, fence = fence + 1, owner_boot = NULL,"
    " owner_pid = NULL, owner_start = NULL WHERE key = ?";

static const char del_sql[] = "DELETE FROM run WHERE key = ?";

/* ---- list ---- */

static ebb_journal_run *read_head(ebb_journal *journal, sqlite3_stmt *row)
{
    ebb_journal_run *run = ebb_journal_run_new();
    ebb_journal_texts *texts;

    if (run == NULL)
        return NULL;
    texts = ebb_journal_run_texts(run);
    ebb_journal_read_run(journal, row, true, run);
    run->claim = (ebb_journal_claim){ 0 };
    ebb_journal_texts_own(texts, &run->id);
    ebb_journal_texts_own(texts, &run->script);
    ebb_journal_texts_own(texts, &run->script_sha256);
    ebb_journal_texts_own(texts, &run->forked_from);
    ebb_journal_texts_own(texts, &run->backend);
    if (!texts->starved && run->id != NULL)
        return run;
    ebb_journal_run_free(run);
    return NULL;
}

static int add_run(ebb_journal *journal, list_job *job, sqlite3_stmt *row)
{
    size_t room = job->room == 0 ? 16 : job->room * 2;
    run_pointer *runs;

    if (job->n == job->room) {
        runs = ebb_mem_resize(job->runs, room * sizeof(run_pointer));
        if (runs == NULL)
            return -1;
        job->runs = runs;
        job->room = room;
    }
    job->runs[job->n] = read_head(journal, row);
    if (job->runs[job->n] == NULL)
        return -1;
    job->n++;
    return 0;
}

static int run_list(ebb_journal *journal, ebb_journal_job *base)
{
    list_job *job = (list_job *)base;
    sqlite3_stmt *row = ebb_sql_start(&journal->sql, &base->err, list_sql, "i",
                                      (int64_t)job->n_max);
    int got = -1;

    while (row != NULL &&
           (got = ebb_sql_step(&journal->sql, row, &base->err)) == 1)
        if (add_run(journal, job, row) != 0) {
            ebb_sql_done(row);
            return ebb_err_set(&base->err, EBB_NO_MEMORY, "the list of runs");
        }
    return got;
}

void ebb_journal_list_free(ebb_journal_run **runs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ebb_journal_run_free(runs[i]);
    ebb_mem_free(runs);
}

int ebb_journal_list(ebb_journal *journal, size_t n_max, ebb_journal_run ***out,
                     size_t *n, ebb_err *err)
{
    list_job job = { .base = { .run = run_list }, .n_max = n_max };

    *out = NULL;
    *n = 0;
    if (ebb_journal_wait(journal, &job.base, err) != 0) {
        ebb_journal_list_free(job.runs, job.n);
        return -1;
    }
    *out = job.runs;
    *n = job.n;
    return 0;
}

/* ---- one run ---- */

typedef struct standing {
    int64_t key;
    ebb_journal_state state;
    bool owned; /* by somebody alive */
} standing;

static int find_standing(ebb_journal *journal, id_job *job, standing *out)
{
    ebb_err *err = &job->base.err;
    sqlite3_stmt *row =
        ebb_sql_start(&journal->sql, err, standing_sql, "t", job->id);
    int got = row == NULL ? -1 : ebb_sql_step(&journal->sql, row, err);
    ebb_owner owner = { 0 };
    const char *boot;

    if (got < 0)
        return -1;
    if (got == 0)
        return ebb_err_set(err, EBB_NOT_FOUND, "no run %s in the journal %s",
                           job->id, journal->path);
    boot = ebb_sql_text(row, 2, NULL);
    snprintf(owner.boot, sizeof owner.boot, "%s", boot != NULL ? boot : "");
    owner.pid = ebb_sql_int(row, 3);
    owner.start = ebb_sql_int(row, 4);
    *out =
        (standing){ ebb_sql_int(row, 0), (ebb_journal_state)ebb_sql_int(row, 1),
                    ebb_owner_alive(&owner, &journal->self) };
    ebb_sql_done(row);
    return 0;
}

static int run_cancel(ebb_journal *journal, ebb_journal_job *base)
{
    id_job *job = (id_job *)base;
    ebb_sql *sql = &journal->sql;
    const char *outcome = job->outcome;
    size_t n = outcome != NULL ? strlen(outcome) : 0;
    int64_t ignored;
    standing s = { 0 };

    if (find_standing(journal, job, &s) != 0)
        return -1;
    if (s.state != EBB_JOURNAL_ACTIVE)
        return ebb_err_set(&base->err, EBB_CONFLICT,
                           "run %s has ended already (%s)", job->id,
                           ebb_journal_state_name(s.state));
    job->asked = s.owned;
    if (s.owned)
        return ebb_sql_once(
            sql,
            ebb_sql_start(sql, &base->err, ask_sql, "ii", job->now_ms, s.key),
            &ignored, &base->err);
    return ebb_sql_once(
        sql,
        ebb_sql_start(sql, &base->err, cancel_sql, "ibiiii",
                      (int64_t)EBB_JOURNAL_CANCELLED, outcome, n,
                      ebb_journal_end_sum(EBB_JOURNAL_CANCELLED, outcome, n),
                      job->now_ms, job->now_ms, s.key),
        &ignored, &base->err);
}

int ebb_journal_cancel(ebb_journal *journal, const char *id,
                       const char *outcome, bool *asked, ebb_err *err)
{
    id_job job = { .base = { .run = run_cancel, .writes = true },
                   .id = id,
                   .outcome = outcome,
                   .now_ms = ebb_clock_wall_ms(journal->clock) };

    if (ebb_journal_wait(journal, &job.base, err) != 0)
        return -1;
    *asked = job.asked;
    return 0;
}

/* The rows of its steps, attempts and log go with it (ON DELETE CASCADE). */
static int run_del(ebb_journal *journal, ebb_journal_job *base)
{
    id_job *job = (id_job *)base;
    int64_t ignored;
    standing s = { 0 };

    if (find_standing(journal, job, &s) != 0)
        return -1;
    if (s.state == EBB_JOURNAL_ACTIVE)
        return ebb_err_set(&base->err, EBB_CONFLICT,
                           "run %s has not ended; first: ebb runs cancel %s",
                           job->id, job->id);
    return ebb_sql_once(
        &journal->sql,
        ebb_sql_start(&journal->sql, &base->err, del_sql, "i", s.key), &ignored,
        &base->err);
}

int ebb_journal_del_run(ebb_journal *journal, const char *id, ebb_err *err)
{
    id_job job = { .base = { .run = run_del, .writes = true }, .id = id };

    return ebb_journal_wait(journal, &job.base, err);
}
