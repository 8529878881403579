/* SPDX-License-Identifier: MIT */
#pragma once

/* What a sandbox leaves on the host: nothing, these say. */

#include "support/box_rig.h"

#include <dirent.h>
#include <glob.h>

static inline unsigned count_groups(const rig *r)
{
    static const char *const patterns[] = { "/sys/fs/cgroup/ebb-%s",
                                            "/sys/fs/cgroup/*/ebb-%s",
                                            "/sys/fs/cgroup/*/*/ebb-%s",
                                            "/sys/fs/cgroup/*/*/*/ebb-%s" };
    unsigned count = 0;

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char pattern[128];
        glob_t found;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(pattern, sizeof pattern, patterns[i], r->id);
#pragma GCC diagnostic pop
        if (glob(pattern, 0, NULL, &found) == 0) {
            count += (unsigned)found.gl_pathc;
            globfree(&found);
        }
    }
    return count;
}

/* Processes whose command line has the word, host-wide. */
static inline unsigned count_processes(const char *word)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    unsigned count = 0;

    while ((entry = readdir(proc)) != NULL) {
        char path[300], text[4096];
        ssize_t n;
        int fd;

        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        n = read(fd, text, sizeof text);
        close(fd);
        count += n > 0 && memmem(text, (size_t)n, word, strlen(word)) != NULL;
    }
    closedir(proc);
    return count;
}

static inline unsigned count_mounts(void)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    unsigned count = 0;
    int c;

    while ((c = fgetc(file)) != EOF)
        count += c == '\n';
    fclose(file);
    return count;
}
