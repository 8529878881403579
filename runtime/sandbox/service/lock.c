/* SPDX-License-Identifier: MIT */
#include "sandbox/service/lock.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define PID_TEXT_BYTES 24

static int refuse(int fd, const char *dir, ebb_err *err)
{
    char text[PID_TEXT_BYTES];
    ssize_t n;

    if (errno != EWOULDBLOCK)
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "lock %s", dir);
    n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return ebb_err_set(err, EBB_CONFLICT,
                       "another service (pid %ld) uses the state directory "
                       "%s; stop it or give another one with --state",
                       strtol(text, NULL, 10), dir);
}

static int write_pid(int fd, ebb_err *err)
{
    char text[PID_TEXT_BYTES];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "write the lock file");
    return 0;
}

int ebb_lock_open(const char *dir, ebb_err *err)
{
    char *path = ebb_fs_join(dir, "sandboxd.lock");
    int fd;

    if (path == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "lock file");
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    ebb_mem_free(path);
    if (fd < 0)
        return ebb_err_set_errno(err, EBB_NO_SERVICE,
                                 "open the lock file in %s", dir);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        refuse(fd, dir, err);
    else if (write_pid(fd, err) == 0)
        return fd;
    close(fd);
    return -1;
}

void ebb_lock_close(int fd)
{
    if (fd >= 0)
        close(fd);
}
