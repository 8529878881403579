/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem, pidfd_open by syscall(2) */
#include "sandbox/service/box/box_parts.h"

#include "base/mem.h"
#include "sandbox/service/box/process_stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RECORD_BYTES    64
#define ARGUMENTS_BYTES 16384
#define STOP_WAIT_MS    200
#define KILL_WAIT_MS    2000

static char *record_path(const char *dir)
{
    return ebb_mem_printf("%s/" EBB_BOX_LEFT_NAME, dir);
}

int ebb_box_left_write(const char *dir, pid_t pid, ebb_err *err)
{
    char text[RECORD_BYTES], *path = record_path(dir);
    ebb_process_stat stat;
    ssize_t wrote = -1;
    int fd = -1, n;

    if (path == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "record a process");
    if (ebb_process_stat_get(pid, &stat) == 0)
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                  0600);
    ebb_mem_free(path);
    n = snprintf(text, sizeof text, "%ld %" PRIu64 "\n", (long)pid, stat.start);
    if (fd >= 0)
        wrote = write(fd, text, (size_t)n);
    if (fd >= 0)
        close(fd);
    if (wrote == n)
        return 0;
    return ebb_err_set_errno(err, EBB_SERVER, "record a process in %s", dir);
}

/* ---- what a killed service left ---- */

static int read_record(const char *dir, pid_t *pid, uint64_t *start)
{
    char text[RECORD_BYTES], *path = record_path(dir);
    long number = 0;
    ssize_t n = -1;
    int fd = -1;

    if (path != NULL)
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ebb_mem_free(path);
    if (fd >= 0) {
        n = read(fd, text, sizeof text - 1);
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%ld %" SCNu64, &number, start) != 2 || number <= 1)
        return -1;
    *pid = (pid_t)number;
    return 0;
}

static int pin(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void signal_to(int pidfd, int signum)
{
    (void)syscall(SYS_pidfd_send_signal, pidfd, signum, NULL, 0);
}

static void wait_gone(int pidfd)
{
    struct pollfd gone = { .fd = pidfd, .events = POLLIN };

    poll(&gone, 1, KILL_WAIT_MS);
}

/* A stopped process starts no other one. */
static void stop(int pidfd, pid_t pid)
{
    ebb_process_stat stat;

    signal_to(pidfd, SIGSTOP);
    for (int i = 0; i < STOP_WAIT_MS; i++) {
        if (ebb_process_stat_get(pid, &stat) != 0 || stat.state == 'T' ||
            stat.state == 'Z')
            return;
        poll(NULL, 0, 1);
    }
}

/* Whether a process is still bubblewrap, with this box in its arguments. */
static bool is_bubblewrap_of(pid_t pid, const char *dir)
{
    char path[64], text[ARGUMENTS_BYTES], home[NAME_MAX + 16];
    ssize_t n = -1;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
    snprintf(home, sizeof home, "%s/home", strrchr(dir, '/'));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof text);
        close(fd);
    }
    return n > 0 && memmem(text, (size_t)n, home, strlen(home) + 1) != NULL;
}

/*
 * Its child; or what was its child, and waits for ever for a word of it: it
 * dies of a broken pipe if the service was killed just before it could say
 * its child's pid. The session it began keeps its number.
 */
static bool is_left(pid_t pid, pid_t outer, const char *dir)
{
    ebb_process_stat stat;

    if (pid <= 1 || pid == outer || ebb_process_stat_get(pid, &stat) != 0)
        return false;
    return stat.parent == outer ||
           (stat.session == outer && is_bubblewrap_of(pid, dir));
}

/* A number may be another's until it is held: it is asked again then. */
static int pin_left(pid_t pid, pid_t outer, const char *dir)
{
    int fd = is_left(pid, outer, dir) ? pin(pid) : -1;

    if (fd < 0 || is_left(pid, outer, dir))
        return fd;
    close(fd);
    return -1;
}

/* Kills what is left of one that bubblewrap's process began. */
static void kill_inner(pid_t outer, const char *dir)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        int fd = pin_left((pid_t)strtol(entry->d_name, NULL, 10), outer, dir);

        if (fd < 0)
            continue;
        signal_to(fd, SIGKILL);
        wait_gone(fd);
        close(fd);
    }
    if (proc != NULL)
        closedir(proc);
}

void ebb_box_left_kill(const char *dir)
{
    ebb_process_stat stat;
    uint64_t start;
    pid_t pid;
    int fd;

    if (read_record(dir, &pid, &start) != 0)
        return;
    fd = pin(pid);
    if (ebb_process_stat_get(pid, &stat) == 0 && stat.start != start) {
        if (fd >= 0)
            close(fd);
        return; /* the number is another's, and with it the session */
    }
    if (fd >= 0)
        stop(fd, pid);
    kill_inner(pid, dir);
    if (fd < 0)
        return;
    signal_to(fd, SIGKILL);
    wait_gone(fd);
    close(fd);
}
