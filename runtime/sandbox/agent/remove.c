/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Entries may appear while we remove: how often a directory is read again. */
#define ROUNDS_MAX 8

static int remove_at(int dir_fd, const char *name, unsigned depth);

/* Removes what is in the directory; takes fd. */
static int empty(int fd, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    int error = 0;

    if (dir == NULL) {
        error = errno;
        close(fd);
        return error;
    }
    while (error == 0 && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            error = remove_at(dirfd(dir), entry->d_name, depth + 1);
    closedir(dir);
    return error;
}

/* Never follows a link: what O_NOFOLLOW refuses is unlinked. */
static int remove_at(int dir_fd, const char *name, unsigned depth)
{
    for (int i = 0; i < ROUNDS_MAX; i++) {
        int fd, error;

        if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
            return 0;
        if (errno != EISDIR)
            return errno;
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST)
            return errno;
        if (depth == EBB_AGENT_DEPTH_MAX)
            return ELOOP;
        fd = openat(dir_fd, name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return errno;
        error = empty(fd, depth);
        if (error != 0)
            return error;
    }
    return ENOTEMPTY;
}

int ebb_agent_remove(ebb_agent *agent, const ebb_agent_request *request)
{
    int error;

    (void)agent;
    if (request->head.bytes == 0 || *request->text != '/')
        return EINVAL;
    error = remove_at(AT_FDCWD, request->text, 0);
    return error == ENOTDIR ? 0 : error;
}
