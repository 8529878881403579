/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One SQLite connection with its prepared statements: binding, stepping, and
 * what its errors mean to people. It knows no table. Everything belongs to the
 * thread that opened it.
 *
 * Invariant: a statement that gave no row, or failed, has been reset; one that
 * gave a row is reset by ebb_sql_done.
 */

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBB_SQL_STATEMENTS_MAX 64

typedef struct ebb_sql_cached {
    const char *text; /* its address is the key: a literal */
    sqlite3_stmt *statement;
} ebb_sql_cached;

typedef struct ebb_sql {
    sqlite3 *db;
    const char *path; /* borrowed, for messages */
    ebb_sql_cached cached[EBB_SQL_STATEMENTS_MAX];
    size_t cached_n;
} ebb_sql;

/* Opens path for reading and writing; waits by busy (of sqlite3_busy_handler).
 * On failure there is nothing to close. */
int ebb_sql_open(ebb_sql *sql, const char *path,
                 int (*busy)(void *context, int count), void *context,
                 ebb_err *err);
void ebb_sql_close(ebb_sql *sql); /* fine on a zeroed struct */

/* err from the connection's last failure; returns -1. */
int ebb_sql_failure(ebb_sql *sql, ebb_err *err);

/* Statements without rows and parameters, separated by semicolons. */
int ebb_sql_script(ebb_sql *sql, const char *text, ebb_err *err);

/*
 * The statement of a literal, ready to step, or NULL. types has a letter for
 * each parameter: i int64_t, n int64_t of which 0 is NULL, t text (NULL is
 * fine), b text and its size_t. Texts are borrowed until it is reset.
 */
sqlite3_stmt *ebb_sql_start(ebb_sql *sql, ebb_err *err, const char *text,
                            const char *types, ...);

/* 1: a row; 0: the end; -1: err. */
int ebb_sql_step(ebb_sql *sql, sqlite3_stmt *statement, ebb_err *err);

/* Steps once and resets: as ebb_sql_step, and the first column of the row.
 * A NULL statement is -1, with the err that is there. */
int ebb_sql_once(ebb_sql *sql, sqlite3_stmt *statement, int64_t *first,
                 ebb_err *err);

/*
 * Runs a statement that gives no rows. 1: it changed some; 0: none; -1: err.
 * Cheaper than RETURNING, for which SQLite makes a table each time.
 */
int ebb_sql_change(ebb_sql *sql, sqlite3_stmt *statement, ebb_err *err);

/* Resets a statement that gave a row; NULL is fine. */
void ebb_sql_done(sqlite3_stmt *statement);

/* Columns: a text is NULL for NULL and valid until the next step. */
int64_t ebb_sql_int(sqlite3_stmt *statement, int column);
const char *ebb_sql_text(sqlite3_stmt *statement, int column, size_t *n);
