/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The envelopes of the Connect protocol's streams (connectrpc.com/docs/
 * protocol, "Streaming RPCs"): one flag byte, a big-endian 32-bit length, the
 * payload. Both directions; the payload's meaning belongs to the caller.
 */

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define EBB_CONNECT_COMPRESSED 0x01u
#define EBB_CONNECT_END 0x02u
#define EBB_CONNECT_HEAD_BYTES 5

/*
 * Receives one envelope whose payload is whole, borrowed for the call.
 * Returns -1 with err set to stop.
 */
typedef int ebb_connect_fn(void *context, unsigned flags, const char *payload,
                           size_t n, ebb_err *err);

typedef struct ebb_connect_reader {
    ebb_buf held; /* the envelope begun so far */
    size_t payload_max;
    ebb_connect_fn *fn;
    void *context;
} ebb_connect_reader;

/* payload_max bounds one payload: a longer promise is EBB_LIMIT_EXCEEDED. */
void ebb_connect_reader_init(ebb_connect_reader *reader, size_t payload_max,
                             ebb_connect_fn *fn, void *context);
void ebb_connect_reader_clear(ebb_connect_reader *reader);

/*
 * Takes bytes cut anywhere. Whole payloads in bytes are not copied. After a
 * failure the reader is only good for ebb_connect_reader_clear.
 */
int ebb_connect_add(ebb_connect_reader *reader, const char *bytes, size_t n,
                    ebb_err *err);

/* EBB_PROTOCOL if an envelope has begun and is not complete. */
int ebb_connect_finish(const ebb_connect_reader *reader, ebb_err *err);

int ebb_connect_write(ebb_buf *out, unsigned flags, const void *payload,
                      size_t n);

/* The codes of the protocol, with the HTTP status of a unary error. */
#define EBB_CONNECT_CODES(X)                             \
    X(CANCELED, "canceled", 499)                         \
    X(UNKNOWN, "unknown", 500)                           \
    X(INVALID_ARGUMENT, "invalid_argument", 400)         \
    X(DEADLINE_EXCEEDED, "deadline_exceeded", 504)       \
    X(NOT_FOUND, "not_found", 404)                       \
    X(ALREADY_EXISTS, "already_exists", 409)             \
    X(PERMISSION_DENIED, "permission_denied", 403)       \
    X(RESOURCE_EXHAUSTED, "resource_exhausted", 429)     \
    X(FAILED_PRECONDITION, "failed_precondition", 400)   \
    X(ABORTED, "aborted", 409)                           \
    X(OUT_OF_RANGE, "out_of_range", 400)                 \
    X(UNIMPLEMENTED, "unimplemented", 501)               \
    X(INTERNAL, "internal", 500)                         \
    X(UNAVAILABLE, "unavailable", 503)                   \
    X(DATA_LOSS, "data_loss", 500)                       \
    X(UNAUTHENTICATED, "unauthenticated", 401)

typedef enum ebb_connect_code {
    EBB_CONNECT_OK = 0,
#define EBB_CONNECT_ENUM(id, name, status) EBB_CONNECT_##id,
    EBB_CONNECT_CODES(EBB_CONNECT_ENUM)
#undef EBB_CONNECT_ENUM
} ebb_connect_code;

const char *ebb_connect_code_name(ebb_connect_code code);
int ebb_connect_code_status(ebb_connect_code code);

/* EBB_CONNECT_OK for a name that is none of them. */
ebb_connect_code ebb_connect_code_find(const char *name);
