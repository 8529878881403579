/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A VFS over the real one that knows what is not yet synced (journal_power.h
 * loses that), counts syncs, and fails on demand. It becomes the default of
 * this process.
 */

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#define VFS_DISKS_MAX   4
#define VFS_PENDING_MAX 4096
#define VFS_BYTES_MAX   (16 * 1024 * 1024)
#define VFS_SECTOR      512

/* A file: its bytes now, its bytes at the last sync, the writes since. */
typedef struct vfs_disk {
    char path[256];
    char *now, *durable;
    size_t now_n, durable_n;
    struct {
        size_t at, n;
    } pending[VFS_PENDING_MAX];
    int pending_n;
    int syncs;
} vfs_disk;

/* What the test sets, and sees; the lock guards it while a journal is open. */
static struct vfs_world {
    pthread_mutex_t lock;
    vfs_disk disks[VFS_DISKS_MAX];
    int disks_n;
    int fail_writes; /* SQLITE_FULL, SQLITE_IOERR_WRITE, …; 0: none */
    int64_t room;    /* only writes that end beyond it fail; 0: all */
    int fail_syncs;  /* SQLITE_IOERR_FSYNC; 0: none */
    int fail_reads;  /* SQLITE_IOERR_READ; 0: none */
    void (*on_step)(void *context); /* after each write and sync */
    void *context;
} vfs_world = { .lock = PTHREAD_MUTEX_INITIALIZER };

typedef struct vfs_file {
    sqlite3_file base;
    vfs_disk *disk; /* NULL: a temporary one */
    sqlite3_file *real;
} vfs_file;

static sqlite3_vfs *vfs_real;

#define VFS_REAL(f) (((vfs_file *)(f))->real)

static inline void vfs_step(void)
{
    if (vfs_world.on_step != NULL)
        vfs_world.on_step(vfs_world.context);
}

static inline vfs_disk *vfs_disk_of(const char *path)
{
    vfs_disk *disk;

    for (int i = 0; i < vfs_world.disks_n; i++)
        if (strcmp(vfs_world.disks[i].path, path) == 0)
            return &vfs_world.disks[i];
    if (vfs_world.disks_n == VFS_DISKS_MAX)
        abort();
    disk = &vfs_world.disks[vfs_world.disks_n++];
    snprintf(disk->path, sizeof disk->path, "%s", path);
    disk->now = calloc(1, VFS_BYTES_MAX);
    disk->durable = calloc(1, VFS_BYTES_MAX);
    return disk;
}

static inline void vfs_forget_disks(void)
{
    for (int i = 0; i < vfs_world.disks_n; i++) {
        free(vfs_world.disks[i].now);
        free(vfs_world.disks[i].durable);
    }
    memset(vfs_world.disks, 0, sizeof vfs_world.disks);
    vfs_world.disks_n = 0;
}

/* ---- a file's methods ---- */

static int vfs_close(sqlite3_file *f)
{
    return VFS_REAL(f)->pMethods->xClose(VFS_REAL(f));
}

static int vfs_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    int fail;

    pthread_mutex_lock(&vfs_world.lock);
    fail = vfs_world.fail_reads;
    pthread_mutex_unlock(&vfs_world.lock);
    errno = EIO;
    return fail != 0 ? fail
                     : VFS_REAL(f)->pMethods->xRead(VFS_REAL(f), to, n, at);
}

static inline void vfs_note(vfs_disk *disk, const void *from, size_t n,
                            size_t at)
{
    if (disk == NULL)
        return;
    if (at + n > VFS_BYTES_MAX || disk->pending_n == VFS_PENDING_MAX)
        abort();
    memcpy(disk->now + at, from, n);
    if (disk->now_n < at + n)
        disk->now_n = at + n;
    disk->pending[disk->pending_n].at = at;
    disk->pending[disk->pending_n++].n = n;
    vfs_step();
}

static int vfs_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    int code;

    pthread_mutex_lock(&vfs_world.lock);
    code = at + n > vfs_world.room ? vfs_world.fail_writes : 0;
    errno = code == SQLITE_FULL ? ENOSPC : EIO;
    if (code == 0)
        code = VFS_REAL(f)->pMethods->xWrite(VFS_REAL(f), from, n, at);
    if (code == 0)
        vfs_note(((vfs_file *)f)->disk, from, (size_t)n, (size_t)at);
    pthread_mutex_unlock(&vfs_world.lock);
    return code;
}

static int vfs_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    vfs_disk *disk = ((vfs_file *)f)->disk;

    pthread_mutex_lock(&vfs_world.lock);
    if (disk != NULL)
        disk->now_n = (size_t)size;
    pthread_mutex_unlock(&vfs_world.lock);
    return VFS_REAL(f)->pMethods->xTruncate(VFS_REAL(f), size);
}

/* The real disk is not asked: a test looks at ours. */
static int vfs_sync(sqlite3_file *f, int flags)
{
    vfs_disk *disk = ((vfs_file *)f)->disk;
    int code;

    (void)flags;
    pthread_mutex_lock(&vfs_world.lock);
    code = vfs_world.fail_syncs;
    errno = EIO;
    if (code == 0 && disk != NULL) {
        memcpy(disk->durable, disk->now, disk->now_n);
        disk->durable_n = disk->now_n;
        disk->pending_n = 0;
        disk->syncs++;
        vfs_step();
    }
    pthread_mutex_unlock(&vfs_world.lock);
    return code;
}

static int vfs_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return VFS_REAL(f)->pMethods->xFileSize(VFS_REAL(f), size);
}

static int vfs_lock(sqlite3_file *f, int level)
{
    return VFS_REAL(f)->pMethods->xLock(VFS_REAL(f), level);
}

static int vfs_unlock(sqlite3_file *f, int level)
{
    return VFS_REAL(f)->pMethods->xUnlock(VFS_REAL(f), level);
}

static int vfs_reserved(sqlite3_file *f, int *out)
{
    return VFS_REAL(f)->pMethods->xCheckReservedLock(VFS_REAL(f), out);
}

static int vfs_control(sqlite3_file *f, int op, void *arg)
{
    return VFS_REAL(f)->pMethods->xFileControl(VFS_REAL(f), op, arg);
}

static int vfs_sector(sqlite3_file *f)
{
    (void)f;
    return VFS_SECTOR;
}

/* Promises nothing: not that a sector is written whole, nor in order. */
static int vfs_promises(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static int vfs_shm_map(sqlite3_file *f, int page, int n, int extend,
                       void volatile **out)
{
    return VFS_REAL(f)->pMethods->xShmMap(VFS_REAL(f), page, n, extend, out);
}

static int vfs_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return VFS_REAL(f)->pMethods->xShmLock(VFS_REAL(f), at, n, flags);
}

static void vfs_shm_barrier(sqlite3_file *f)
{
    VFS_REAL(f)->pMethods->xShmBarrier(VFS_REAL(f));
}

static int vfs_shm_unmap(sqlite3_file *f, int del)
{
    return VFS_REAL(f)->pMethods->xShmUnmap(VFS_REAL(f), del);
}

static const sqlite3_io_methods vfs_methods = {
    2,
    vfs_close,
    vfs_read,
    vfs_write,
    vfs_truncate,
    vfs_sync,
    vfs_size,
    vfs_lock,
    vfs_unlock,
    vfs_reserved,
    vfs_control,
    vfs_sector,
    vfs_promises,
    vfs_shm_map,
    vfs_shm_lock,
    vfs_shm_barrier,
    vfs_shm_unmap,
    NULL,
    NULL,
};

/* ---- the VFS ---- */

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f,
                    int flags, int *out_flags)
{
    const int ours = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL;
    vfs_file *file = (vfs_file *)f;
    int code;

    (void)vfs;
    *file = (vfs_file){ .real = (sqlite3_file *)(file + 1) };
    code = vfs_real->xOpen(vfs_real, name, file->real, flags, out_flags);
    if (code != SQLITE_OK)
        return code;
    file->base.pMethods = &vfs_methods;
    if (name != NULL && (flags & ours) != 0) {
        pthread_mutex_lock(&vfs_world.lock);
        file->disk = vfs_disk_of(name);
        pthread_mutex_unlock(&vfs_world.lock);
    }
    return SQLITE_OK;
}

/* From now on every journal of this process is on it. */
static inline void vfs_install(void)
{
    static sqlite3_vfs vfs;

    vfs_real = sqlite3_vfs_find(NULL);
    vfs = *vfs_real;
    vfs.zName = "journal-test";
    vfs.szOsFile = (int)sizeof(vfs_file) + vfs_real->szOsFile;
    vfs.xOpen = vfs_open;
    sqlite3_vfs_register(&vfs, 1);
}

static inline void vfs_uninstall(void)
{
    sqlite3_vfs_unregister(sqlite3_vfs_find("journal-test"));
    vfs_forget_disks();
}
