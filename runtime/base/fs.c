/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_PATH, mkostemp */
#include "base/fs.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536

/* What a caller would do about errno. */
static ebb_code code_of(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return EBB_FILE_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return EBB_FORBIDDEN;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
        return EBB_LIMIT_EXCEEDED;
    case ENOMEM:
        return EBB_NO_MEMORY;
    default:
        return EBB_SERVER;
    }
}

static int fail(ebb_err *err, const char *what, const char *path)
{
    return ebb_err_set_errno(err, code_of(errno), "cannot %s %s", what, path);
}

static int no_memory(ebb_err *err, const char *path)
{
    return ebb_err_set(err, EBB_NO_MEMORY, "no memory for %s", path);
}

/* Reads to the end; one byte over the maximum is enough to know. */
static int read_all(int fd, const char *path, size_t bytes_max, ebb_buf *out,
                    ebb_err *err)
{
    char chunk[READ_BYTES];
    size_t total = 0;

    for (;;) {
        size_t left = bytes_max - total;
        ssize_t got =
            read(fd, chunk, left < sizeof chunk ? left + 1 : sizeof chunk);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(err, "read", path);
        if (got == 0)
            return 0;
        if ((size_t)got > left)
            return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                               "%s is longer than %zu bytes", path, bytes_max);
        if (ebb_buf_add(out, chunk, (size_t)got) < 0)
            return ebb_buf_check(out, path, err);
        total += (size_t)got;
    }
}

int ebb_fs_read(const char *path, size_t bytes_max, ebb_buf *out, ebb_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), result;

    if (fd < 0)
        return fail(err, "open", path);
    result = read_all(fd, path, bytes_max, out, err);
    close(fd);
    return result;
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write(fd, bytes, n);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -1;
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

/* Makes a rename in the directory of path last. */
static int sync_parent(const char *path, ebb_err *err)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *parent = n > 0 ? ebb_mem_dup_n(path, n) : ebb_mem_dup(".");
    int fd, result = 0;

    if (parent == NULL)
        return no_memory(err, path);
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        result = fail(err, "sync", parent);
    if (fd >= 0)
        close(fd);
    ebb_mem_free(parent);
    return result;
}

typedef struct replacement {
    const char *path;
    const void *bytes;
    size_t n;
    mode_t mode;
    bool synced;
} replacement;

/* A new file beside the old one, whole, and on the disk if it shall be. */
static int write_aside(const replacement *r, char *aside, ebb_err *err)
{
    int fd = mkostemp(aside, O_CLOEXEC), result = 0;

    if (fd < 0)
        return fail(err, "create", aside);
    if (fchmod(fd, r->mode) < 0 || write_all(fd, r->bytes, r->n) < 0 ||
        (r->synced && fsync(fd) < 0))
        result = fail(err, "write", aside);
    if (close(fd) < 0 && result == 0)
        result = fail(err, "close", aside);
    if (result < 0)
        unlink(aside);
    return result;
}

static int replace(const replacement *r, ebb_err *err)
{
    char *aside = ebb_mem_printf("%s.XXXXXX", r->path);
    int result = -1;

    if (aside == NULL)
        return no_memory(err, r->path);
    if (write_aside(r, aside, err) < 0)
        goto done;
    if (rename(aside, r->path) < 0) {
        fail(err, "replace", r->path);
        unlink(aside);
        goto done;
    }
    result = r->synced ? sync_parent(r->path, err) : 0;
done:
    ebb_mem_free(aside);
    return result;
}

int ebb_fs_replace(const char *path, const void *bytes, size_t n, mode_t mode,
                   ebb_err *err)
{
    const replacement r = { path, bytes, n, mode, true };

    return replace(&r, err);
}

int ebb_fs_replace_unsynced(const char *path, const void *bytes, size_t n,
                            mode_t mode, ebb_err *err)
{
    const replacement r = { path, bytes, n, mode, false };

    return replace(&r, err);
}

static int make_dir(const char *path, mode_t mode, ebb_err *err)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return 0;
    if (errno == EEXIST && stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return 0;
        errno = ENOTDIR;
    }
    return fail(err, "make directory", path);
}

int ebb_fs_make_dirs(const char *path, mode_t mode, ebb_err *err)
{
    char *part = ebb_mem_dup(path);
    int result = 0;

    if (part == NULL)
        return no_memory(err, path);
    for (char *p = part + 1; *part != '\0' && *p != '\0' && result == 0; p++)
        if (*p == '/' && p[-1] != '/') {
            *p = '\0';
            result = make_dir(part, mode, err);
            *p = '/';
        }
    if (result == 0)
        result = make_dir(path, mode, err);
    ebb_mem_free(part);
    return result;
}

int ebb_fs_check_own_dir(const char *path, ebb_err *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return fail(err, "look at", path);
    if (!S_ISDIR(st.st_mode))
        return ebb_err_set(err, EBB_FORBIDDEN, "%s is not a directory", path);
    if (st.st_uid != geteuid())
        return ebb_err_set(err, EBB_FORBIDDEN,
                           "%s belongs to uid %lu, not to you", path,
                           (unsigned long)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return ebb_err_set(err, EBB_FORBIDDEN,
                           "others may write to %s; run: chmod go-w %s", path,
                           path);
    return 0;
}

char *ebb_fs_join(const char *a, const char *b)
{
    size_t n = strlen(a);

    while (n > 0 && a[n - 1] == '/')
        n--;
    while (*b == '/')
        b++;
    return ebb_mem_printf("%.*s/%s", (int)n, a, b);
}
