/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/cgroup.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_BYTES_MAX (1u << 20) /* of /proc/self/mountinfo */

/* The controller's name in both tables; the unified tree has none. */
static const char *const names[] = { "", "freezer", "memory", "pids", "cpu" };

/* Whether name is one of a list such as "cpu,cpuacct". */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    while (list != NULL) {
        if (strncmp(list, name, n) == 0 && (list[n] == ',' || list[n] == '\0'))
            return true;
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
    return false;
}

/*
 * A line of mountinfo (proc(5)): id, parent, device, root, mount point,
 * options, optional fields, "-", type, source, options of the tree.
 */
typedef struct mount {
    const char *root, *point;
    int kind; /* ebb_cgroup_kind, or -1 */
} mount;

static int kind_of(const char *type, const char *options)
{
    if (strcmp(type, "cgroup2") == 0)
        return EBB_CGROUP_UNIFIED;
    if (strcmp(type, "cgroup") == 0)
        for (int kind = EBB_CGROUP_FREEZER; kind < EBB_CGROUP_KINDS; kind++)
            if (listed(options, names[kind]))
                return kind;
    return -1;
}

static bool parse_mount(char *line, mount *m)
{
    char *place = NULL, *fields[5], *type, *options;
    char *rest = strstr(line, " - ");

    if (rest == NULL)
        return false;
    *rest = '\0';
    for (int i = 0; i < 5; i++) {
        fields[i] = strtok_r(i == 0 ? line : NULL, " ", &place);
        if (fields[i] == NULL)
            return false;
    }
    type = strtok_r(rest + 3, " ", &place);
    if (type == NULL || strtok_r(NULL, " ", &place) == NULL)
        return false;
    options = strtok_r(NULL, " ", &place);
    m->root = fields[3];
    m->point = fields[4];
    m->kind = kind_of(type, options);
    return m->kind >= 0;
}

/* Our path in a tree, from /proc/self/cgroup ("6:freezer:/path"). */
static bool own_path(const char *table, int kind, char *out, size_t n)
{
    for (const char *line = table; line != NULL && *line != '\0';) {
        char controllers[256];
        char path[PATH_MAX];
        const char *end = strchr(line, '\n');

        controllers[0] = '\0';
        if ((sscanf(line, "%*d:%255[^:\n]:%4095[^\n]", controllers, path) ==
                 2 ||
             sscanf(line, "0::%4095[^\n]", path) == 1) &&
            (kind == EBB_CGROUP_UNIFIED ? controllers[0] == '\0'
                                        : listed(controllers, names[kind]))) {
            snprintf(out, n, "%s", path);
            return true;
        }
        line = end != NULL ? end + 1 : NULL;
    }
    return false;
}

/* In a container the mount shows a part of the tree: its root is cut off. */
static char *place_of(const mount *m, const char *path)
{
    size_t n = strlen(m->root);

    if (n > 1 && strncmp(path, m->root, n) == 0 &&
        (path[n] == '/' || path[n] == '\0'))
        path += n;
    return ebb_mem_printf("%s%s", m->point,
                          strcmp(path, "/") == 0 ? "" : path);
}

static void add_place(ebb_cgroup_places *places, const mount *m,
                      const char *table)
{
    char path[PATH_MAX];

    if (places->own[m->kind] != NULL ||
        !own_path(table, m->kind, path, sizeof path))
        return;
    places->own[m->kind] = place_of(m, path);
    if (m->kind == EBB_CGROUP_UNIFIED)
        places->top = ebb_mem_dup(m->point);
}

int ebb_cgroup_find(ebb_cgroup_places *places, ebb_err *err)
{
    ebb_buf mounts, table;
    int result = -1;

    *places = (ebb_cgroup_places){ .top = NULL };
    ebb_buf_init(&mounts, TABLE_BYTES_MAX);
    ebb_buf_init(&table, TABLE_BYTES_MAX);
    if (ebb_fs_read("/proc/self/mountinfo", TABLE_BYTES_MAX, &mounts, err) <
            0 ||
        ebb_fs_read("/proc/self/cgroup", TABLE_BYTES_MAX, &table, err) < 0)
        goto done;
    for (char *line = mounts.bytes; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        mount m;

        if (end != NULL)
            *end = '\0';
        if (parse_mount(line, &m) && table.n > 0)
            add_place(places, &m, table.bytes);
        line = end != NULL ? end + 1 : NULL;
    }
    result = 0;
done:
    ebb_buf_clear(&mounts);
    ebb_buf_clear(&table);
    return result;
}

void ebb_cgroup_clear(ebb_cgroup_places *places)
{
    for (int kind = 0; kind < EBB_CGROUP_KINDS; kind++)
        ebb_mem_free(places->own[kind]);
    ebb_mem_free(places->top);
    *places = (ebb_cgroup_places){ .top = NULL };
}

char *ebb_cgroup_new(const char *parent, const char *id)
{
    char *dir;

    if (parent == NULL || strchr(id, '/') != NULL)
        return NULL;
    dir = ebb_mem_printf("%s/ebb-%s", parent, id);
    /* One that an earlier service left is empty or in use: both are ours. */
    if (dir != NULL && mkdir(dir, 0755) < 0 && errno != EEXIST) {
        ebb_mem_free(dir);
        return NULL;
    }
    return dir;
}

static int open_file(const char *dir, const char *file, int flags)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, file);

    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, flags | O_CLOEXEC);
}

bool ebb_cgroup_has(const char *dir, const char *file)
{
    int fd = open_file(dir, file, O_PATH);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int ebb_cgroup_write(const char *dir, const char *file, const char *text)
{
    int fd = open_file(dir, file, O_WRONLY);
    size_t n = strlen(text);
    int saved;
    ssize_t wrote;

    if (fd < 0)
        return -1;
    wrote = write(fd, text, n);
    saved = errno;
    close(fd);
    errno = saved;
    return wrote == (ssize_t)n ? 0 : -1;
}

int ebb_cgroup_read_text(const char *dir, const char *file, char *out,
                         size_t n)
{
    int fd = open_file(dir, file, O_RDONLY);
    ssize_t got;

    if (fd < 0)
        return -1;
    got = read(fd, out, n - 1);
    close(fd);
    if (got < 0)
        return -1;
    out[got] = '\0';
    return (int)got;
}

uint64_t ebb_cgroup_read(const char *dir, const char *file, const char *key)
{
    char text[4096];
    size_t n = strlen(key);
    const char *line = text;

    if (ebb_cgroup_read_text(dir, file, text, sizeof text) < 0)
        return 0;
    while (line != NULL && n > 0 &&
           !(strncmp(line, key, n) == 0 && line[n] == ' ')) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return line != NULL ? strtoull(line + n, NULL, 10) : 0;
}
