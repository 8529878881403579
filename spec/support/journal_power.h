/* SPDX-License-Identifier: MIT */
#pragma once

/* What a power loss leaves of a file on the VFS of journal_vfs.h. */

#include <fcntl.h>
#include <unistd.h>

#include "support/journal_vfs.h"

static inline unsigned vfs_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/*
 * The file as the disk may have it now: what was synced, and of each write
 * since then nothing, all, or only some of its sectors.
 */
static inline void vfs_image(vfs_disk *disk, const char *path, unsigned *seed)
{
    size_t most = disk->now_n > disk->durable_n ? disk->now_n : disk->durable_n;
    char *bytes = calloc(1, most + 1);
    size_t n = disk->durable_n;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    memcpy(bytes, disk->durable, n);
    for (int i = 0; i < disk->pending_n; i++) {
        size_t at = disk->pending[i].at, end = at + disk->pending[i].n;
        unsigned fate = vfs_random(seed) % 3;

        for (; fate != 0 && at < end; at += VFS_SECTOR) {
            size_t part = end - at < VFS_SECTOR ? end - at : VFS_SECTOR;

            if (at + part > most || (fate == 2 && vfs_random(seed) % 2))
                continue;
            memcpy(bytes + at, disk->now + at, part);
            n = n < at + part ? at + part : n;
        }
    }
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    close(fd);
    free(bytes);
}
