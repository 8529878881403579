/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An incremental reader of multipart/form-data (RFC 7578), for uploads of any
 * size cut anywhere: no part is held in memory. It opens no files and knows no
 * fields; it tells of parts and of their bytes.
 *
 * Bounded: the head of a part (16 KiB), the number of parts (1,000), and what
 * is kept while paused.
 */

#include "base/err.h"

#include <stddef.h>

#define EBB_MULTIPART_HEAD_BYTES_MAX ((size_t)16 << 10)
#define EBB_MULTIPART_PARTS_MAX      1000u
#define EBB_MULTIPART_HELD_BYTES_MAX ((size_t)8 << 20)

typedef struct ebb_multipart ebb_multipart;

/* Each returns 0, or -1 with err set to stop for good. */
typedef struct ebb_multipart_sink {
    /* name and filename are borrowed, NULL if the part has none. */
    int (*on_part)(void *context, const char *name, const char *filename,
                   ebb_err *err);
    int (*on_bytes)(void *context, const char *bytes, size_t n, ebb_err *err);
    int (*on_part_end)(void *context, ebb_err *err);
} ebb_multipart_sink;

/*
 * content_type is the request's header; EBB_INVALID_INPUT if it names no
 * usable boundary. sink and context must outlive the reader.
 */
ebb_multipart *ebb_multipart_new(const char *content_type,
                                 const ebb_multipart_sink *sink, void *context,
                                 ebb_err *err);
void ebb_multipart_free(ebb_multipart *multipart); /* NULL is fine */

/*
 * Reads n more bytes. EBB_PROTOCOL for what is no multipart body,
 * EBB_LIMIT_EXCEEDED past a bound, or what the sink says.
 */
int ebb_multipart_add(ebb_multipart *multipart, const char *bytes, size_t n,
                      ebb_err *err);

/*
 * From inside a call of the sink: no more calls come until resumed; the bytes
 * not yet read are kept. resume reads on with them.
 */
void ebb_multipart_pause(ebb_multipart *multipart);
int ebb_multipart_resume(ebb_multipart *multipart, ebb_err *err);

/* The body has ended: EBB_PROTOCOL unless the last boundary was read. */
int ebb_multipart_finish(const ebb_multipart *multipart, ebb_err *err);
