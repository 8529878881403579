/* SPDX-License-Identifier: MIT */
#pragma once

/* What the C drivers of the client bench share: how they are measured. */

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define BENCH_SANDBOX "ibench00000000000000"

typedef struct bench_mark {
    long long wall_us, cpu_us;
    long idle_kb;
} bench_mark;

static inline long bench_kb(const char *name)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[128];
    long kb = 0;

    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            sscanf(line + strlen(name), ": %ld", &kb);
    if (status != NULL)
        fclose(status);
    return kb;
}

static inline bench_mark bench_now(void)
{
    bench_mark mark = { .idle_kb = bench_kb("VmRSS") };
    struct rusage use;
    struct timespec t;

    getrusage(RUSAGE_SELF, &use);
    clock_gettime(CLOCK_MONOTONIC, &t);
    mark.wall_us = t.tv_sec * 1000000LL + t.tv_nsec / 1000;
    mark.cpu_us = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000LL +
                  use.ru_utime.tv_usec + use.ru_stime.tv_usec;
    return mark;
}

/* The one line that every driver ends with. */
static inline void bench_report(const bench_mark *since)
{
    bench_mark now = bench_now();

    printf("wall_us=%lld cpu_us=%lld idle_kb=%ld peak_kb=%ld\n",
           now.wall_us - since->wall_us, now.cpu_us - since->cpu_us,
           since->idle_kb, bench_kb("VmHWM"));
}
