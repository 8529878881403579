/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Incremental decoding and one-shot encoding of gzip (RFC 1952), with a bound
 * on what comes out. The only module that knows zlib.
 */

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

typedef struct ebb_gunzip ebb_gunzip;

/* bytes_max: of the decoded bytes in all; 0: any number. */
ebb_gunzip *ebb_gunzip_new(size_t bytes_max, ebb_err *err);
void ebb_gunzip_free(ebb_gunzip *gunzip);

/*
 * Decodes n more bytes into calls of sink, which returns -1 to stop (passed
 * through). EBB_PROTOCOL for what is not gzip, EBB_LIMIT_EXCEEDED past the
 * bound.
 */
int ebb_gunzip_add(ebb_gunzip *gunzip, const char *bytes, size_t n,
                   int (*sink)(void *context, const char *bytes, size_t n),
                   void *context, ebb_err *err);

/* EBB_PROTOCOL if the stream has not come to its end. */
int ebb_gunzip_finish(ebb_gunzip *gunzip, ebb_err *err);

int ebb_gzip(const void *bytes, size_t n, ebb_buf *out, ebb_err *err);
