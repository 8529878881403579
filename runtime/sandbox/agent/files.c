/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The string after one of the request's, which the head has counted. */
static const char *next(const char *text)
{
    return text + strlen(text) + 1;
}

/* 0, or an errno if the request does not hold count paths. */
static int check_paths(const ebb_agent_request *request, unsigned count)
{
    const char *path = request->text;
    const char *end = path + request->head.bytes;

    for (unsigned i = 0; i < count; i++) {
        if (path >= end || *path != '/')
            return EINVAL;
        path = next(path);
    }
    return 0;
}

/* Makes the directories above the last part of path. */
static int make_parents(const char *path)
{
    char part[EBB_AGENT_PATH_BYTES_MAX];
    size_t n = strlen(path);
    struct stat st;

    if (n >= sizeof part)
        return ENAMETOOLONG;
    memcpy(part, path, n + 1);
    for (size_t i = 1; i < n; i++) {
        int error;

        if (part[i] != '/')
            continue;
        part[i] = '\0';
        error = mkdir(part, 0755) < 0 ? errno : 0;
        /* EROFS and EACCES come before EEXIST. */
        if (error != 0 && stat(part, &st) < 0)
            return error;
        part[i] = '/';
    }
    return 0;
}

static int make_dir(const char *path)
{
    struct stat st;
    int error = mkdir(path, 0755) < 0 ? errno : 0;

    if (error == ENOENT && (error = make_parents(path)) == 0)
        error = mkdir(path, 0755) < 0 ? errno : 0;
    if (error == EEXIST && stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        error = ENOTDIR;
    return error;
}

void ebb_agent_make_dir(ebb_agent *agent, const ebb_agent_request *request)
{
    int error = check_paths(request, 1);

    if (error == 0)
        error = make_dir(request->text);
    ebb_agent_send_done(agent, request->head.id, error);
}

static int move(const char *from, const char *to)
{
    struct stat st;
    int error;

    if (rename(from, to) == 0)
        return 0;
    error = errno;
    if (error != ENOENT || lstat(from, &st) < 0)
        return error;
    error = make_parents(to);
    if (error == 0 && rename(from, to) < 0)
        error = errno;
    return error;
}

int ebb_agent_move(ebb_agent *agent, const ebb_agent_request *request)
{
    int error = check_paths(request, 2);

    (void)agent;
    return error != 0 ? error : move(request->text, next(request->text));
}

/* Between file systems mv copies and removes; it says more than we need. */
int ebb_agent_move_across(ebb_agent *agent, const ebb_agent_request *request)
{
    const char *from = request->text;
    int status;
    pid_t pid = fork();

    (void)agent;
    if (pid == 0) {
        execl("/usr/bin/mv", "mv", "-fT", "--", from, next(from), NULL);
        _exit(1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return errno;
    return status == 0 ? 0 : EXDEV;
}

/*
 * Neither a fifo nor a device blocks or is touched: O_PATH opens nothing, and
 * what it found is reopened only if it is a regular file.
 */
static int open_regular(const char *path, int flags)
{
    char self[64];
    struct stat st;
    int fd, seen = open(path, O_PATH | O_CLOEXEC);

    if (seen < 0)
        return -1;
    if (fstat(seen, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(seen);
        errno = S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
        return -1;
    }
    /* The link leads to what was found, whatever the path leads to now. */
    snprintf(self, sizeof self, "/proc/self/fd/%d", seen);
    fd = open(self, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    close(seen);
    return fd;
}

/*
 * Something else may appear between the two opens: O_NONBLOCK waits for no
 * fifo, and the service looks at the kind again.
 */
static int open_for_writing(const char *path)
{
    int fd = open_regular(path, O_WRONLY | O_TRUNC);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                0666);
}

void ebb_agent_open(ebb_agent *agent, const ebb_agent_request *request)
{
    ebb_agent_head head = { .type = EBB_AGENT_FILE, .id = request->head.id };
    bool writes = request->head.flags & EBB_AGENT_WRITE;
    int fd = -1, error = check_paths(request, 1);

    if (error == 0 && !writes)
        fd = open_regular(request->text, O_RDONLY);
    if (error == 0 && writes) {
        fd = open_for_writing(request->text);
        if (fd < 0 && errno == ENOENT && make_parents(request->text) == 0)
            fd = open_for_writing(request->text);
    }
    if (fd < 0) {
        error = error != 0 ? error : errno;
        ebb_agent_send_done(agent, request->head.id, error);
        return;
    }
    ebb_agent_send(agent, &head, NULL, &fd, 1);
    close(fd);
}

static int clear_metadata(const char *path)
{
    static char names[XATTR_LIST_MAX];
    ssize_t n = listxattr(path, names, sizeof names);

    if (n < 0)
        return errno;
    for (const char *name = names; name < names + n; name = next(name))
        if (strncmp(name, EBB_AGENT_METADATA_PREFIX,
                    strlen(EBB_AGENT_METADATA_PREFIX)) == 0 &&
            removexattr(path, name) < 0)
            return errno;
    return 0;
}

static int set_metadata(const ebb_agent_request *request)
{
    const char *path = request->text, *end = path + request->head.bytes;
    int error = clear_metadata(path);

    for (const char *key = next(path); error == 0 && key < end;) {
        char name[sizeof EBB_AGENT_METADATA_PREFIX + 256];
        const char *value = next(key);

        if (value >= end || strlen(key) > 255)
            return EINVAL;
        snprintf(name, sizeof name, EBB_AGENT_METADATA_PREFIX "%s", key);
        if (setxattr(path, name, value, strlen(value), 0) < 0)
            error = errno;
        key = next(value);
    }
    return error;
}

void ebb_agent_set_metadata(ebb_agent *agent,
                            const ebb_agent_request *request)
{
    int error = check_paths(request, 1);

    if (error == 0)
        error = set_metadata(request);
    /* A file system without attributes has none to clear. */
    if (error == EOPNOTSUPP && request->head.count == 1)
        error = 0;
    ebb_agent_send_done(agent, request->head.id, error);
}
