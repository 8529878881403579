/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dladdr */

/*
 * Where ebb's own programs are: EBB_LIBEXEC, else relative to the file this
 * code was loaded from (the build folder or an installation that was moved),
 * else where it was configured to be installed.
 */

#include "ebb_private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ebb_version.h>

/* An object of ours, for dladdr to find. */
static const char anchor;

/*
 * The folder of the program or library that holds this code. For a program
 * dladdr tells argv[0], which need not be a path.
 */
static char *own_folder(void)
{
    char file[4096];
    Dl_info info;
    const char *slash;
    ssize_t n;

    if (dladdr(&anchor, &info) != 0 && info.dli_fname != NULL &&
        info.dli_fname[0] == '/' && strstr(info.dli_fname, ".so") != NULL) {
        slash = strrchr(info.dli_fname, '/');
        return ebb_mem_dup_n(info.dli_fname,
                             (size_t)(slash - info.dli_fname));
    }
    n = readlink("/proc/self/exe", file, sizeof file - 1);
    if (n <= 0)
        return NULL;
    file[n] = '\0';
    slash = strrchr(file, '/');
    return ebb_mem_dup_n(file, (size_t)(slash - file));
}

/* folder/suffix/name if that is executable, else NULL. */
static char *executable(const char *folder, const char *suffix,
                        const char *name)
{
    char *path = ebb_mem_printf("%s%s/%s", folder, suffix, name);

    if (path != NULL && access(path, X_OK) == 0)
        return path;
    ebb_mem_free(path);
    return NULL;
}

char *ebb_libexec(const char *name, ebb_err *err)
{
    static const char *const suffixes[] = { "/libexec", "/../libexec/ebb",
                                            "/../../libexec/ebb" };
    const char *set = getenv("EBB_LIBEXEC");
    char *own, *path = NULL;

    if (set != NULL && *set != '\0') {
        path = executable(set, "", name);
        if (path == NULL)
            ebb_err_set(err, EBB_NO_SERVICE,
                        "%s is not in EBB_LIBEXEC (%s)", name, set);
        return path;
    }
    own = own_folder();
    for (size_t i = 0; own != NULL && path == NULL &&
                       i < sizeof suffixes / sizeof *suffixes;
         i++)
        path = executable(own, suffixes[i], name);
    ebb_mem_free(own);
    if (path == NULL)
        path = executable(EBB_PREFIX, "/libexec/ebb", name);
    if (path == NULL)
        ebb_err_set(err, EBB_NO_SERVICE,
                    "cannot find %s beside this program or in %s/libexec/ebb; "
                    "set EBB_LIBEXEC to its folder",
                    name, EBB_PREFIX);
    return path;
}
