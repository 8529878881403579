/* SPDX-License-Identifier: MIT */
#include "journal/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES_MAX 1024
#define START_FIELD    22 /* of proc(5), /proc/PID/stat; 3 is the state */

/* A short file of the kernel's as text, without memory of its own. */
static int read_text(const char *path, char *out, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, bytes - 1) : -1;

    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : -1;
}

/*
 * State and start time of a process; -1 if there is none, or none to be seen.
 * The name before may hold spaces and parentheses, so fields are counted from
 * the last ')'.
 */
static int read_stat(int64_t pid, char *state, int64_t *start)
{
    char path[64], text[STAT_BYTES_MAX];
    const char *at;

    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    if (read_text(path, text, sizeof text) != 0 ||
        (at = strrchr(text, ')')) == NULL)
        return -1;
    *state = at[1] == ' ' ? at[2] : '?';
    for (int field = 2; at != NULL && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return -1;
    *start = strtoll(at, NULL, 10);
    return 0;
}

int ebb_owner_init(ebb_owner *owner, ebb_err *err)
{
    char state;

    *owner = (ebb_owner){ .pid = getpid() };
    if (read_text("/proc/sys/kernel/random/boot_id", owner->boot,
                  sizeof owner->boot) != 0 ||
        read_stat(owner->pid, &state, &owner->start) != 0)
        return ebb_err_set(err, EBB_JOURNAL,
                           "journal: /proc does not show this process; mount "
                           "it");
    owner->boot[strcspn(owner->boot, "\n")] = '\0';
    return 0;
}

bool ebb_owner_alive(const ebb_owner *owner, const ebb_owner *self)
{
    int64_t start;
    char state;

    if (owner->pid <= 0 || strcmp(owner->boot, self->boot) != 0)
        return false;
    if (read_stat(owner->pid, &state, &start) == 0)
        return start == owner->start && state != 'Z' && state != 'X';
    /* /proc may hide other users' processes (hidepid): better alive. */
    return kill((pid_t)owner->pid, 0) == 0 || errno == EPERM;
}
