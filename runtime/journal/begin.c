/* SPDX-License-Identifier: MIT */

/*
 * Beginning a run, or taking it from an owner that is gone: decided and
 * written in one transaction, so that of many processes one gets it.
 */

#include "base/digest.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "journal/journal_private.h"

#include <stdio.h>
#include <string.h>

typedef struct claim_job {
    ebb_journal_job base;
    ebb_journal_run begun; /* what a new run has */
    bool resume, take_over, interrupted;
    int64_t now_ms;
    ebb_journal_claim claim;               /* run 0: not ours, it has ended */
    char id[EBB_JOURNAL_ID_BYTES_MAX + 1]; /* of the run that was found */
} claim_job;

/* What the decision is made on. */
typedef struct found {
    int64_t key, fruitless;
    ebb_journal_state state;
    ebb_owner owner;
} found;

#define FOUND_COLUMNS                                                          \
    "id, key, state, fruitless, owner_boot, owner_pid, owner_start"

static const char find_sql[] = "SELECT " FOUND_COLUMNS " FROM run WHERE id = ?";

static const char begin_sql[] =
    "INSERT INTO run (id, state, fence, owner_boot, owner_pid, owner_start,"
    " started_ms, updated_ms, seed, run_sum, end_sum, script, script_sha256,"
    " args) VALUES (?, 0, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING key";

static const char take_sql[] =
    "UPDATE run SET fence = fence + 1, owner_boot = ?, owner_pid = ?,"
    " owner_start = ?, recoveries = recoveries + ?, fruitless = ?,"
    " updated_ms = ? WHERE key = ? RETURNING fence";

static const char reopen_sql[] =
    "UPDATE run SET state = 0, outcome = NULL, ended_ms = NULL,"
    " cancel_ms = NULL, end_sum = ? WHERE key = ?";

static const char stuck_sql[] =
    "UPDATE run SET state = ?, end_sum = ?, outcome = ?, ended_ms = ?,"
    " fence = fence + 1, owner_boot = NULL, owner_pid = NULL,"
    " owner_start = NULL WHERE key = ?";

static const char stuck_json[] =
    "{\"code\":\"stuck\",\"message\":\"it ended its process too often\"}";

static void read_found(claim_job *job, sqlite3_stmt *row, found *f)
{
    const char *id = ebb_sql_text(row, 0, NULL);
    const char *boot = ebb_sql_text(row, 4, NULL);

    /* NULL is SQLite without memory; the run is then not found by its id. */
    snprintf(job->id, sizeof job->id, "%s", id != NULL ? id : "");
    *f = (found){ .key = ebb_sql_int(row, 1),
                  .state = (ebb_journal_state)ebb_sql_int(row, 2),
                  .fruitless = ebb_sql_int(row, 3),
                  .owner = { .pid = ebb_sql_int(row, 5),
                             .start = ebb_sql_int(row, 6) } };
    if (f->fruitless > EBB_JOURNAL_RECOVERIES_MAX)
        f->fruitless = EBB_JOURNAL_RECOVERIES_MAX; /* one more than that fits */
    snprintf(f->owner.boot, sizeof f->owner.boot, "%s",
             boot != NULL ? boot : "");
}

static int begin(ebb_journal *journal, claim_job *job)
{
    const ebb_journal_run *run = &job->begun;
    const ebb_owner *self = &journal->self;
    int64_t sum = ebb_journal_run_sum(run);

    snprintf(job->id, sizeof job->id, "%s", run->id);
    job->claim.fence = 1;
    return ebb_sql_once(
        &journal->sql,
        ebb_sql_start(&journal->sql, &job->base.err, begin_sql, "ttiiiiiiittt",
                      run->id, self->boot, self->pid, self->start, job->now_ms,
                      job->now_ms, (int64_t)run->seed, sum,
                      ebb_journal_end_sum(EBB_JOURNAL_ACTIVE, NULL, 0),
                      run->script, run->script_sha256, run->args),
        &job->claim.run, &job->base.err);
}

static int take(ebb_journal *journal, claim_job *job, const found *f,
                bool recovered)
{
    const ebb_owner *self = &journal->self;
    int64_t fruitless = recovered     ? f->fruitless + 1
                        : job->resume ? 0
                                      : f->fruitless;

    job->claim.run = f->key;
    return ebb_sql_once(&journal->sql,
                        ebb_sql_start(&journal->sql, &job->base.err, take_sql,
                                      "tiiiiii", self->boot, self->pid,
                                      self->start, (int64_t)recovered,
                                      fruitless, job->now_ms, f->key),
                        &job->claim.fence, &job->base.err);
}

static int say_stuck(claim_job *job)
{
    return ebb_err_set(&job->base.err, EBB_STUCK,
                       "run %s ended its process %d times in a row without "
                       "one new result; find the cause, then: ebb runs "
                       "resume %s",
                       job->id, EBB_JOURNAL_RECOVERIES_MAX + 1, job->id);
}

/* This verdict is written, and answered as an error. */
static int get_stuck(ebb_journal *journal, claim_job *job, const found *f)
{
    int64_t ignored;

    if (ebb_sql_once(
            &journal->sql,
            ebb_sql_start(&journal->sql, &job->base.err, stuck_sql, "iitii",
                          (int64_t)EBB_JOURNAL_STUCK,
                          ebb_journal_end_sum(EBB_JOURNAL_STUCK, stuck_json,
                                              strlen(stuck_json)),
                          stuck_json, job->now_ms, f->key),
            &ignored, &job->base.err) < 0)
        return -1;
    say_stuck(job);
    return 0;
}

static int reopen(ebb_journal *journal, claim_job *job, const found *f)
{
    int64_t ignored;

    if (ebb_sql_once(
            &journal->sql,
            ebb_sql_start(&journal->sql, &job->base.err, reopen_sql, "ii",
                          ebb_journal_end_sum(EBB_JOURNAL_ACTIVE, NULL, 0),
                          f->key),
            &ignored, &job->base.err) < 0)
        return -1;
    return take(journal, job, f, false);
}

static int decide(ebb_journal *journal, claim_job *job, const found *f)
{
    if (f->state != EBB_JOURNAL_ACTIVE) {
        if (job->interrupted)
            return ebb_err_set(&job->base.err, EBB_CONFLICT,
                               "run %s has ended", job->id);
        if (job->resume && f->state != EBB_JOURNAL_DONE)
            return reopen(journal, job, f);
        if (f->state == EBB_JOURNAL_STUCK)
            return say_stuck(job);
        return 0;
    }
    if (f->owner.pid == 0)
        return take(journal, job, f, false);
    if (ebb_owner_alive(&f->owner, &journal->self)) {
        if (job->take_over)
            return take(journal, job, f, false);
        return ebb_err_set(&job->base.err, EBB_OWNED,
                           "run %s belongs to process %lld, which is alive; "
                           "wait for it, or take it by --take-over",
                           job->id, (long long)f->owner.pid);
    }
    if (f->fruitless >= EBB_JOURNAL_RECOVERIES_MAX && !job->resume)
        return get_stuck(journal, job, f);
    return take(journal, job, f, true);
}

static int run_claim(ebb_journal *journal, ebb_journal_job *base)
{
    claim_job *job = (claim_job *)base;
    sqlite3_stmt *row =
        ebb_sql_start(&journal->sql, &base->err, find_sql, "t", job->begun.id);
    int got = row == NULL ? -1 : ebb_sql_step(&journal->sql, row, &base->err);
    found f = { 0 };

    job->claim = (ebb_journal_claim){ 0 };
    if (got < 0)
        return -1;
    if (got == 0 && job->interrupted)
        return ebb_err_set(&base->err, EBB_NOT_FOUND,
                           "no run %s in the journal %s", job->begun.id,
                           journal->path);
    if (got == 0)
        return begin(journal, job) < 0 ? -1 : 0;
    read_found(job, row, &f);
    ebb_sql_done(row);
    return decide(journal, job, &f) < 0 ? -1 : 0;
}

/* ---- what callers ask ---- */

static int check_config(const ebb_journal_claim_config *config, ebb_err *err)
{
    const char *words[] = { config->script, config->script_sha256 };

    if (ebb_journal_check_id(config->id, err) != 0)
        return -1;
    for (size_t i = 0; i < 2; i++)
        if (words[i] != NULL &&
            (strlen(words[i]) > EBB_JOURNAL_PATH_BYTES_MAX ||
             !ebb_utf8_valid(words[i], strlen(words[i]))))
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "the name of a script is at most %d bytes of "
                               "UTF-8",
                               EBB_JOURNAL_PATH_BYTES_MAX);
    if (config->args != NULL &&
        strlen(config->args) > EBB_JOURNAL_JSON_BYTES_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "the arguments of a run are at most %d bytes",
                           EBB_JOURNAL_JSON_BYTES_MAX);
    return 0;
}

/* A run that cannot be read is given back, for whoever mends it. */
static ebb_journal_run *load_claimed(ebb_journal *journal, const claim_job *job,
                                     ebb_err *err)
{
    bool ours = job->claim.run != 0;
    ebb_journal_run *run = ebb_journal_load(
        journal, job->id,
        ours ? EBB_JOURNAL_DEPTH_REPLAY : EBB_JOURNAL_DEPTH_RUN, err);
    ebb_err ignored;

    if (run != NULL)
        run->claim = job->claim;
    else if (ours)
        ebb_journal_release(journal, &job->claim, (ebb_journal_done){ 0 },
                            &ignored);
    return run;
}

ebb_journal_run *ebb_journal_claim_run(ebb_journal *journal,
                                       const ebb_journal_claim_config *config,
                                       ebb_err *err)
{
    claim_job job = { .base = { .run = run_claim, .writes = true },
                      .begun = { .id = config->id,
                                 .script = config->script,
                                 .script_sha256 = config->script_sha256,
                                 .args = config->args },
                      .resume = config->resume,
                      .take_over = config->take_over,
                      .interrupted = config->interrupted,
                      .now_ms = ebb_clock_wall_ms(journal->clock) };

    if (check_config(config, err) != 0 ||
        ebb_digest_random(&job.begun.seed, sizeof job.begun.seed, err) != 0 ||
        ebb_journal_wait(journal, &job.base, err) != 0)
        return NULL;
    return load_claimed(journal, &job, err);
}
