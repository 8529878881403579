/* SPDX-License-Identifier: MIT */

/*
 * What the journal costs, each beside a bare SQLite commit of one row with the
 * same settings in the same run, since disks differ and are noisy.
 *
 *     make bench     (EBB_BENCH_RUNS=200, EBB_BENCH_STEPS=50000, TMPDIR=…)
 */

#include "base/fs.h"
#include "journal/runs.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS_MAX 10000
#define GROUP    64
#define TOGETHER 100 /* runs at once */

typedef struct bench {
    char folder[256], path[300];
    ebb_loop *loop;
    ebb_journal *journal;
    sqlite3 *bare;
    sqlite3_stmt *insert;
    ebb_journal_claim claim;
    int answers, runs, steps, next; /* next: a path that is not taken */
    double bare_ms;
} bench;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

static void answered(void *context, const ebb_err *err)
{
    bench *b = context;

    if (err != NULL)
        die("journal", err->msg);
    b->answers++;
}

static void await(bench *b, int answers)
{
    while (b->answers < answers)
        ebb_loop_run(b->loop, 1000);
    b->answers = 0;
}

/* ---- one of each ---- */

static void add(bench *b, const ebb_journal_claim *claim, bool outcome)
{
    char path[32];
    ebb_err err = { 0 };
    ebb_journal_step step = { .path = path,
                              .name = "e2b.runCode",
                              .step_class = "none",
                              .digest = "0123456789abcdef",
                              .input = "{\"code\":\"1+1\"}",
                              .input_bytes = 14,
                              .outcome = "{\"text\":\"2\"}",
                              .outcome_bytes = 12 };
    int (*fn)(ebb_journal *, const ebb_journal_claim *,
              const ebb_journal_step *, ebb_journal_done, ebb_err *) =
        outcome ? ebb_journal_add_outcome : ebb_journal_add_intent;

    snprintf(path, sizeof path, "%d", b->next);
    if (fn(b->journal, claim, &step, (ebb_journal_done){ answered, b }, &err) !=
        0)
        die("journal", err.msg);
}

static double bare_commit(bench *b)
{
    double began = now_ms();

    sqlite3_exec(b->bare, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    sqlite3_step(b->insert);
    sqlite3_reset(b->insert);
    sqlite3_exec(b->bare, "COMMIT", NULL, NULL, NULL);
    return now_ms() - began;
}

/* From asking on the loop to the answer on the loop. */
static double one_intent(bench *b)
{
    double began = now_ms();

    b->next++;
    add(b, &b->claim, false);
    await(b, 1);
    return now_ms() - began;
}

static double a_step(bench *b)
{
    double began = now_ms();

    one_intent(b);
    add(b, &b->claim, true);
    await(b, 1);
    return now_ms() - began;
}

static double grouped(bench *b)
{
    double began = now_ms();

    for (int i = 0; i < GROUP; i++) {
        b->next++;
        add(b, &b->claim, false);
    }
    await(b, GROUP);
    return now_ms() - began;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    return ms[n / 2];
}

/*
 * One line: the median, the 95th percentile, the ratio to a bare commit, of
 * which there is one beside each.
 */
static void measure(bench *b, const char *name, double (*one)(bench *b))
{
    static double ms[RUNS_MAX], bare[RUNS_MAX];
    double middle;

    one(b);
    for (int i = 0; i < b->runs; i++) {
        bare[i] = bare_commit(b);
        ms[i] = one(b);
    }
    b->bare_ms = median(bare, b->runs);
    middle = median(ms, b->runs);
    printf("%-34s %9.3f %9.3f %8.2f\n", name, middle, ms[b->runs * 95 / 100],
           middle / b->bare_ms);
}

/* ---- a long run, many runs ---- */

static ebb_journal_run *claim(bench *b, const char *id)
{
    ebb_err err = { 0 };
    ebb_journal_run *run = ebb_journal_claim_run(
        b->journal, &(ebb_journal_claim_config){ .id = id, .take_over = true },
        &err);

    if (run == NULL)
        die(id, err.msg);
    return run;
}

/* Whole steps of 100 runs, each waiting for its own answers only. */
static void many_runs(bench *b)
{
    ebb_journal_claim claims[TOGETHER];
    int rounds = b->steps / TOGETHER;
    double ms;
    char id[32];

    for (int i = 0; i < TOGETHER; i++) {
        ebb_journal_run *run;

        snprintf(id, sizeof id, "many-%d", i);
        run = claim(b, id);
        claims[i] = run->claim;
        ebb_journal_run_free(run);
    }
    ms = now_ms();
    for (int round = 0; round < rounds; round++) {
        b->next++;
        for (int half = 0; half < 2; half++) {
            for (int i = 0; i < TOGETHER; i++)
                add(b, &claims[i], half == 1);
            await(b, TOGETHER);
        }
    }
    ms = now_ms() - ms;
    printf("%-34s %9.0f steps/s\n", "100 runs, a step each at once",
           rounds * TOGETHER / ms * 1e3);
}

static void long_run(bench *b)
{
    ebb_journal_run *run = claim(b, "long");
    double ms;

    for (int i = 0; i < b->steps; i++) {
        b->next = i;
        add(b, &run->claim, true);
        if (i % 1000 == 999)
            await(b, 1000);
    }
    await(b, b->steps % 1000);
    ebb_journal_run_free(run);
    ms = now_ms();
    run = claim(b, "long");
    ms = now_ms() - ms;
    printf("claim and load of %6zu steps      %9.1f %18.2f\n", run->steps_n, ms,
           ms / b->bare_ms);
    ebb_journal_run_free(run);
}

/* ---- */

static void open_bare(bench *b)
{
    char path[320];

    snprintf(path, sizeof path, "%s/bare.db", b->folder);
    if (sqlite3_open(path, &b->bare) != SQLITE_OK ||
        sqlite3_exec(b->bare,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(b->bare,
                           "INSERT INTO t (b) VALUES ('{\"code\":\"1+1\"}')",
                           -1, &b->insert, NULL) != SQLITE_OK)
        die("SQLite", sqlite3_errmsg(b->bare));
}

static void open_all(bench *b)
{
    const char *tmp = getenv("TMPDIR");
    ebb_err err = { 0 };
    ebb_journal_run *run;

    snprintf(b->folder, sizeof b->folder, "%s/ebb-bench-XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(b->folder) == NULL)
        die(b->folder, "cannot be made");
    snprintf(b->path, sizeof b->path, "%s/journal.db", b->folder);
    open_bare(b);
    b->loop = ebb_loop_new(NULL, &err);
    if (b->loop != NULL)
        b->journal = ebb_journal_open(b->loop, ebb_clock_real(), b->path, &err);
    if (b->journal == NULL)
        die(b->path, err.msg);
    run = claim(b, "one");
    b->claim = run->claim;
    ebb_journal_run_free(run);
}

static int number(const char *name, int otherwise, int most)
{
    const char *text = getenv(name);
    int n = text != NULL ? atoi(text) : otherwise;

    if (n < 1 || n > most)
        die(name, "not a number that it may be");
    return n;
}

int main(void)
{
    bench b = { .runs = number("EBB_BENCH_RUNS", 200, RUNS_MAX),
                .steps = number("EBB_BENCH_STEPS", 50000, 1000000) };
    ebb_err err;

    open_all(&b);
    printf("%-34s %9s %9s %8s\n", "", "median ms", "p95 ms", "x bare");
    measure(&b, "bare SQLite, one row, fsync", bare_commit);
    measure(&b, "an intent, answered", one_intent);
    measure(&b, "a step: intent, then outcome", a_step);
    measure(&b, "64 intents at once", grouped);
    many_runs(&b);
    long_run(&b);
    ebb_journal_close(b.journal);
    ebb_loop_free(b.loop);
    sqlite3_finalize(b.insert);
    sqlite3_close(b.bare);
    ebb_fs_remove_tree(b.folder, &err);
    return 0;
}
