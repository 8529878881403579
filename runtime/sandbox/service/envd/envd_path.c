/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd_path.h"

#include "base/mem.h"

#include <string.h>

/* Takes the last name off the n bytes at out, which begin with '/'. */
static size_t without_last(const char *out, size_t n)
{
    while (n > 0 && out[n - 1] != '/')
        n--;
    return n > 0 ? n - 1 : 0;
}

char *ebb_envd_path_clean(const char *path)
{
    char *out = ebb_mem_alloc(strlen(path) + 2);
    size_t n = 0;

    if (!out)
        return NULL;
    while (*path) {
        size_t length;

        path += strspn(path, "/");
        length = strcspn(path, "/");
        if (length == 2 && memcmp(path, "..", 2) == 0) {
            n = without_last(out, n);
        } else if (length > 0 && !(length == 1 && *path == '.')) {
            out[n++] = '/';
            memcpy(out + n, path, length);
            n += length;
        }
        path += length;
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = '\0';
    return out;
}

char *ebb_envd_path_expand(const char *path, ebb_err *err)
{
    char *joined, *clean = NULL;

    if (path[0] == '/') {
        clean = ebb_mem_dup(path);
    } else if (path[0] == '~' && path[1] != '\0' && path[1] != '/') {
        ebb_err_set(err, EBB_INVALID_INPUT,
                    "failed to expand path '%s': cannot expand user-specific "
                    "home dir; write the absolute path",
                    path);
        return NULL;
    } else {
        joined = ebb_mem_printf("%s/%s", EBB_ENVD_HOME,
                                path[0] == '~' ? path + 1 : path);
        if (joined)
            clean = ebb_envd_path_clean(joined);
        ebb_mem_free(joined);
    }
    if (!clean)
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for a path");
    return clean;
}

const char *ebb_envd_path_base(const char *path, size_t *n)
{
    size_t end = strlen(path), begin;

    while (end > 1 && path[end - 1] == '/')
        end--;
    begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    if (begin == end) /* nothing but slashes */
        begin = 0;
    *n = end - begin;
    return path + begin;
}
