/* SPDX-License-Identifier: MIT */

/*
 * The write-ahead log's file. To sync a file that has grown is to sync its
 * length too, which takes twice as long as to sync what was written over; so
 * it is made longer ahead of the commits, with zeros, which are no frames to
 * SQLite. And it is checkpointed after the answers, not before them.
 */

#include "journal/journal_private.h"

#define WAL_HEAD_BYTES  32
#define FRAME_BYTES     (24 + 4096) /* of another page size: a worse guess */
#define AHEAD_BYTES_MIN (256 * 1024)
#define AHEAD_BYTES_MAX (4 * 1024 * 1024)
#define ROOM_BYTES      (64 * 1024)
#define BLOCK_BYTES     (32 * 1024)

#define CHECKPOINT_FRAMES 1000 /* as SQLite does by itself */
#define FRAMES_MAX        4000 /* however many jobs wait */

/* After each commit, in place of SQLite's own checkpoint. */
static int note_frames(void *context, sqlite3 *db, const char *name, int frames)
{
    ebb_journal *journal = context;

    (void)db;
    (void)name;
    journal->wal_frames = frames;
    return SQLITE_OK;
}

void ebb_journal_wal_watch(ebb_journal *journal)
{
    sqlite3_wal_hook(journal->sql.db, note_frames, journal);
}

/* SQLite's own descriptor: to close one's own would drop its locks. */
static sqlite3_file *find_file(ebb_journal *journal, int64_t *bytes)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 n = 0;

    if (sqlite3_file_control(journal->sql.db, "main",
                             SQLITE_FCNTL_JOURNAL_POINTER,
                             &file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL ||
        file->pMethods->xFileSize(file, &n) != SQLITE_OK)
        return NULL;
    *bytes = n;
    return file;
}

void ebb_journal_wal_extend(ebb_journal *journal)
{
    static const char zeros[BLOCK_BYTES];
    int64_t used = WAL_HEAD_BYTES + (int64_t)journal->wal_frames * FRAME_BYTES;
    int64_t bytes = 0, wanted;
    sqlite3_file *file = find_file(journal, &bytes);

    if (file == NULL || bytes == 0 || bytes >= AHEAD_BYTES_MAX ||
        bytes - used >= ROOM_BYTES)
        return;
    wanted = bytes < AHEAD_BYTES_MIN / 2 ? AHEAD_BYTES_MIN : bytes * 2;
    /* A full disk is for the commit to find. */
    while (bytes < wanted &&
           file->pMethods->xWrite(file, zeros, BLOCK_BYTES, bytes) == SQLITE_OK)
        bytes += BLOCK_BYTES;
}

void ebb_journal_wal_checkpoint(ebb_journal *journal, bool idle)
{
    if (journal->wal_frames < (idle ? CHECKPOINT_FRAMES : FRAMES_MAX))
        return;
    journal->wal_frames = 0; /* what is left is counted at the next commit */
    sqlite3_wal_checkpoint_v2(journal->sql.db, NULL, SQLITE_CHECKPOINT_PASSIVE,
                              NULL, NULL);
}
