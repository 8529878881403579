/* SPDX-License-Identifier: MIT */
#include "journal/sql.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* What a kind of failure means, and what to do; ": FILE" follows. */
typedef struct reading {
    int code; /* SQLite's primary result code */
    const char *text;
} reading;

static const reading readings[] = {
    { SQLITE_FULL, "the journal's disk is full; free some space, then run "
                   "again" },
    { SQLITE_BUSY, "the journal is locked by another process; end that one "
                   "or wait for it, then run again" },
    { SQLITE_LOCKED, "the journal is locked; run again" },
    { SQLITE_READONLY, "the journal may not be written; make it writable or "
                       "name another by --journal" },
    { SQLITE_CANTOPEN, "the journal cannot be opened; see its folder and "
                       "modes, or name another by --journal" },
    { SQLITE_PERM, "the journal may not be opened; see its modes" },
    { SQLITE_CORRUPT, "the journal is damaged; keep a copy, then see `ebb "
                      "doctor`" },
    { SQLITE_NOTADB, "the journal is damaged or no journal; keep a copy, or "
                     "name another by --journal" },
    { SQLITE_IOERR, "the journal's disk reports an error; see the disk, then "
                    "run again" },
    { SQLITE_PROTOCOL, "the journal's locks do not work; is it on a network "
                       "file system? Name another by --journal" },
};

static const char *reading_of(int code)
{
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        if (readings[i].code == (code & 0xff))
            return readings[i].text;
    return NULL;
}

int ebb_sql_failure(ebb_sql *sql, ebb_err *err)
{
    int code = sqlite3_extended_errcode(sql->db);
    int number = sqlite3_system_errno(sql->db);
    const char *text = reading_of(code);

    if ((code & 0xff) == SQLITE_NOMEM)
        return ebb_err_set(err, EBB_NO_MEMORY, "journal %s", sql->path);
    /* Where a disk ends, the kernel's word is the truer one. */
    if (number == ENOSPC || number == EDQUOT)
        text = reading_of(SQLITE_FULL);
    if (number == EROFS)
        text = reading_of(SQLITE_READONLY);
    if (text == NULL)
        return ebb_err_set_status(err, EBB_JOURNAL, number,
                                  "the journal failed (%s): %s",
                                  sqlite3_errmsg(sql->db), sql->path);
    return ebb_err_set_status(err, EBB_JOURNAL, number, "%s (%s): %s", text,
                              sqlite3_errstr(code), sql->path);
}

/* A file may come from anywhere: its schema runs nothing of its own. */
static void harden(sqlite3 *db)
{
    sqlite3_extended_result_codes(db, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
}

int ebb_sql_open(ebb_sql *sql, const char *path,
                 int (*busy)(void *context, int count), void *context,
                 ebb_err *err)
{
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;

    *sql = (ebb_sql){ .path = path };
    if (sqlite3_open_v2(path, &sql->db, flags, NULL) != SQLITE_OK) {
        ebb_sql_failure(sql, err);
        ebb_sql_close(sql);
        return -1;
    }
    harden(sql->db);
    sqlite3_busy_handler(sql->db, busy, context);
    return 0;
}

void ebb_sql_close(ebb_sql *sql)
{
    for (size_t i = 0; i < sql->cached_n; i++)
        sqlite3_finalize(sql->cached[i].statement);
    sql->cached_n = 0;
    sqlite3_close(sql->db);
    sql->db = NULL;
}

int ebb_sql_script(ebb_sql *sql, const char *text, ebb_err *err)
{
    if (sqlite3_exec(sql->db, text, NULL, NULL, NULL) != SQLITE_OK)
        return ebb_sql_failure(sql, err);
    return 0;
}

static sqlite3_stmt *prepare(ebb_sql *sql, ebb_err *err, const char *text)
{
    sqlite3_stmt *statement = NULL;

    for (size_t i = 0; i < sql->cached_n; i++)
        if (sql->cached[i].text == text)
            return sql->cached[i].statement;
    if (sql->cached_n == EBB_SQL_STATEMENTS_MAX) {
        ebb_err_set(err, EBB_JOURNAL, "journal: more than %d statements",
                    EBB_SQL_STATEMENTS_MAX);
        return NULL;
    }
    if (sqlite3_prepare_v3(sql->db, text, -1, SQLITE_PREPARE_PERSISTENT,
                           &statement, NULL) != SQLITE_OK) {
        ebb_sql_failure(sql, err);
        return NULL;
    }
    sql->cached[sql->cached_n++] = (ebb_sql_cached){ text, statement };
    return statement;
}

static int bind_text(sqlite3_stmt *statement, int at, const char *text,
                     size_t n)
{
    if (text == NULL)
        return sqlite3_bind_null(statement, at);
    return sqlite3_bind_text64(statement, at, text, n, SQLITE_STATIC,
                               SQLITE_UTF8);
}

static int bind(sqlite3_stmt *statement, const char *types, va_list args)
{
    int at = 1, code = SQLITE_OK;

    for (; *types != '\0' && code == SQLITE_OK; types++, at++) {
        if (*types == 't') {
            const char *text = va_arg(args, const char *);

            code =
                bind_text(statement, at, text, text != NULL ? strlen(text) : 0);
        } else if (*types == 'b') {
            const char *text = va_arg(args, const char *);

            code = bind_text(statement, at, text, va_arg(args, size_t));
        } else {
            int64_t number = va_arg(args, int64_t);

            code = *types == 'n' && number == 0
                       ? sqlite3_bind_null(statement, at)
                       : sqlite3_bind_int64(statement, at, number);
        }
    }
    return code;
}

sqlite3_stmt *ebb_sql_start(ebb_sql *sql, ebb_err *err, const char *text,
                            const char *types, ...)
{
    sqlite3_stmt *statement = prepare(sql, err, text);
    va_list args;
    int code;

    if (statement == NULL)
        return NULL;
    va_start(args, types);
    code = bind(statement, types, args);
    va_end(args);
    if (code != SQLITE_OK) {
        ebb_sql_failure(sql, err);
        ebb_sql_done(statement);
        return NULL;
    }
    return statement;
}

int ebb_sql_step(ebb_sql *sql, sqlite3_stmt *statement, ebb_err *err)
{
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW)
        return 1;
    if (code != SQLITE_DONE)
        ebb_sql_failure(sql, err);
    ebb_sql_done(statement);
    return code == SQLITE_DONE ? 0 : -1;
}

int ebb_sql_once(ebb_sql *sql, sqlite3_stmt *statement, int64_t *first,
                 ebb_err *err)
{
    int got = statement == NULL ? -1 : ebb_sql_step(sql, statement, err);

    if (got == 1) {
        *first = ebb_sql_int(statement, 0);
        ebb_sql_done(statement);
    }
    return got;
}

int ebb_sql_change(ebb_sql *sql, sqlite3_stmt *statement, ebb_err *err)
{
    if (statement == NULL || ebb_sql_step(sql, statement, err) < 0)
        return -1;
    return sqlite3_changes(sql->db) > 0;
}

void ebb_sql_done(sqlite3_stmt *statement)
{
    if (statement == NULL)
        return;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

int64_t ebb_sql_int(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_int64(statement, column);
}

const char *ebb_sql_text(sqlite3_stmt *statement, int column, size_t *n)
{
    const unsigned char *text = sqlite3_column_text(statement, column);

    if (n != NULL)
        *n = (size_t)sqlite3_column_bytes(statement, column);
    return (const char *)text;
}
