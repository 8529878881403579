/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Cuts a byte stream into lines ended by LF (NDJSON). A line longer than its
 * maximum is EBB_LIMIT_EXCEEDED; the LF is not part of the line, a last line
 * without one is delivered by ebb_lines_finish.
 */

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Returns -1 with err set to stop. line is borrowed, NUL-terminated. */
typedef int ebb_lines_fn(void *context, const char *line, size_t n,
                         ebb_err *err);

typedef struct ebb_lines {
    ebb_buf held; /* the line begun so far */
    ebb_lines_fn *fn;
    void *context;
} ebb_lines;

void ebb_lines_init(ebb_lines *lines, size_t line_bytes_max,
                    ebb_lines_fn *fn, void *context);
void ebb_lines_clear(ebb_lines *lines);
int ebb_lines_add(ebb_lines *lines, const char *bytes, size_t n,
                  ebb_err *err);
int ebb_lines_finish(ebb_lines *lines, ebb_err *err);
