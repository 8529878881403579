/* SPDX-License-Identifier: MIT */

/*
 * What durability costs: a step beside a plain call and beside the fsync below
 * it, steps a second in many runs at once, opening and replaying a long run.
 */

#include "ebb.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SAMPLES 500
#define RUNS 100
#define STEPS_OF_A_RUN 50
#define LONG_STEPS 50000
#define AT_ONCE 500

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
    ebb_task_config task = { .name = "bench.none", .start = start_task };
    ebb_config config;
    ebb_err err = { 0 };

    ebb_config_init(&config);
    config.journal = journal;
    b.rt = ebb_open(&config, &err);
    if (b.rt == NULL || ebb_register(b.rt, &task, &err) < 0)
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

static void start_step(bench *b, ebb_run *run, const char *path)
{
    ebb_err err = { 0 };

    if (ebb_start_step(run, path, "bench.none", b->input, done, b, &err) ==
        NULL)
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

static double fsync_ms(const bench *b, const char *dir)
{
    static double samples[SAMPLES];
    char path[300], block[4096] = { 0 };
    int fd;

    snprintf(path, sizeof path, "%s/fsync", dir);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < SAMPLES; i++) {
        double from = ebb_monotonic_ms(b->rt);
        if (write(fd, block, sizeof block) < 0 || fsync(fd) < 0)
            exit(1);
        samples[i] = ebb_monotonic_ms(b->rt) - from;
    }
    close(fd);
    return median(samples);
}

static double call_ms(bench *b)
{
    static double samples[SAMPLES];
    ebb_err err = { 0 };

    for (int i = 0; i < SAMPLES; i++) {
        double from = ebb_monotonic_ms(b->rt);
        ebb_value *out = NULL;
        if (ebb_call(b->rt, "bench.none", b->input, &out, &err) < 0)
            die("call", &err);
        ebb_value_free(out);
        samples[i] = ebb_monotonic_ms(b->rt) - from;
    }
    return median(samples);
}

static double step_ms(bench *b)
{
    static double samples[SAMPLES];
    ebb_run *run = open_run(b, "one");
    char path[16];

    for (int i = 0; i < SAMPLES; i++) {
        double from = ebb_monotonic_ms(b->rt);
        size_t ended = b->ended;
        snprintf(path, sizeof path, "%d", i + 1);
        start_step(b, run, path);
        wait_for(b, &run, 1, ended + 1);
        samples[i] = ebb_monotonic_ms(b->rt) - from;
    }
    ebb_run_close(run);
    return median(samples);
}

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
            start_step(b, runs[i], text);
        wait_for(b, runs, RUNS, ended + RUNS);
    }
    from = ebb_monotonic_ms(b->rt) - from;
    for (int i = 0; i < RUNS; i++)
        ebb_run_close(runs[i]);
    return RUNS * STEPS_OF_A_RUN / from * 1000;
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
            start_step(&b, run, path);
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

int main(void)
{
    const char *state = getenv("EBB_STATE");
    char dir[256], journal[300], command[300];
    double fsync_p50, call, step, rate, first, again;
    bench b;

    snprintf(dir, sizeof dir, "%s/durable-XXXXXX",
             state != NULL ? state : "/tmp");
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(journal, sizeof journal, "%s/journal.db", dir);
    b = open_bench(journal);
    fsync_p50 = fsync_ms(&b, dir);
    call = call_ms(&b);
    step = step_ms(&b);
    printf("fsync of 4 KiB           p50 %7.3f ms\n", fsync_p50);
    printf("plain call               p50 %7.3f ms\n", call);
    printf("durable step, 2 commits  p50 %7.3f ms  %.1f fsyncs\n", step,
           step / fsync_p50);
    rate = steps_per_s(&b);
    printf("%d runs at once         %9.0f steps/s  %.1f steps a fsync\n",
           RUNS, rate, rate * fsync_p50 / 1000);
    close_bench(&b);
    first = long_run_ms(journal);
    again = long_run_ms(journal);
    printf("%d steps, %d at once %9.0f steps/s\n", LONG_STEPS, AT_ONCE,
           LONG_STEPS / first * 1000);
    printf("opened and replayed      %11.0f ms  %.0fx as fast, %ld MB\n",
           again, first / again, resident_mb());
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) == 0 ? 0 : 1;
}
