/* SPDX-License-Identifier: MIT */
#include "base/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
#define CRASH_NAME(id, name) [(id)] = (name),
    EBB_CRASH_POINTS(CRASH_NAME)
#undef CRASH_NAME
};

/* Points are passed on the loop's thread and on the journal's. */
static atomic_int passed[EBB_CRASH_POINTS_COUNT];

const char *ebb_crash_point_name(ebb_crash_point point)
{
    return names[point];
}

void ebb_crash_at(ebb_crash_point point)
{
    const char *wanted = getenv("EBB_CRASH");
    size_t n = strlen(names[point]);
    long at = 1;

    if (wanted == NULL || strncmp(wanted, names[point], n) != 0 ||
        (wanted[n] != '\0' && wanted[n] != ':'))
        return;
    if (wanted[n] == ':')
        at = strtol(wanted + n + 1, NULL, 10);
    if (atomic_fetch_add(&passed[point], 1) + 1 == at)
        kill(getpid(), SIGKILL);
}
