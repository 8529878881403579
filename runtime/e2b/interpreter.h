/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The code interpreter's /execute: its request, and its answer, a stream of
 * JSON objects, one a line. It gives out events and says how far the stream
 * has come; what they mean for a result is the task's business.
 */

#include "base/buf.h"
#include "base/value.h"
#include "net/lines.h"

#include <stdbool.h>

typedef struct ebb_e2b_execution {
    bool began; /* a line has come */
    bool ended; /* end_of_execution has come */
    ebb_lines lines;
    void *context;
    /*
     * Each event but keepalives and the end; type is its "type". Returns -1
     * with err set to stop.
     */
    int (*on_event)(void *context, const char *type, const ebb_value *event,
                    ebb_err *err);
} ebb_e2b_execution;

/* Appends the request for code in a language, with an environment or NULL. */
int ebb_e2b_execution_write(ebb_buf *out, const ebb_value *code,
                            const char *language, const ebb_value *envs);

void ebb_e2b_execution_init(ebb_e2b_execution *execution, void *context);
void ebb_e2b_execution_clear(ebb_e2b_execution *execution);

/* Takes bytes cut anywhere; EBB_PROTOCOL for what is no such stream. */
int ebb_e2b_execution_add(ebb_e2b_execution *execution, const char *bytes,
                          size_t n, ebb_err *err);

/* The body is complete: takes a last line that has no line end. */
int ebb_e2b_execution_finish(ebb_e2b_execution *execution, ebb_err *err);
