/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/limits.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes counted where no group counts them. */
#define PROCESSES_MAX 2048

typedef struct sum {
    uint64_t ticks, pages;
    pid_t pids[PROCESSES_MAX];
    size_t count;
} sum;

static void add_pids(sum *s, const char *text)
{
    char *end;

    for (;; text = end) {
        long pid = strtol(text, &end, 10);

        if (end == text || s->count == PROCESSES_MAX)
            return;
        s->pids[s->count++] = (pid_t)pid;
    }
}

static int read_of(pid_t pid, const char *file, char *out, size_t n)
{
    char dir[32];

    snprintf(dir, sizeof dir, "/proc/%ld", (long)pid);
    return ebb_cgroup_read_text(dir, file, out, n);
}

/* utime, stime and those of children that were reaped; pages in memory. */
static void add_process(sum *s, pid_t pid)
{
    unsigned long long ticks[4] = { 0 }, pages;
    char text[4096];
    const char *rest;

    if (read_of(pid, "stat", text, sizeof text) > 0 &&
        (rest = strrchr(text, ')')) != NULL &&
        sscanf(rest,
               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu "
               "%llu %llu",
               &ticks[0], &ticks[1], &ticks[2], &ticks[3]) == 4)
        s->ticks += ticks[0] + ticks[1] + ticks[2] + ticks[3];
    if (read_of(pid, "statm", text, sizeof text) > 0 &&
        sscanf(text, "%*u %llu", &pages) == 1)
        s->pages += pages;
}

/* Every thread has children of its own. */
static void add_children(sum *s, pid_t pid)
{
    char path[64], file[320], text[4096];
    const struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        snprintf(file, sizeof file, "task/%s/children", entry->d_name);
        if (isdigit((unsigned char)entry->d_name[0]) &&
            read_of(pid, file, text, sizeof text) > 0)
            add_pids(s, text);
    }
    if (dir != NULL)
        closedir(dir);
}

/* All inside descend from the first process: it adopts the orphans. */
static void add_tree(sum *s, pid_t pid)
{
    s->pids[s->count++] = pid;
    for (size_t i = 0; i < s->count; i++) {
        add_process(s, s->pids[i]);
        add_children(s, s->pids[i]);
    }
}

void ebb_limits_usage_get(const ebb_limits *limits, pid_t pid,
                          ebb_box_usage *usage)
{
    const char *unified = limits->dirs[EBB_CGROUP_UNIFIED];
    const char *memory = limits->dirs[EBB_CGROUP_MEMORY];
    sum s = { .count = 0 };
    uint64_t us = 0;

    usage->memory_bytes = 0;
    if (unified != NULL) {
        us = ebb_cgroup_read(unified, "cpu.stat", "usage_usec");
        usage->memory_bytes = ebb_cgroup_read(unified, "memory.current", "");
    }
    if (usage->memory_bytes == 0 && memory != NULL)
        usage->memory_bytes =
            ebb_cgroup_read(memory, "memory.usage_in_bytes", "");
    if (us == 0 || usage->memory_bytes == 0)
        add_tree(&s, pid);
    usage->cpu_seconds = us > 0 ? (double)us / 1e6
                                : (double)s.ticks /
                                      (double)sysconf(_SC_CLK_TCK);
    if (usage->memory_bytes == 0)
        usage->memory_bytes = s.pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
