/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The log of one sandbox: a bounded ring in memory, which answers questions,
 * and the file "log" in its directory, one JSON object a line. What a line
 * says may come from inside the sandbox, so it is cut and made UTF-8 here.
 *
 * Invariant: the times of its entries increase strictly, so that a time is a
 * cursor.
 */

#include "base/err.h"
#include "base/value.h"
#include "sandbox/service/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBB_LOGS_ENTRIES_MAX 2000
#define EBB_LOGS_BYTES_MAX   (1u << 20) /* of messages in memory */
#define EBB_LOGS_MESSAGE_MAX 8192
#define EBB_LOGS_FILE_MAX    ((size_t)8 << 20) /* then it becomes log.1 */

typedef enum ebb_logs_level {
    EBB_LOGS_DEBUG,
    EBB_LOGS_INFO,
    EBB_LOGS_WARN,
    EBB_LOGS_ERROR
} ebb_logs_level;

/* false if there is no such level. */
bool ebb_logs_parse_level(const char *name, ebb_logs_level *level);

/* take_back: begins with the entries that the file has. */
ebb_sandbox_log *ebb_logs_open(const char *dir, bool take_back, ebb_err *err);
void ebb_logs_close(ebb_sandbox_log *log);

typedef struct ebb_logs_query {
    int64_t cursor;       /* first time wanted (forward) or last; -1: any */
    bool forward;         /* else the newest first */
    ebb_logs_level level; /* at least */
    const char *search;   /* part of the message; NULL: any */
    size_t limit;
} ebb_logs_query;

typedef struct ebb_logs_entry {
    int64_t ms;
    ebb_logs_level level;
    const char *logger, *message;
} ebb_logs_entry;

/*
 * Calls fn for each entry that fits, in the direction asked for. Returns the
 * cursor that goes on after the limit, or -1 when that was all.
 */
int64_t ebb_logs_find(const ebb_sandbox_log *log, const ebb_logs_query *query,
                      void (*fn)(void *context, const ebb_logs_entry *entry),
                      void *context);

/* {timestamp, level, message, fields}, as E2B says an entry. */
ebb_value *ebb_logs_describe(const ebb_logs_entry *entry);
