/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The lines of an /execute answer, made from what a kernel says. Bytes and
 * values only; it knows no exchange.
 *
 * Every line is ASCII (other characters as \uXXXX): E2B's clients split at
 * U+2028 and decode each network chunk by itself.
 */

#include "base/buf.h"
#include "base/value.h"

#include <stdint.h>

/*
 * Each adds one line, LF included, to out: 0, or -1 when there is no memory
 * or out is full (out then says which).
 */
int ebb_result_add_count(ebb_buf *out, int64_t count);

/* type: "stdout" or "stderr"; text is UTF-8. */
int ebb_result_add_text(ebb_buf *out, const char *type, const char *text,
                        size_t n, int64_t wall_ms);
int ebb_result_add_error(ebb_buf *out, const char *name, const char *value,
                         const char *traceback);

/* "keepalive" or "end_of_execution". */
int ebb_result_add_mark(ebb_buf *out, const char *type);

/*
 * A kernel's "result" or "error" message; any other adds nothing. Members of
 * a wrong type are left out.
 */
int ebb_result_add_message(ebb_buf *out, const ebb_value *message);
