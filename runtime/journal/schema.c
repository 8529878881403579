/* SPDX-License-Identifier: MIT */

/*
 * The file: found or made, refused if it is not ours or newer than this
 * program, brought to the schema of this program otherwise. A released
 * migration is never changed; a new schema is a new one at the end.
 */

#include "base/fs.h"
#include "base/mem.h"
#include "journal/journal_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define APPLICATION   1700946432 /* "ebb" in ASCII, and a NUL */
#define FILE_MODE     0600
#define FOLDER_MODE   0700
#define VERSION_BYTES 64
#define COUNT(of)     (sizeof(of) / sizeof *(of))

/* From schema i to i + 1. */
static const char *const migrations[] = {
    /* Keys of runs are never used again (AUTOINCREMENT): what an interrupted
     * program of another kind may have left cannot belong to a new run. */
    "CREATE TABLE run ("
    "  key INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  id TEXT NOT NULL UNIQUE,"
    "  state INTEGER NOT NULL,"
    "  fence INTEGER NOT NULL,"
    "  owner_boot TEXT, owner_pid INTEGER, owner_start INTEGER,"
    "  recoveries INTEGER NOT NULL DEFAULT 0,"
    "  fruitless INTEGER NOT NULL DEFAULT 0," /* since the last outcome */
    "  seq INTEGER NOT NULL DEFAULT 0,"       /* of the last outcome */
    "  steps INTEGER NOT NULL DEFAULT 0,"
    "  bytes INTEGER NOT NULL DEFAULT 0,"
    "  lines INTEGER NOT NULL DEFAULT 0,"
    "  raw_order INTEGER NOT NULL DEFAULT 0,"
    "  cancel_ms INTEGER,"
    "  started_ms INTEGER NOT NULL,"
    "  updated_ms INTEGER NOT NULL,"
    "  ended_ms INTEGER,"
    "  seed INTEGER NOT NULL,"
    "  run_sum INTEGER NOT NULL," /* id, script, args, forked_from, seed */
    "  end_sum INTEGER NOT NULL," /* state, outcome */
    "  script TEXT, script_sha256 TEXT, forked_from TEXT,"
    "  args TEXT, outcome TEXT"
    ") STRICT;"
    "CREATE INDEX run_active ON run (id) WHERE state = 0;"
    "CREATE TABLE step ("
    "  key INTEGER PRIMARY KEY,"
    "  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,"
    "  path TEXT NOT NULL,"
    "  name TEXT NOT NULL,"
    "  class TEXT NOT NULL,"
    "  digest TEXT,"
    "  wake_ms INTEGER NOT NULL,"
    "  began_ms INTEGER NOT NULL,"
    "  attempts INTEGER NOT NULL DEFAULT 0,"
    "  next_ms INTEGER NOT NULL DEFAULT 0,"
    "  seq INTEGER," /* NULL: no outcome */
    "  failed INTEGER NOT NULL DEFAULT 0,"
    "  ended_ms INTEGER NOT NULL DEFAULT 0,"
    "  intent_sum INTEGER NOT NULL," /* path to began_ms, input_bytes */
    "  input_sum INTEGER NOT NULL,"  /* replay does not read the input */
    "  outcome_sum INTEGER,"         /* seq to ended_ms, and the outcome */
    "  outcome_bytes INTEGER NOT NULL DEFAULT 0,"
    "  outcome TEXT,"
    "  input_bytes INTEGER NOT NULL DEFAULT 0,"
    "  input TEXT,"
    "  UNIQUE (run, path)"
    ") STRICT;"
    /* JSON that is larger than small: kind 1 is an input, 2 an outcome. */
    "CREATE TABLE large ("
    "  step INTEGER NOT NULL REFERENCES step ON DELETE CASCADE,"
    "  kind INTEGER NOT NULL,"
    "  json TEXT NOT NULL,"
    "  PRIMARY KEY (step, kind)"
    ") STRICT;"
    "CREATE TABLE attempt ("
    "  step INTEGER NOT NULL REFERENCES step ON DELETE CASCADE,"
    "  number INTEGER NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  next_ms INTEGER NOT NULL,"
    "  sum INTEGER NOT NULL,"
    "  error TEXT,"
    "  PRIMARY KEY (step, number)"
    ") STRICT;"
    "CREATE TABLE log ("
    "  key INTEGER PRIMARY KEY,"
    "  run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,"
    "  path TEXT,"
    "  attempt INTEGER NOT NULL,"
    "  level INTEGER NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  sum INTEGER NOT NULL,"
    "  message TEXT NOT NULL,"
    "  fields TEXT"
    ") STRICT;"
    "CREATE INDEX log_run ON log (run);",

    "ALTER TABLE run ADD COLUMN backend TEXT;",
};

static int number_of(ebb_journal *journal, const char *text, int64_t *out,
                     ebb_err *err)
{
    sqlite3_stmt *statement = ebb_sql_start(&journal->sql, err, text, "");

    if (statement == NULL || ebb_sql_step(&journal->sql, statement, err) != 1)
        return -1;
    *out = ebb_sql_int(statement, 0);
    ebb_sql_done(statement);
    return 0;
}

/* 0 with *version: ours, or empty (0). */
static int read_version(ebb_journal *journal, int64_t *version, ebb_err *err)
{
    int64_t application, tables;

    if (number_of(journal, "PRAGMA application_id", &application, err) != 0 ||
        number_of(journal, "PRAGMA user_version", version, err) != 0 ||
        number_of(journal, "SELECT count(*) FROM sqlite_schema", &tables,
                  err) != 0)
        return -1;
    if (application != APPLICATION && (tables > 0 || *version != 0))
        return ebb_err_set(err, EBB_JOURNAL,
                           "this file belongs to another program; name a "
                           "journal of its own by --journal: %s",
                           journal->path);
    if (*version < 0 || (size_t)*version > COUNT(migrations))
        return ebb_err_set(err, EBB_JOURNAL,
                           "the journal has schema %lld and this ebb knows %d;"
                           " use a newer ebb, or name another by --journal: %s",
                           (long long)*version, (int)COUNT(migrations),
                           journal->path);
    return 0;
}

/* As of one moment: another process may be making the file. */
static int read_version_once(ebb_journal *journal, int64_t *version,
                             ebb_err *err)
{
    ebb_err ignored;
    int result = ebb_sql_script(&journal->sql, "BEGIN", err);

    if (result != 0)
        return -1;
    result = read_version(journal, version, err);
    ebb_sql_script(&journal->sql, "ROLLBACK", &ignored);
    return result;
}

static int migrate_from(ebb_journal *journal, int64_t version, ebb_err *err)
{
    char text[VERSION_BYTES];

    for (; (size_t)version < COUNT(migrations); version++)
        if (ebb_sql_script(&journal->sql, migrations[version], err) != 0)
            return -1;
    snprintf(text, sizeof text, "PRAGMA application_id = %d", APPLICATION);
    if (ebb_sql_script(&journal->sql, text, err) != 0)
        return -1;
    snprintf(text, sizeof text, "PRAGMA user_version = %lld",
             (long long)version);
    return ebb_sql_script(&journal->sql, text, err);
}

/* Reads the version again under the lock: another may have been faster. */
static int migrate(ebb_journal *journal, ebb_err *err)
{
    int64_t version;
    ebb_err ignored;

    if (ebb_sql_script(&journal->sql, "BEGIN IMMEDIATE", err) != 0)
        return -1;
    if (read_version(journal, &version, err) != 0 ||
        migrate_from(journal, version, err) != 0 ||
        ebb_sql_script(&journal->sql, "COMMIT", err) != 0) {
        ebb_sql_script(&journal->sql, "ROLLBACK", &ignored);
        return -1;
    }
    return 0;
}

/*
 * Changing to WAL wants the file alone and does not always wait for that by
 * itself, so the waiting is done here.
 */
static int set_wal(ebb_journal *journal, int (*busy)(void *context, int count),
                   ebb_err *err)
{
    ebb_sql *sql = &journal->sql;
    sqlite3_stmt *statement;
    const char *mode;
    int got, count = 0;
    bool wal;

    do {
        statement = ebb_sql_start(sql, err, "PRAGMA journal_mode = WAL", "");
        got = statement == NULL ? -1 : ebb_sql_step(sql, statement, err);
    } while (got < 0 && (sqlite3_errcode(sql->db) & 0xff) == SQLITE_BUSY &&
             busy(journal, count++));
    if (got != 1)
        return -1;
    *err = (ebb_err){ 0 }; /* of the times that others were in the way */
    mode = ebb_sql_text(statement, 0, NULL);
    wal = mode != NULL && strcmp(mode, "wal") == 0;
    ebb_sql_done(statement);
    if (wal)
        return 0;
    return ebb_err_set(err, EBB_JOURNAL,
                       "the journal's file system has no shared memory (a "
                       "network file system?); name another place by "
                       "--journal: %s",
                       journal->path);
}

static int prepare_file(ebb_journal *journal,
                        int (*busy)(void *context, int count), ebb_err *err)
{
    int64_t version;

    if (sqlite3_db_readonly(journal->sql.db, "main") != 0)
        return ebb_err_set(err, EBB_JOURNAL,
                           "the journal may only be read; make it writable "
                           "or name another by --journal: %s",
                           journal->path);
    if (read_version_once(journal, &version, err) != 0 ||
        set_wal(journal, busy, err) != 0 ||
        ebb_sql_script(&journal->sql,
                       "PRAGMA synchronous = FULL;"
                       "PRAGMA cell_size_check = ON;"
                       "PRAGMA temp_store = MEMORY;"
                       "PRAGMA journal_size_limit = 67108864",
                       err) != 0)
        return -1;
    ebb_journal_wal_watch(journal);
    if ((size_t)version == COUNT(migrations))
        return 0;
    return migrate(journal, err);
}

/*
 * Made by mknod, for SQLite would make it readable to others. Not by open:
 * closing a descriptor of a file drops every lock that this process has on
 * it, those of another runtime's journal too.
 */
static int make_file(const char *path, ebb_err *err)
{
    const char *slash = strrchr(path, '/');
    char *folder;
    int result;

    if (*path == '\0')
        return ebb_err_set(err, EBB_JOURNAL, "the journal has no path");
    if (slash != NULL && slash != path) {
        folder = ebb_mem_dup_n(path, (size_t)(slash - path));
        if (folder == NULL)
            return ebb_err_set(err, EBB_NO_MEMORY, "journal %s", path);
        result = ebb_fs_make_dirs(folder, FOLDER_MODE, err);
        ebb_mem_free(folder);
        if (result != 0) {
            if (err->code != EBB_NO_MEMORY)
                err->code = EBB_JOURNAL;
            return ebb_err_wrap(err, "the journal's folder");
        }
    }
    if (mknod(path, S_IFREG | FILE_MODE, 0) != 0 && errno != EEXIST)
        return ebb_err_set_errno(err, EBB_JOURNAL,
                                 "the journal cannot be made at %s", path);
    return 0;
}

int ebb_journal_open_file(ebb_journal *journal,
                          int (*busy)(void *context, int count), ebb_err *err)
{
    if (make_file(journal->path, err) != 0 ||
        ebb_sql_open(&journal->sql, journal->path, busy, journal, err) != 0)
        return -1;
    return prepare_file(journal, busy, err);
}
