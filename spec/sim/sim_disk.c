/* SPDX-License-Identifier: MIT */

/* The disk under the journal, for lives in which it fills up or loses power. */

#include "spec/sim/sim.h"

#include "support/journal_power.h"

static void load(const char *suffix)
{
    char path[256];
    vfs_disk *disk;
    FILE *file;

    snprintf(path, sizeof path, "%s%s", sim->journal, suffix);
    disk = vfs_disk_of(path);
    file = fopen(path, "rb");
    if (file == NULL)
        return;
    disk->now_n = fread(disk->now, 1, VFS_BYTES_MAX, file);
    fclose(file);
    memcpy(disk->durable, disk->now, disk->now_n);
    disk->durable_n = disk->now_n;
}

void sim_disk_install(void)
{
    vfs_install();
    load("");
    load("-wal");
}

void sim_disk_fill(void)
{
    pthread_mutex_lock(&vfs_world.lock);
    vfs_world.fail_writes = SQLITE_FULL;
    pthread_mutex_unlock(&vfs_world.lock);
}

/* The shared memory of the processes is gone as well. */
void sim_disk_lose_power(void)
{
    unsigned seed = (unsigned)sim_random(1 << 30);
    char path[256];

    for (int i = 0; i < vfs_world.disks_n; i++)
        vfs_image(&vfs_world.disks[i], vfs_world.disks[i].path, &seed);
    snprintf(path, sizeof path, "%s-shm", sim->journal);
    unlink(path);
}
