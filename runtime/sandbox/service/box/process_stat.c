/* SPDX-License-Identifier: MIT */
#include "sandbox/service/box/process_stat.h"

#include "sandbox/service/box/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 1024

/* Fields of proc(5), counted from 1; 3 follows the name and its bracket. */
#define FIELD_STATE 3
#define FIELD_START 22

int ebb_process_stat_get(pid_t pid, ebb_process_stat *stat)
{
    char path[64], text[TEXT_BYTES];
    const char *at = NULL;
    long parent = 0, session = 0;

    *stat = (ebb_process_stat){ 0 };
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    if (pid > 0 && ebb_cgroup_read_text(path, "stat", text, sizeof text) > 0)
        at = strrchr(text, ')'); /* the name may hold anything */
    if (at != NULL &&
        sscanf(at, ") %c %ld %*d %ld", &stat->state, &parent, &session) != 3)
        at = NULL;
    for (int i = FIELD_STATE - 1; at != NULL && i < FIELD_START; i++)
        at = strchr(at + 1, ' ');
    if (at == NULL) {
        errno = ESRCH;
        return -1;
    }
    stat->parent = (pid_t)parent;
    stat->session = (pid_t)session;
    stat->start = strtoull(at, NULL, 10);
    return 0;
}
