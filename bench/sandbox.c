/* SPDX-License-Identifier: MIT */

/*
 * What a sandbox costs, seen from a C host through ebb.h and the local
 * service: medians, each beside fork+exec of `true` in the same run, since
 * machines differ and are noisy.
 *
 *     make bench     (EBB_BENCH_RUNS=50)
 */

#include <ebb.h>

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_MAX      1000
#define MEMBERS_BYTES 256

extern char **environ;

typedef struct bench {
    ebb_runtime *rt;
    char *sandbox; /* the id, or NULL before there is one */
    int runs;
    double true_ms; /* the baseline of this run */
} bench;

/* A task with further members of its input; the result is the caller's. */
static ebb_value *call(bench *b, const char *task, const char *members)
{
    ebb_err err = { 0 };
    ebb_value *input, *out = NULL;
    char *text = b->sandbox == NULL
                     ? ebb_mem_printf("{%s}", members)
                     : ebb_mem_printf("{%s%s\"sandboxId\":\"%s\"}", members,
                                      *members != '\0' ? "," : "", b->sandbox);

    input = ebb_value_parse(text, strlen(text), 0, &err);
    if (input == NULL || ebb_call(b->rt, task, input, &out, &err) < 0) {
        fprintf(stderr, "bench: %s: %s\n", task, err.msg);
        exit(1);
    }
    ebb_value_free(input);
    ebb_free(text);
    return out;
}

/* How long one call takes, in ms. */
static double timed(bench *b, const char *task, const char *members)
{
    double began = ebb_monotonic_ms(b->rt);

    ebb_value_free(call(b, task, members));
    return ebb_monotonic_ms(b->rt) - began;
}

static double spawn_true(bench *b, int run)
{
    static char name[] = "true";
    char *argv[] = { name, NULL };
    double began = ebb_monotonic_ms(b->rt);
    pid_t pid;

    (void)run;
    if (posix_spawnp(&pid, name, NULL, NULL, argv, environ) == 0)
        waitpid(pid, NULL, 0);
    return ebb_monotonic_ms(b->rt) - began;
}

/* A new sandbox each time, to the output of its first command. */
static double create_to_echo(bench *b, int run)
{
    bench other = { .rt = b->rt };
    char members[MEMBERS_BYTES];
    double began = ebb_monotonic_ms(b->rt), ms;
    ebb_value *box;

    snprintf(members, sizeof members, "\"idempotencyKey\":\"bench-%d-%d\"",
             (int)getpid(), run);
    box = call(&other, "e2b.createSandbox", members);
    other.sandbox = ebb_mem_dup(ebb_value_find_string(box, "sandboxId"));
    ebb_value_free(call(&other, "e2b.runCommand", "\"command\":\"echo hi\""));
    ms = ebb_monotonic_ms(b->rt) - began;
    ebb_value_free(call(&other, "e2b.killSandbox", ""));
    ebb_value_free(box);
    ebb_free(other.sandbox);
    return ms;
}

static double exec_true(bench *b, int run)
{
    (void)run;
    return timed(b, "e2b.runCommand", "\"command\":\"true\"");
}

static double write_file(bench *b, int run)
{
    (void)run;
    return timed(b, "e2b.writeFiles",
                 "\"files\":[{\"path\":\"/tmp/b\",\"content\":\"hello\"}]");
}

static double read_file(bench *b, int run)
{
    (void)run;
    return timed(b, "e2b.readFile", "\"path\":\"/tmp/b\"");
}

static double run_code(bench *b, int run)
{
    (void)run;
    return timed(b, "e2b.runCode", "\"code\":\"1+1\"");
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/*
 * One line: the median, the 95th percentile, the ratio to `true`, and what a
 * prototype of the agent alone took, in the same process and without HTTP,
 * on a quiet machine where `true` took 0.86 ms.
 */
static double measure(bench *b, const char *name, double prototype_ms,
                      double (*one)(bench *b, int run))
{
    double ms[RUNS_MAX];

    one(b, -1); /* warm: the connection, the kernel of the first runCode */
    for (int i = 0; i < b->runs; i++)
        ms[i] = one(b, i);
    qsort(ms, (size_t)b->runs, sizeof *ms, by_size);
    if (b->true_ms == 0)
        b->true_ms = ms[b->runs / 2];
    printf("%-28s %9.3f %9.3f %8.2f %10.3f\n", name, ms[b->runs / 2],
           ms[b->runs * 95 / 100], ms[b->runs / 2] / b->true_ms, prototype_ms);
    return ms[b->runs / 2];
}

static void measure_all(bench *b)
{
    char members[MEMBERS_BYTES];
    ebb_value *box;

    printf("%-28s %9s %9s %8s %10s\n", "", "median ms", "p95 ms", "x true",
           "prototype");
    measure(b, "fork+exec of true", 0.86, spawn_true);
    measure(b, "create to first byte", 8.2, create_to_echo);
    snprintf(members, sizeof members, "\"idempotencyKey\":\"bench-%d\"",
             (int)getpid());
    box = call(b, "e2b.createSandbox", members);
    b->sandbox = ebb_mem_dup(ebb_value_find_string(box, "sandboxId"));
    ebb_value_free(box);
    measure(b, "runCommand true", 2.0, exec_true);
    measure(b, "writeFiles, 5 bytes", 0.033, write_file);
    measure(b, "readFile, 5 bytes", 0.024, read_file);
    measure(b, "runCode 1+1, warm", 0.28, run_code);
    ebb_value_free(call(b, "e2b.killSandbox", ""));
    ebb_free(b->sandbox);
}

int main(void)
{
    const char *runs = getenv("EBB_BENCH_RUNS");
    bench b = { .runs = runs != NULL ? atoi(runs) : 50 };
    ebb_config config;
    ebb_err err = { 0 };

    if (b.runs < 1 || b.runs > RUNS_MAX) {
        fprintf(stderr, "bench: EBB_BENCH_RUNS is 1 to %d\n", RUNS_MAX);
        return 2;
    }
    ebb_config_init(&config);
    config.local = true;
    b.rt = ebb_open(&config, &err);
    if (b.rt == NULL) {
        fprintf(stderr, "bench: %s\n", err.msg);
        return 1;
    }
    measure_all(&b);
    ebb_close(b.rt);
    return 0;
}
