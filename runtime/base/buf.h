/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A growing byte buffer that knows its maximum. A write that would pass it
 * fails as a whole and marks the buffer; nothing is lost silently.
 *
 * Invariant: bytes is NULL or holds n bytes and a NUL after them, and
 * n <= bytes_max.
 */

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ebb_buf {
    char *bytes; /* owned; NULL while nothing was written */
    size_t n;
    size_t room; /* allocated, the NUL not counted */
    size_t bytes_max;
    bool failed; /* a write did not fit or found no memory; so do all later */
    bool starved; /* it was memory */
} ebb_buf;

/* An empty buffer of at most bytes_max bytes (0: any number). */
void ebb_buf_init(ebb_buf *buf, size_t bytes_max);

/* Frees the bytes and keeps the maximum; safe on a zeroed struct. */
void ebb_buf_clear(ebb_buf *buf);

/* Forgets the bytes and the failure, keeps the allocation. */
void ebb_buf_reset(ebb_buf *buf);

/*
 * Each returns 0, or -1 when the bytes do not fit or there is no memory; then
 * nothing was added and failed is set, so a row of writes may be checked once.
 */
int ebb_buf_add(ebb_buf *buf, const void *bytes, size_t n);
int ebb_buf_add_text(ebb_buf *buf, const char *text);
int ebb_buf_add_byte(ebb_buf *buf, char byte);
int ebb_buf_printf(ebb_buf *buf, const char *fmt, ...) EBB_PRINTF(2, 3);

/* Room for n more bytes at bytes + n; use ebb_buf_grew after writing there. */
char *ebb_buf_reserve(ebb_buf *buf, size_t n);
void ebb_buf_grew(ebb_buf *buf, size_t n);

/* Removes the first n bytes. */
void ebb_buf_drop(ebb_buf *buf, size_t n);

/*
 * The bytes, NUL-terminated, now the caller's (ebb_mem_free); empty after.
 * NULL if a write failed; the buffer then keeps what it has.
 */
char *ebb_buf_take(ebb_buf *buf);

/* EBB_LIMIT_EXCEEDED or EBB_NO_MEMORY when a write failed, else 0. */
int ebb_buf_check(const ebb_buf *buf, const char *what, ebb_err *err);
