/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/box_parts.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct node {
    const char *path;
    const char *text; /* of a file; NULL: a directory */
} node;

/* Directories are mount points unless they hold a file. */
static const node nodes[] = {
    { "dev", NULL },
    { "etc", NULL },
    { "etc/alternatives", NULL },
    { "etc/ssl", NULL },
    { "home", NULL },
    { "home/user", NULL },
    { "mnt", NULL },
    { "opt", NULL },
    { "proc", NULL },
    { "run", NULL },
    { "srv", NULL },
    { "tmp", NULL },
    { "usr", NULL },
    { "var", NULL },
    { "etc/ld.so.cache", "" },
    { "etc/resolv.conf", "" },
    { "etc/hostname", "sandbox\n" },
    { "etc/hosts",
      "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost\n" },
    { "etc/passwd",
      "root:x:0:0:root:/:/usr/sbin/nologin\n"
      "user:x:1000:1000:user:/home/user:/bin/bash\n"
      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
    { "etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n" },
    { "etc/nsswitch.conf",
      "passwd: files\ngroup: files\nhosts: files dns\n"
      "services: files\nprotocols: files\n" },
    { "etc/host.conf", "multi on\n" },
    { "etc/shells", "/bin/sh\n/bin/bash\n" },
    { "etc/profile",
      "# What a login shell of a sandbox reads first.\n"
      ": \"${PATH:=/usr/local/bin:/usr/bin:/bin}\"\n"
      "export PATH\n"
      "if [ -n \"${PS1-}\" ] && [ -n \"${BASH-}\" ]; then\n"
      "    . /etc/bash.bashrc\n"
      "fi\n" },
    { "etc/bash.bashrc", "[ -z \"$PS1\" ] || PS1='\\u@\\h:\\w\\$ '\n" },
};

/* Links, and small files of the host that programs look up names in. */
static const char *const links[][2] = {
    { "etc/os-release", "../usr/lib/os-release" },
    { "etc/mtab", "../proc/self/mounts" },
    { "etc/localtime", "../usr/share/zoneinfo/Etc/UTC" },
    { "var/tmp", "../tmp" },
    { "var/run", "../run" },
};
static const char *const copies[] = { "etc/services", "etc/protocols",
                                      "etc/mime.types", "etc/debian_version" };
#define COPY_BYTES_MAX (1u << 20)

static int fail(ebb_err *err, const char *path)
{
    return ebb_err_set_errno(err, EBB_SERVER, "prepare the root %s", path);
}

static int make_node(const char *root, const node *n, ebb_err *err)
{
    char path[PATH_MAX];
    FILE *file;
    int failed;

    snprintf(path, sizeof path, "%s/%s", root, n->path);
    if (n->text == NULL)
        return mkdir(path, 0755) < 0 || chmod(path, 0755) < 0
                   ? fail(err, path)
                   : 0;
    file = fopen(path, "wxe");
    if (file == NULL)
        return fail(err, path);
    failed = fputs(n->text, file) < 0;
    if (fclose(file) != 0 || failed || chmod(path, 0644) < 0)
        return fail(err, path);
    return 0;
}

static int copy(const char *root, const char *name, ebb_err *err)
{
    char from[PATH_MAX];
    ebb_buf text;
    ebb_err absent;
    node n = { .path = name };
    int result = 0;

    snprintf(from, sizeof from, "/%s", name);
    ebb_buf_init(&text, COPY_BYTES_MAX);
    if (ebb_fs_read(from, COPY_BYTES_MAX, &text, &absent) == 0 &&
        text.n > 0) {
        n.text = text.bytes;
        result = make_node(root, &n, err);
    }
    ebb_buf_clear(&text);
    return result;
}

static int make_link(const char *root, const char *name, const char *target,
                     ebb_err *err)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", root, name);
    return symlink(target, path) < 0 ? fail(err, path) : 0;
}

/*
 * /bin and its like are links into /usr, as on the host; where the host has
 * directories instead, box_launch.c mounts them, here is the place for it.
 */
static int make_usr_links(const char *root, ebb_err *err)
{
    static const char *const names[] = { "bin",   "sbin",   "lib",
                                         "lib32", "lib64", "libx32" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char host[16], target[PATH_MAX];
        node n = { .path = names[i] };
        ssize_t length;
        struct stat st;

        snprintf(host, sizeof host, "/%s", names[i]);
        length = readlink(host, target, sizeof target - 1);
        if (length > 0) {
            target[length] = '\0';
            if (make_link(root, names[i], target, err) < 0)
                return -1;
        } else if (stat(host, &st) == 0 && make_node(root, &n, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int fill(const char *root, ebb_err *err)
{
    if (chmod(root, 0755) < 0)
        return fail(err, root);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (make_node(root, &nodes[i], err) < 0)
            return -1;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (make_link(root, links[i][0], links[i][1], err) < 0)
            return -1;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (copy(root, copies[i], err) < 0)
            return -1;
    return make_usr_links(root, err);
}

/* Made aside and renamed, so that a root is whole or is not there. */
static int make_root(const char *path, ebb_err *err)
{
    char *aside = ebb_mem_printf("%s.XXXXXX", path);
    ebb_err ignored;
    int result = -1;

    if (aside == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "prepare the root %s", path);
    if (mkdtemp(aside) == NULL) {
        fail(err, aside);
        ebb_mem_free(aside);
        return -1;
    }
    if (fill(aside, err) == 0) {
        result = rename(aside, path);
        /* Another service of the same state was faster. */
        if (result < 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
            ebb_fs_remove_tree(aside, &ignored);
            result = 0;
        } else if (result < 0) {
            fail(err, path);
        }
    }
    if (result < 0)
        ebb_fs_remove_tree(aside, &ignored);
    ebb_mem_free(aside);
    return result;
}

int ebb_box_root_make(const char *parent, ebb_err *err)
{
    char *path = ebb_mem_printf("%s/" EBB_BOX_ROOT_NAME, parent);
    struct stat st;
    int result = 0;

    if (path == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "prepare the root");
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        result = make_root(path, err);
    if (result == 0)
        ebb_box_etc_add(path);
    ebb_mem_free(path);
    return result;
}
