/* SPDX-License-Identifier: MIT */
#pragma once

/* Changes a journal's file behind its back. A test includes cmocka before. */

#include <sqlite3.h>

static inline void edit(const char *path, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    sqlite3_close(db);
}
