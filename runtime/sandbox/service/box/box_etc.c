/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/box_parts.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Directories of /etc without which a program of /usr does not start. They
 * are copied, since every mount costs each sandbox its time, and completed at
 * each start of the service, since packages come later.
 */
static const char *const patterns[] = { "/etc/java-*-openjdk", "/etc/R",
                                        "/etc/fonts" };
#define DEPTH_MAX      8
#define FILE_BYTES_MAX (4u << 20)

static int copy_tree(const char *from, const char *to, unsigned depth,
                     ebb_err *err);

static int fail(ebb_err *err, const char *path)
{
    return ebb_err_set_errno(err, EBB_SERVER, "prepare the root %s", path);
}

static int copy_file(const char *from, const char *to, ebb_err *err)
{
    ebb_buf bytes;
    FILE *file = NULL;
    int result;

    ebb_buf_init(&bytes, FILE_BYTES_MAX);
    result = ebb_fs_read(from, FILE_BYTES_MAX, &bytes, err);
    if (result == 0 && (file = fopen(to, "wxe")) == NULL)
        result = fail(err, to);
    if (file != NULL) {
        bool failed = fwrite(bytes.bytes, 1, bytes.n, file) != bytes.n;
        if (fclose(file) != 0 || failed || chmod(to, 0644) < 0)
            result = fail(err, to);
    }
    ebb_buf_clear(&bytes);
    return result;
}

static int copy_link(const char *from, const char *to, ebb_err *err)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof target - 1);

    if (n < 0)
        return fail(err, from);
    target[n] = '\0';
    return symlink(target, to) < 0 ? fail(err, to) : 0;
}

/* What only root may read is not for sandboxes, and nothing else is there. */
static int copy_entry(const char *from, const char *to, unsigned depth,
                      ebb_err *err)
{
    struct stat st;

    if (lstat(from, &st) < 0)
        return fail(err, from);
    if (S_ISLNK(st.st_mode))
        return copy_link(from, to, err);
    if ((st.st_mode & S_IROTH) == 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return copy_tree(from, to, depth + 1, err);
    return S_ISREG(st.st_mode) ? copy_file(from, to, err) : 0;
}

static int copy_tree(const char *from, const char *to, unsigned depth,
                     ebb_err *err)
{
    DIR *dir = depth < DEPTH_MAX ? opendir(from) : NULL;
    struct dirent *entry;
    int result = 0;

    if (dir == NULL)
        return fail(err, from);
    if (mkdir(to, 0755) < 0 || chmod(to, 0755) < 0)
        result = fail(err, to);
    while (result == 0 && (entry = readdir(dir)) != NULL) {
        char source[PATH_MAX], copy[PATH_MAX];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        snprintf(copy, sizeof copy, "%s/%s", to, entry->d_name);
        result = copy_entry(source, copy, depth, err);
    }
    closedir(dir);
    return result;
}

/* Made aside and renamed, so that a copy is whole or is not there. */
static int add(const char *root, const char *from, ebb_err *err)
{
    char *to = ebb_mem_printf("%s%s", root, from);
    char *aside = ebb_mem_printf("%s%s.%d", root, from, (int)getpid());
    ebb_err ignored;
    int result = 0;

    if (to == NULL || aside == NULL) {
        result = ebb_err_set(err, EBB_NO_MEMORY, "prepare the root");
    } else if (access(to, F_OK) != 0) {
        result = copy_tree(from, aside, 0, err);
        /* ENOTEMPTY: another service of the same state was faster. */
        if (result == 0 && rename(aside, to) < 0 && errno != ENOTEMPTY &&
            errno != EEXIST)
            result = fail(err, to);
        if (access(aside, F_OK) == 0)
            ebb_fs_remove_tree(aside, &ignored);
    }
    ebb_mem_free(to);
    ebb_mem_free(aside);
    return result;
}

/*
 * A tree that cannot be copied is left out: what needs it will say so, and
 * everything else works.
 */
void ebb_box_etc_add(const char *root)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        ebb_err err;

        if (glob(patterns[i], GLOB_ONLYDIR, NULL, &found) != 0)
            continue;
        for (size_t j = 0; j < found.gl_pathc; j++)
            if (add(root, found.gl_pathv[j], &err) < 0)
                ebb_log_write(EBB_LOG_WARN, "%s", err.msg);
        globfree(&found);
    }
}
