/* SPDX-License-Identifier: MIT */

/*
 * What durability costs a C program: a step beside a plain call and beside a
 * commit of bare SQLite, steps a second in many runs at once, opening and
 * replaying a long run. Prints lines "name value" for compare.lua.
 *
 *     ebb FOLDER
 */

#include "ebb.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define SAMPLES        500
#define RUNS           100
#define STEPS_OF_A_RUN 50
#define LONG_STEPS     50000
#define AT_ONCE        500

typedef struct bench {
    ebb_runtime *rt;
    ebb_value *input;
    size_t ended;
} bench;

static void die(const char *what, const ebb_err *err)
{
    fprintf(stderr, "durable: %s: %s\n", what, err->msg);
    exit(1);
}

static void start_task(void *context, ebb_request *request)
{
    (void)context;
    ebb_request_finish(request, ebb_value_int(1));
}

static void done(void *context, ebb_value *out, const ebb_err *err)
{
    bench *b = context;

    if (err != NULL)
        die("a step", err);
    ebb_value_free(out);
    b->ended++;
}

static bench open_bench(const char *journal)
{
    bench b = { .input = ebb_value_object() };
    ebb_task_config none = { .name = "none", .start = start_task };
    ebb_task_config read = { .name = "read",
                             .start = start_task,
                             .retry_class = "read" };
    ebb_config config;
    ebb_err err = { 0 };

    ebb_config_init(&config);
    config.journal = journal;
    b.rt = ebb_open(&config, &err);
    if (b.rt == NULL || ebb_register(b.rt, &none, &err) < 0 ||
        ebb_register(b.rt, &read, &err) < 0)
        die("open", &err);
    return b;
}

static void close_bench(bench *b)
{
    ebb_value_free(b->input);
    ebb_close(b->rt);
}

static ebb_run *open_run(const bench *b, const char *id)
{
    ebb_run_config config;
    ebb_err err = { 0 };
    ebb_run *run;

    ebb_run_config_init(&config);
    config.id = id;
    run = ebb_run_open(b->rt, &config, &err);
    if (run == NULL)
        die("open a run", &err);
    return run;
}

static void start_step(bench *b, ebb_run *run, const char *path,
                       const char *task)
{
    ebb_err err = { 0 };

    if (ebb_start_step(run, path, task, b->input, done, b, &err) == NULL)
        die("start a step", &err);
}

/* Until so many have ended in all. */
static void wait_for(bench *b, ebb_run *const *runs, size_t n, size_t ended)
{
    ebb_err err = { 0 };

    while (b->ended < ended) {
        for (size_t i = 0; i < n; i++)
            ebb_run_idle(runs[i]);
        ebb_poll(b->rt, 1000, &err);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *samples)
{
    qsort(samples, SAMPLES, sizeof *samples, by_size);
    return samples[SAMPLES / 2];
}

/* ---- bare SQLite ---- */

typedef struct bare {
    sqlite3 *db;
    sqlite3_stmt *insert;
} bare;

static bare open_bare(const char *folder)
{
    bare b = { 0 };
    char path[300];

    snprintf(path, sizeof path, "%s/bare.db", folder);
    if (sqlite3_open(path, &b.db) != SQLITE_OK ||
        sqlite3_exec(b.db,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(b.db, "INSERT INTO t (b) VALUES ('{\"n\":1}')", -1,
                           &b.insert, NULL) != SQLITE_OK) {
        fprintf(stderr, "durable: SQLite: %s\n", sqlite3_errmsg(b.db));
        exit(1);
    }
    return b;
}

static void close_bare(bare *b)
{
    sqlite3_finalize(b->insert);
    sqlite3_close(b->db);
}

static void commit_bare(bare *b, int rows)
{
    sqlite3_exec(b->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (int i = 0; i < rows; i++) {
        sqlite3_step(b->insert);
        sqlite3_reset(b->insert);
    }
    sqlite3_exec(b->db, "COMMIT", NULL, NULL, NULL);
}

/* ---- one after the other ---- */

static double call_ms(bench *b)
{
    static double samples[SAMPLES];
    ebb_err err = { 0 };

    for (int i = 0; i < SAMPLES; i++) {
        double from = ebb_monotonic_ms(b->rt);
        ebb_value *out = NULL;
        if (ebb_call(b->rt, "none", b->input, &out, &err) < 0)
            die("call", &err);
        ebb_value_free(out);
        samples[i] = ebb_monotonic_ms(b->rt) - from;
    }
    return median(samples);
}

/* Steps of a task, a bare commit before each: their medians, and the rate. */
static void one_run(bench *b, bare *sqlite, const char *task)
{
    static double steps[SAMPLES], commits[SAMPLES];
    ebb_run *run = open_run(b, task);
    double sum = 0;
    char path[16];

    for (int i = 0; i < SAMPLES; i++) {
        double from = ebb_monotonic_ms(b->rt), then;
        size_t ended = b->ended;

        commit_bare(sqlite, 1);
        then = ebb_monotonic_ms(b->rt);
        commits[i] = then - from;
        snprintf(path, sizeof path, "%d", i + 1);
        start_step(b, run, path, task);
        wait_for(b, &run, 1, ended + 1);
        steps[i] = ebb_monotonic_ms(b->rt) - then;
        sum += steps[i];
    }
    ebb_run_close(run);
    printf("%s_ms %g\n%s_bare_ms %g\n", task, median(steps), task,
           median(commits));
    printf("%s_per_s %g\n", task, SAMPLES / sum * 1000);
}

/* ---- many at once ---- */

/* Steps a second of many runs, each one step after the other. */
static double steps_per_s(bench *b)
{
    static ebb_run *runs[RUNS];
    char text[16];
    double from;

    for (int i = 0; i < RUNS; i++) {
        snprintf(text, sizeof text, "many%d", i);
        runs[i] = open_run(b, text);
    }
    from = ebb_monotonic_ms(b->rt);
    for (int step = 1; step <= STEPS_OF_A_RUN; step++) {
        size_t ended = b->ended;
        snprintf(text, sizeof text, "%d", step);
        for (int i = 0; i < RUNS; i++)
            start_step(b, runs[i], text, "none");
        wait_for(b, runs, RUNS, ended + RUNS);
    }
    from = ebb_monotonic_ms(b->rt) - from;
    for (int i = 0; i < RUNS; i++)
        ebb_run_close(runs[i]);
    return RUNS * STEPS_OF_A_RUN / from * 1000;
}

/* The same grouping of bare SQLite: two commits of a row for each run. */
static double bare_per_s(const bench *b, bare *sqlite)
{
    double from = ebb_monotonic_ms(b->rt);

    for (int step = 0; step < 2 * STEPS_OF_A_RUN; step++)
        commit_bare(sqlite, RUNS);
    return RUNS * STEPS_OF_A_RUN / (ebb_monotonic_ms(b->rt) - from) * 1000;
}

/* One run of many steps, from its opening to the last outcome. */
static double long_run_ms(const char *journal)
{
    bench b = open_bench(journal);
    double from = ebb_monotonic_ms(b.rt), took;
    ebb_run *run = open_run(&b, "long");
    char path[16];

    for (int i = 0; i < LONG_STEPS; i += AT_ONCE) {
        for (int j = 0; j < AT_ONCE; j++) {
            snprintf(path, sizeof path, "%d", i + j + 1);
            start_step(&b, run, path, "none");
        }
        wait_for(&b, &run, 1, b.ended + AT_ONCE);
    }
    took = ebb_monotonic_ms(b.rt) - from;
    ebb_run_close(run);
    close_bench(&b);
    return took;
}

static long resident_mb(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
    char journal[300];
    double first, again;
    bare sqlite;
    bench b;

    if (argc != 2)
        return 2;
    snprintf(journal, sizeof journal, "%s/journal.db", argv[1]);
    sqlite = open_bare(argv[1]);
    b = open_bench(journal);
    printf("call_ms %g\n", call_ms(&b));
    one_run(&b, &sqlite, "none");
    one_run(&b, &sqlite, "read");
    printf("many_per_s %g\n", steps_per_s(&b));
    printf("many_bare_per_s %g\n", bare_per_s(&b, &sqlite));
    close_bench(&b);
    close_bare(&sqlite);
    first = long_run_ms(journal);
    again = long_run_ms(journal);
    printf("long_per_s %g\n", LONG_STEPS / first * 1000);
    printf("replay_ms %g\nreplay_steps %d\nresident_mb %ld\n", again,
           LONG_STEPS, resident_mb());
    return 0;
}
