/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_PATH */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A tree may be deeper than the stack or the descriptors allow (a sandbox may
 * have made it), so nothing here recurses: a directory's directories are
 * renamed up into the top one, which is emptied until nothing is left. Each
 * is renamed once.
 */
#define PASSES_MAX 1000000

typedef struct removal {
    DIR *top;
    unsigned long renamed; /* numbers the names given */
    bool worked;           /* this pass removed or renamed something */
} removal;

/* Opens a directory, after giving its owner the rights to empty it. */
static DIR *open_dir(int at, const char *name)
{
    int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, fd, path_fd;
    struct stat st;
    char link[40];
    DIR *dir;

    path_fd = openat(at, name, O_PATH | flags);
    if (path_fd < 0)
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
    if (fstat(path_fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
        (void)chmod(link, (st.st_mode & 07777) | S_IRWXU);
    fd = openat(at, name, O_RDONLY | flags);
    close(path_fd);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL && fd >= 0)
        close(fd);
    return dir;
}

static const char *next_name(DIR *dir)
{
    struct dirent *entry;

    do
        entry = readdir(dir);
    while (entry != NULL && (strcmp(entry->d_name, ".") == 0 ||
                             strcmp(entry->d_name, "..") == 0));
    return entry != NULL ? entry->d_name : NULL;
}

/* Gone after this: true. A directory that is not empty stays. */
static bool remove_one(int at, const char *name)
{
    return unlinkat(at, name, 0) == 0 || errno == ENOENT ||
           ((errno == EISDIR || errno == EPERM) &&
            unlinkat(at, name, AT_REMOVEDIR) == 0);
}

/* Moves a directory up into the top one, under a name not in use there. */
static bool move_up(removal *r, int at, const char *name)
{
    struct stat st;
    char fresh[48];

    do
        snprintf(fresh, sizeof fresh, ".ebb-%lu", r->renamed++);
    while (fstatat(dirfd(r->top), fresh, &st, AT_SYMLINK_NOFOLLOW) == 0);
    return renameat(at, name, dirfd(r->top), fresh) == 0;
}

/* Empties one directory of the top one. */
static void empty_child(removal *r, const char *name)
{
    DIR *dir = open_dir(dirfd(r->top), name), *sub;
    const char *inner;

    if (dir == NULL)
        return;
    while ((inner = next_name(dir)) != NULL) {
        if (remove_one(dirfd(dir), inner)) {
            r->worked = true;
            continue;
        }
        sub = open_dir(dirfd(dir), inner); /* renaming needs its rights */
        if (sub != NULL)
            closedir(sub);
        if (move_up(r, dirfd(dir), inner))
            r->worked = true;
    }
    closedir(dir);
}

/* Returns whether the top directory was found empty. */
static bool pass(removal *r)
{
    const char *name;
    bool empty = true;

    r->worked = false;
    rewinddir(r->top);
    while ((name = next_name(r->top)) != NULL) {
        empty = false;
        if (!remove_one(dirfd(r->top), name)) {
            empty_child(r, name);
            if (!remove_one(dirfd(r->top), name))
                continue;
        }
        r->worked = true;
    }
    return empty;
}

int ebb_fs_remove_tree(const char *path, ebb_err *err)
{
    removal r = { 0 };
    bool empty = false;

    if (remove_one(AT_FDCWD, path))
        return 0;
    r.top = open_dir(AT_FDCWD, path);
    if (r.top == NULL)
        return ebb_err_set_errno(err, EBB_FORBIDDEN, "cannot remove %s", path);
    r.worked = true;
    for (int i = 0; i < PASSES_MAX && r.worked && !empty; i++)
        empty = pass(&r);
    closedir(r.top);
    if (rmdir(path) < 0 && errno != ENOENT)
        return ebb_err_set_errno(err, EBB_FORBIDDEN, "cannot remove %s", path);
    return 0;
}
