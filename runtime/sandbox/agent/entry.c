/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define VALUE_BYTES_MAX 4096

/*
 * The names of the passwd that the service puts into every sandbox; libc's
 * look-up would load modules, which a static program cannot.
 */
static void add_owner(ebb_buf *out, unsigned id, const char *nobody)
{
    if (id == 1000)
        ebb_buf_add_text(out, "user");
    else if (id == 0)
        ebb_buf_add_text(out, "root");
    else if (id == 65534)
        ebb_buf_add_text(out, nobody);
    else
        ebb_buf_printf(out, "%u", id);
    ebb_buf_add_byte(out, '\0');
}

/* Where a link leads; its own path if it leads nowhere. */
static void add_target(ebb_buf *out, int dir_fd, const char *name,
                       const char *path, uint32_t *mode)
{
    char self[64], target[PATH_MAX];
    struct stat st;
    ssize_t n = -1;
    int fd = openat(dir_fd, name, O_PATH | O_CLOEXEC);

    *mode = 0;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        *mode = st.st_mode;
        snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        n = readlink(self, target, sizeof target);
    }
    if (n > 0)
        ebb_buf_add(out, target, (size_t)n);
    else
        ebb_buf_add_text(out, path);
    ebb_buf_add_byte(out, '\0');
    if (fd >= 0)
        close(fd);
}

static void add_pair(ebb_buf *out, size_t end, const char *path,
                     const char *name)
{
    char value[VALUE_BYTES_MAX];
    ssize_t n = getxattr(path, name, value, sizeof value);
    const char *key = name + strlen(EBB_AGENT_METADATA_PREFIX);

    if (n < 0 || memchr(value, '\0', (size_t)n) != NULL ||
        out->n + strlen(key) + (size_t)n + 2 > end)
        return;
    ebb_buf_add(out, key, strlen(key) + 1);
    ebb_buf_add(out, value, (size_t)n);
    ebb_buf_add_byte(out, '\0');
}

/* The path may be longer than the kernel takes, so go through the directory. */
static void add_metadata(ebb_buf *out, int dir_fd, const char *name)
{
    static char names[XATTR_LIST_MAX];
    char path[PATH_MAX + 64];
    size_t end = out->n + EBB_AGENT_METADATA_BYTES_MAX;
    ssize_t n;

    if (dir_fd == AT_FDCWD)
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dir_fd, name);
    n = listxattr(path, names, sizeof names);
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1)
        if (strncmp(names + at, EBB_AGENT_METADATA_PREFIX,
                    strlen(EBB_AGENT_METADATA_PREFIX)) == 0)
            add_pair(out, end, path, names + at);
}

int ebb_agent_entry_write(ebb_buf *out, int dir_fd, const char *name,
                          const char *path, uint32_t *mode)
{
    ebb_agent_entry entry = { .size = 0 };
    struct stat st;
    size_t start = out->n;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno;
    entry.size = st.st_size;
    entry.mtime_s = st.st_mtim.tv_sec;
    entry.mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
    entry.mode = entry.target_mode = st.st_mode;
    ebb_buf_add(out, &entry, sizeof entry);
    ebb_buf_add(out, path, strlen(path) + 1);
    if (S_ISLNK(st.st_mode))
        add_target(out, dir_fd, name, path, &entry.target_mode);
    else
        ebb_buf_add_byte(out, '\0');
    add_owner(out, st.st_uid, "nobody");
    add_owner(out, st.st_gid, "nogroup");
    if (S_ISREG(entry.target_mode) || S_ISDIR(entry.target_mode))
        add_metadata(out, dir_fd, name);
    if (out->failed)
        return ENOMEM;
    entry.text_bytes = (uint32_t)(out->n - start - sizeof entry);
    memcpy(out->bytes + start, &entry, sizeof entry);
    *mode = st.st_mode;
    return 0;
}
