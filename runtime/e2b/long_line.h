/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A JSON object read as it arrives: the strings among its members go out piece
 * by piece, decoded, so that an object of any length costs the memory of a
 * name. What is nested deeper is passed over. It is for lines too long to be
 * parsed whole, and stricter about nothing than it must be to find its way.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define EBB_E2B_NAME_BYTES 32

/* A piece of the member's string. Returns -1 with err set to stop. */
typedef int ebb_e2b_piece_fn(void *context, const char *name, const char *bytes,
                             size_t n, ebb_err *err);

typedef struct ebb_e2b_long_line {
    int state;
    char name[EBB_E2B_NAME_BYTES]; /* of the member; "" if it is longer */
    size_t name_n;
    bool in_name;        /* the string being read is a name */
    unsigned depth;      /* of nested values being passed over */
    unsigned hex, hex_n; /* of \uXXXX */
    unsigned high;       /* a high surrogate waits for its low one */
    ebb_e2b_piece_fn *fn;
    void *context;
} ebb_e2b_long_line;

void ebb_e2b_long_line_init(ebb_e2b_long_line *line, ebb_e2b_piece_fn *fn,
                            void *context);

/* EBB_PROTOCOL for what is no object. */
int ebb_e2b_long_line_add(ebb_e2b_long_line *line, const char *bytes, size_t n,
                          ebb_err *err);

/* EBB_PROTOCOL if the object is not complete. */
int ebb_e2b_long_line_finish(const ebb_e2b_long_line *line, ebb_err *err);
