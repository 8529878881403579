/* SPDX-License-Identifier: MIT */
#pragma once

/* What the kernel says about this process. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of /proc/self/status by its name, such as "VmRSS:" or "Threads:". */
static inline long self_status(const char *name)
{
    char line[128];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name), NULL, 10);
    if (file != NULL)
        fclose(file);
    return value;
}
