/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/agent/agent.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One LIST: the entries gathered for the next message, and the path so far. */
typedef struct listing {
    ebb_agent *agent;
    uint32_t id;
    unsigned depth; /* how deep to go */
    size_t left;    /* entries that may still be sent */
    ebb_buf entries;
    uint32_t count; /* in entries */
    ebb_buf path;
} listing;

/* The names of one directory, in one block. */
typedef struct names {
    ebb_buf text;
    const char **list; /* sorted, pointing into text */
    size_t count;
} names;

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void send_entries(listing *l)
{
    ebb_agent_head head = { .type = EBB_AGENT_ENTRIES,
                            .id = l->id,
                            .count = l->count,
                            .bytes = (uint32_t)l->entries.n };

    if (l->count > 0)
        ebb_agent_send(l->agent, &head, l->entries.bytes, NULL, 0);
    ebb_buf_reset(&l->entries);
    l->count = 0;
}

/* Adds the entry of name, whose path is l->path; what has gone is skipped. */
static int add_entry(listing *l, int dir_fd, const char *name, uint32_t *mode)
{
    ebb_buf one;
    int error;

    ebb_buf_init(&one, EBB_AGENT_TEXT_BYTES_MAX);
    error = ebb_agent_entry_write(&one, dir_fd, name, l->path.bytes, mode);
    if (error == 0 && l->left == 0)
        error = E2BIG;
    if (error == 0 && l->entries.n + one.n > EBB_AGENT_TEXT_BYTES_MAX)
        send_entries(l);
    if (error == 0 && ebb_buf_add(&l->entries, one.bytes, one.n) < 0)
        error = ENOMEM;
    if (error == 0) {
        l->count++;
        l->left--;
    }
    ebb_buf_clear(&one);
    return error;
}

static void clear_names(names *n)
{
    ebb_buf_clear(&n->text);
    ebb_mem_free(n->list);
}

/* Reads all names; takes none more than may be sent. */
static int read_names(names *n, DIR *dir, size_t count_max)
{
    const struct dirent *entry;
    size_t at = 0;

    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        if (n->count++ == count_max)
            return E2BIG;
        if (ebb_buf_add(&n->text, entry->d_name,
                        strlen(entry->d_name) + 1) < 0)
            return ENOMEM;
    }
    n->list = ebb_mem_alloc((n->count + 1) * sizeof *n->list);
    if (n->list == NULL)
        return ENOMEM;
    for (size_t i = 0; i < n->count; i++) {
        n->list[i] = n->text.bytes + at;
        at += strlen(n->list[i]) + 1;
    }
    qsort(n->list, n->count, sizeof *n->list, by_bytes);
    return 0;
}

static int walk(listing *l, int fd, unsigned depth);

/* One entry, and what is below it. */
static int visit(listing *l, int dir_fd, const char *name, unsigned depth)
{
    size_t n = l->path.n;
    uint32_t mode = 0;
    int error, fd;

    if (n > 1)
        ebb_buf_add_byte(&l->path, '/');
    if (ebb_buf_add_text(&l->path, name) < 0)
        return ENAMETOOLONG;
    error = add_entry(l, dir_fd, name, &mode);
    if (error == ENOENT)
        error = 0;
    else if (error == 0 && S_ISDIR(mode) && depth < l->depth) {
        fd = openat(dir_fd, name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* What may not be read, or has gone meanwhile, stays closed. */
        if (fd >= 0)
            error = walk(l, fd, depth + 1);
        else if (errno == EMFILE)
            error = EMFILE;
    }
    l->path.n = n;
    l->path.bytes[n] = '\0';
    return error;
}

/* Takes fd. depth is that of its entries, from 1. */
static int walk(listing *l, int fd, unsigned depth)
{
    names n = { .count = 0 };
    DIR *dir = fdopendir(fd);
    int error;

    if (dir == NULL) {
        error = errno;
        close(fd);
        return error;
    }
    error = depth > EBB_AGENT_DEPTH_MAX ? ELOOP
                                        : read_names(&n, dir, l->left);
    for (size_t i = 0; error == 0 && i < n.count; i++)
        error = visit(l, dirfd(dir), n.list[i], depth);
    clear_names(&n);
    closedir(dir);
    return error;
}

static int list(listing *l)
{
    uint32_t mode;
    int fd;

    if (l->depth == 0)
        return add_entry(l, AT_FDCWD, l->path.bytes, &mode);
    fd = open(l->path.bytes, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? errno : walk(l, fd, 1);
}

int ebb_agent_list(ebb_agent *agent, const ebb_agent_request *request)
{
    const ebb_agent_head *head = &request->head;
    listing l = { .agent = agent,
                  .id = head->id,
                  .depth = head->value,
                  .left = head->limit };
    int error = EINVAL;

    ebb_buf_init(&l.entries, EBB_AGENT_TEXT_BYTES_MAX);
    ebb_buf_init(&l.path, EBB_AGENT_PATH_BYTES_MAX - 1);
    if (head->bytes > 0 && *request->text == '/') {
        error = ENAMETOOLONG;
        if (ebb_buf_add_text(&l.path, request->text) == 0)
            error = list(&l);
        send_entries(&l);
    }
    ebb_buf_clear(&l.entries);
    ebb_buf_clear(&l.path);
    return error;
}
