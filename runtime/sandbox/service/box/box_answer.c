/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/mem.h"
#include "sandbox/service/box/box_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Not in every linux/magic.h. */
#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202
#endif

static void tell(const ebb_box_request *request, const ebb_err *err)
{
    if (request->type == EBB_AGENT_SPAWN)
        request->fn.spawned(request->context, 0, -1, -1, -1, err);
    else if (request->type == EBB_AGENT_OPEN)
        request->fn.opened(request->context, -1, err);
    else if (!request->stat)
        request->fn.done(request->context, err);
    else if (!request->answered) /* else the entry was the answer */
        request->fn.stat(request->context, NULL, err);
}

void ebb_box_request_finish(ebb_box_request *request, const ebb_err *err)
{
    if (request->stdin_fd >= 0)
        close(request->stdin_fd);
    tell(request, err);
    ebb_mem_free(request->path);
    ebb_mem_free(request);
}

/* What a caller would do about an errno from inside. */
static ebb_code code_of(uint32_t type, int error)
{
    switch (error) {
    case ENOENT:
        return type == EBB_AGENT_SPAWN ? EBB_INVALID_INPUT
                                       : EBB_FILE_NOT_FOUND;
    case ENOTDIR: case EISDIR: case ELOOP: case ENAMETOOLONG: case EINVAL:
    case ENOTEMPTY: case ENXIO: case EXDEV: case EBUSY: case ETXTBSY:
        return EBB_INVALID_INPUT;
    case EACCES: case EPERM:
        return type == EBB_AGENT_SPAWN ? EBB_INVALID_INPUT : EBB_SERVER;
    case EEXIST:
        return EBB_CONFLICT;
    case ESRCH:
        return EBB_NOT_FOUND;
    case E2BIG: case EAGAIN: case EMFILE: case ENFILE:
        return EBB_LIMIT_EXCEEDED;
    case EOPNOTSUPP:
        return EBB_UNSUPPORTED;
    case ENOMEM:
        return EBB_NO_MEMORY;
    default:
        return EBB_SERVER;
    }
}

static void fail(ebb_box_request *request, int error)
{
    ebb_err err;
    ebb_code code = code_of(request->type, error);

    if (error == ESRCH)
        ebb_err_set_status(&err, code, error, "the process has ended");
    else if (request->type == EBB_AGENT_LIST && error == E2BIG)
        ebb_err_set_status(&err, code, error, "%s %s: too many entries",
                           request->name, request->path);
    else
        ebb_err_set_status(&err, code, error, "%s%s%s: %s", request->name,
                           request->path != NULL ? " " : "",
                           request->path != NULL ? request->path : "",
                           strerror(error));
    ebb_box_request_finish(request, &err);
}

/* A last answer that this request cannot have; still it gets one. */
static int violate(ebb_box_request *request)
{
    ebb_err err;

    ebb_err_set(&err, EBB_SANDBOX_NOT_RUNNING,
                "%s: the sandbox broke and ends", request->name);
    ebb_box_request_finish(request, &err);
    return -1;
}

int ebb_box_answer_done(ebb_box_request *request, int error)
{
    bool needs_more = request->type == EBB_AGENT_SPAWN ||
                      request->type == EBB_AGENT_OPEN ||
                      (request->stat && !request->answered);

    if (error < 0 || error > 4095 || (error == 0 && needs_more))
        return violate(request);
    if (error != 0)
        fail(request, error);
    else
        ebb_box_request_finish(request, NULL);
    return 0;
}

/*
 * The agent can change the flags of what it passed at any time, O_NONBLOCK
 * above all: so a description of our own is opened from it.
 */
static int reopen_pipe(int fd)
{
    char self[64];
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
        return -1;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

int ebb_box_answer_started(ebb_box_request *request, uint32_t pid,
                           const int fds[2])
{
    int stdout_fd = -1, stderr_fd = -1;

    if (request->type == EBB_AGENT_SPAWN && pid > 1) {
        stdout_fd = reopen_pipe(fds[0]);
        stderr_fd = reopen_pipe(fds[1]);
    }
    if (stdout_fd < 0 || stderr_fd < 0) {
        if (stdout_fd >= 0)
            close(stdout_fd);
        if (stderr_fd >= 0)
            close(stderr_fd);
        return violate(request);
    }
    request->fn.spawned(request->context, pid, request->stdin_fd, stdout_fd,
                        stderr_fd, NULL);
    ebb_mem_free(request);
    return 0;
}

/* File systems whose files are not data: to read or write them acts. */
static bool is_magic(int fd)
{
    static const unsigned long kinds[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC,
        CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
        SECURITYFS_MAGIC, SELINUX_MAGIC, SMACK_MAGIC, BPF_FS_MAGIC,
        DEVPTS_SUPER_MAGIC, PIPEFS_MAGIC, SOCKFS_MAGIC, NSFS_MAGIC,
        ANON_INODE_FS_MAGIC, EFIVARFS_MAGIC, PSTOREFS_MAGIC, MQUEUE_MAGIC,
        BINFMTFS_MAGIC, BINDERFS_SUPER_MAGIC, HUGETLBFS_MAGIC,
    };
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned long)fs.f_type == kinds[i])
            return true;
    return false;
}

static int refuse(ebb_box_request *request, int fd, ebb_code code, int error,
                  const char *why)
{
    ebb_err err;

    close(fd);
    ebb_err_set_status(&err, code, error, "%s %s: %s", request->name,
                       request->path, why);
    ebb_box_request_finish(request, &err);
    return 0;
}

int ebb_box_answer_file(ebb_box_request *request, int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    int wanted = request->writes ? O_WRONLY : O_RDONLY;

    if (request->type != EBB_AGENT_OPEN) {
        close(fd);
        return violate(request);
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (flags & O_PATH) ||
        (flags & O_ACCMODE) != wanted)
        return refuse(request, fd, EBB_INVALID_INPUT, EINVAL,
                      "not a regular file");
    if (is_magic(fd))
        return refuse(request, fd, EBB_UNSUPPORTED, EOPNOTSUPP,
                      "a file of the kernel's (such as /proc) cannot be "
                      "read or written this way; use a command");
    request->fn.opened(request->context, fd, NULL);
    ebb_mem_free(request->path);
    ebb_mem_free(request);
    return 0;
}

/* The next of an entry's strings, or NULL if it has no end before `end`. */
static const char *next(const char **at, const char *end)
{
    const char *text = *at;
    const char *nul = memchr(text, '\0', (size_t)(end - text));

    if (nul == NULL)
        return NULL;
    *at = nul + 1;
    return text;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Whether it is pairs of strings, the last with its end. */
static bool is_pairs(const char *text, const char *end)
{
    size_t count = 0;

    if (text < end && end[-1] != '\0')
        return false;
    for (; text < end; text++)
        count += *text == '\0';
    return count % 2 == 0;
}

/* Parses one entry; the bytes it took, or 0. */
static size_t parse(const char *text, size_t n, ebb_box_entry *out,
                    char metadata[EBB_AGENT_METADATA_BYTES_MAX + 1])
{
    ebb_agent_entry entry;
    const char *at = text + sizeof entry, *end;

    if (n < sizeof entry)
        return 0;
    memcpy(&entry, text, sizeof entry);
    if (entry.text_bytes > n - sizeof entry)
        return 0;
    end = at + entry.text_bytes;
    *out = (ebb_box_entry){ .mode = entry.mode,
                            .target_mode = entry.target_mode,
                            .size = entry.size,
                            .mtime_s = entry.mtime_s,
                            .mtime_ns = entry.mtime_ns };
    if ((out->path = next(&at, end)) == NULL || out->path[0] != '/' ||
        (out->target = next(&at, end)) == NULL ||
        (out->owner = next(&at, end)) == NULL ||
        (out->group = next(&at, end)) == NULL || !is_pairs(at, end) ||
        (size_t)(end - at) > EBB_AGENT_METADATA_BYTES_MAX)
        return 0;
    /* A second NUL says where the pairs end. */
    memcpy(metadata, at, (size_t)(end - at));
    metadata[end - at] = '\0';
    out->metadata = metadata;
    out->name = name_of(out->path);
    return sizeof entry + entry.text_bytes;
}

int ebb_box_answer_entries(ebb_box_request *request,
                           const ebb_agent_head *head, const char *text)
{
    char metadata[EBB_AGENT_METADATA_BYTES_MAX + 1];
    size_t at = 0, taken;

    if (request->type != EBB_AGENT_LIST ||
        head->count > request->entries_left)
        return -1;
    for (uint32_t i = 0; i < head->count; i++) {
        ebb_box_entry entry;

        taken = parse(text + at, head->bytes - at, &entry, metadata);
        if (taken == 0)
            return -1;
        at += taken;
        request->entries_left--;
        if (request->stat) {
            request->answered = true;
            request->fn.stat(request->context, &entry, NULL);
        } else {
            request->on_entry(request->context, &entry);
        }
    }
    return at == head->bytes ? 0 : -1;
}
