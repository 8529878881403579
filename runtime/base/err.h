/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The error of every function that can fail: a plain struct on the caller's
 * stack, never allocated, never freed, never NULL. A function returns 0 or -1
 * (or a pointer or NULL); on success it leaves the error untouched.
 *
 * It is not the whole story of a failed task: details and cause travel as a
 * value, see ebb_call in ebb.h.
 */

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

EBB_C_BEGIN

/*
 * Every code: identifier, name in Lua and JSON, whether trying again can help,
 * exit status of the program. A code is chosen by what a caller would do.
 */
#define EBB_ERR_CODES(X)                                                  \
    X(EBB_INVALID_INPUT, "invalid_input", false, 2)                       \
    X(EBB_MISSING_CREDENTIALS, "missing_credentials", false, 3)           \
    X(EBB_UNAUTHORIZED, "unauthorized", false, 3)                         \
    X(EBB_FORBIDDEN, "forbidden", false, 1)                               \
    X(EBB_NOT_FOUND, "not_found", false, 1)                               \
    X(EBB_FILE_NOT_FOUND, "file_not_found", false, 1)                     \
    X(EBB_SANDBOX_NOT_RUNNING, "sandbox_not_running", false, 1)           \
    X(EBB_CONFLICT, "conflict", false, 1)                                 \
    X(EBB_RATE_LIMITED, "rate_limited", true, 1)                          \
    X(EBB_TIMEOUT, "timeout", true, 1)                                    \
    X(EBB_CANCELLED, "cancelled", false, 130)                             \
    X(EBB_NETWORK, "network", true, 1)                                    \
    X(EBB_PROTOCOL, "protocol", true, 1)                                  \
    X(EBB_SERVER, "server", true, 1)                                      \
    X(EBB_LIMIT_EXCEEDED, "limit_exceeded", false, 1)                     \
    X(EBB_NOT_UTF8, "not_utf8", false, 1)                                 \
    X(EBB_OUTCOME_UNKNOWN, "outcome_unknown", false, 4)                   \
    X(EBB_UNSUPPORTED, "unsupported", false, 1)                           \
    X(EBB_NO_MEMORY, "no_memory", false, 1)                               \
    X(EBB_SCRIPT, "script", false, 1)                                     \
    X(EBB_REPLAY_MISMATCH, "replay_mismatch", false, 5)                   \
    X(EBB_LOST_OWNERSHIP, "lost_ownership", false, 6)                     \
    X(EBB_OWNED, "owned", false, 6)                                       \
    X(EBB_STUCK, "stuck", false, 6)                                       \
    X(EBB_JOURNAL, "journal", false, 6)                                   \
    X(EBB_NO_SERVICE, "no_service", false, 3)

typedef enum ebb_code {
    EBB_OK = 0,
#define EBB_ERR_ENUM(id, name, retryable, exit_status) id,
    EBB_ERR_CODES(EBB_ERR_ENUM)
#undef EBB_ERR_ENUM
    EBB_CODES_COUNT
} ebb_code;

#define EBB_ERR_MSG_BYTES 256

typedef struct ebb_err {
    ebb_code code;
    int status;             /* HTTP status, errno or CURLcode; 0 if none */
    int64_t retry_after_ms; /* asked for by the server; 0: nothing, -1: never */
    char msg[EBB_ERR_MSG_BYTES]; /* UTF-8, NUL-terminated, one line */
} ebb_err;

/*
 * Fills err and returns -1, so that a failure is one line. A message that does
 * not fit is cut between two characters and ends in "…"; control characters
 * become spaces.
 */
EBB_API int ebb_err_set(ebb_err *err, ebb_code code, const char *fmt, ...)
    EBB_PRINTF(3, 4);

/* As ebb_err_set, with a status: an errno or an HTTP status. Returns -1. */
EBB_API int ebb_err_set_status(ebb_err *err, ebb_code code, int status,
                               const char *fmt, ...) EBB_PRINTF(4, 5);

/* As ebb_err_set, ending in ": " and the text of errno, kept as status. */
EBB_API int ebb_err_set_errno(ebb_err *err, ebb_code code, const char *fmt,
                              ...) EBB_PRINTF(3, 4);

/* Prefixes the message with "<fmt>: ". Returns -1. */
EBB_API int ebb_err_wrap(ebb_err *err, const char *fmt, ...) EBB_PRINTF(2, 3);

/* The name used in Lua and JSON, "ok" for EBB_OK; never NULL. */
EBB_API const char *ebb_code_name(ebb_code code);

/* The code of a name, or EBB_OK if there is none. */
EBB_API ebb_code ebb_code_find(const char *name);

EBB_API bool ebb_code_retryable(ebb_code code);
EBB_API int ebb_code_exit_status(ebb_code code);

EBB_C_END
