/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The code interpreter's /execute: its request, and its answer, a stream of
 * JSON objects, one a line. It gives out each event's strings as they come
 * and says how far the stream has come; what they mean for a result is the
 * task's business.
 *
 * A line of usual length is parsed whole; a longer one is read as it arrives,
 * so that its length costs no memory.
 */

#include "base/buf.h"
#include "base/value.h"
#include "e2b/long_line.h"

#include <stdbool.h>

/* Lines above this are read as they arrive. */
#define EBB_E2B_LINE_BYTES 65536

typedef struct ebb_e2b_execution {
    bool ended; /* end_of_execution has come */

    ebb_buf held; /* the line begun so far, while it is short */
    bool is_long; /* the line is being read by long_line */
    ebb_e2b_long_line long_line;
    char type[EBB_E2B_NAME_BYTES]; /* of the long line's event */

    void *context;
    /* Each returns -1 with err set to stop. A piece of an event's string: */
    int (*on_text)(void *context, const char *type, const char *name,
                   const char *bytes, size_t n, ebb_err *err);
    /* a whole number of it; */
    int (*on_number)(void *context, const char *type, const char *name,
                     int64_t number, ebb_err *err);
    /* and the event's end. */
    int (*on_event)(void *context, const char *type, ebb_err *err);
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
