/* SPDX-License-Identifier: MIT */
#include "journal/owner.h"

#include "base/buf.h"
#include "base/fs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES_MAX 4096
#define START_FIELD    22 /* of proc(5), /proc/PID/stat; 3 is the state */

/*
 * State and start time of a process; -1 if there is none, or none to be seen.
 * The name before may hold spaces and parentheses, so fields are counted from
 * the last ')'.
 */
static int read_stat(int64_t pid, char *state, int64_t *start)
{
    ebb_buf text;
    ebb_err err;
    char path[64];
    const char *at;
    int result = -1;

    ebb_buf_init(&text, STAT_BYTES_MAX);
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    if (ebb_fs_read(path, STAT_BYTES_MAX, &text, &err) != 0 ||
        text.bytes == NULL || (at = strrchr(text.bytes, ')')) == NULL)
        goto done;
    *state = at[1] == ' ' ? at[2] : '?';
    for (int field = 2; at != NULL && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        goto done;
    *start = strtoll(at, NULL, 10);
    result = 0;
done:
    ebb_buf_clear(&text);
    return result;
}

int ebb_owner_init(ebb_owner *owner, ebb_err *err)
{
    ebb_buf boot;
    char state;
    int result = -1;

    *owner = (ebb_owner){ .pid = getpid() };
    ebb_buf_init(&boot, sizeof owner->boot - 1);
    if (ebb_fs_read("/proc/sys/kernel/random/boot_id", sizeof owner->boot - 1,
                    &boot, err) != 0)
        ebb_err_wrap(err, "journal: this process has no name");
    else if (read_stat(owner->pid, &state, &owner->start) != 0)
        ebb_err_set(err, EBB_JOURNAL,
                    "journal: /proc does not show this process; mount it");
    else
        result = 0;
    if (result == 0)
        snprintf(owner->boot, sizeof owner->boot, "%.*s",
                 (int)strcspn(boot.bytes, "\n"), boot.bytes);
    ebb_buf_clear(&boot);
    return result;
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
