/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * HTTP requests by libcurl's multi interface on the loop. It knows nothing of
 * E2B, retries or JSON: one call is one request that is sent at most once (see
 * "sent once" below) and one answer.
 *
 * Contract: callbacks come from the loop, never from ebb_http_start; exactly
 * one on_done per started call, unless it is cancelled, after which nothing
 * comes. libcurl's own callbacks only record; on_head, on_body and on_done run
 * after libcurl has returned.
 */

#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ebb_http_client ebb_http_client;
typedef struct ebb_http_call ebb_http_call;

/* A header; a value of NULL removes one that libcurl would add. */
typedef struct ebb_http_header {
    const char *name;
    const char *value;
} ebb_http_header;

/* A part of a request's body; of no bytes, it says nothing. */
typedef struct ebb_http_piece {
    const char *bytes;
    size_t n;
} ebb_http_piece;

/* Zero means the default in parentheses. */
typedef struct ebb_http_limits {
    int64_t connect_ms;    /* name, connect and TLS (10,000) */
    int64_t first_byte_ms; /* from sent to the body's first byte (none) */
    int64_t idle_ms;       /* no byte in either direction (none) */
    int64_t total_ms;      /* the whole call (none) */
} ebb_http_limits;

typedef struct ebb_http_request {
    const char *method; /* borrowed for ebb_http_start, as all strings here */
    const char *url;
    const char *socket_path; /* connect to this Unix socket instead; or NULL */
    const ebb_http_header *headers;
    size_t headers_count;
    const char *body; /* NULL: no body (a POST then has Content-Length: 0) */
    size_t body_n;
    /* Instead of body, what is large: not copied, it stays until on_done or
     * ebb_http_cancel. */
    const ebb_http_piece *pieces;
    size_t pieces_count;
    /*
     * Sent once: libcurl asks before each sending of a request, and is stopped
     * when it was given a byte of the body before. Every request with a body
     * is sent so; this flag makes it so for one without a body, by a fresh
     * connection.
     */
    bool once;
    bool accept_gzip;     /* ask for gzip and decode it */
    size_t body_max;      /* decoded bytes of the answer; 0: any number */
    bool gathers;         /* keep up to body_max for ebb_http_body */
    ebb_http_limits limits;

    void *context;
    /* The answer's head is complete; 1xx heads are skipped. May be NULL. */
    void (*on_head)(void *context, ebb_http_call *call, int status);
    /*
     * Bytes of the answer's body. Return -1 to abort: on_done then says so.
     * Not called where the body is gathered.
     */
    int (*on_body)(void *context, ebb_http_call *call, const char *bytes,
                   size_t n);
    /*
     * Connected, and the first body byte is about to be handed over: nothing
     * of it goes out before ebb_http_continue. NULL: goes on by itself.
     */
    void (*before_body)(void *context, ebb_http_call *call);
    /* before_body does not hold the body back, it only says when it goes. */
    bool unheld;
    /* The end. err is NULL for a complete answer of any status. */
    void (*on_done)(void *context, ebb_http_call *call, const ebb_err *err);
} ebb_http_request;

ebb_http_client *ebb_http_client_new(ebb_loop *loop, ebb_err *err);

/* Cancels every call. Allowed inside their callbacks; NULL is fine. */
void ebb_http_client_free(ebb_http_client *client);

/*
 * Starts a call; everything in request but the pieces is copied. The call is
 * freed by the client after on_done has returned, or by ebb_http_cancel. NULL
 * with EBB_INVALID_INPUT (no HTTP URL, a broken header) or EBB_NO_MEMORY.
 */
ebb_http_call *ebb_http_start(ebb_http_client *client,
                              const ebb_http_request *request, ebb_err *err);

/* Drops the call and its connection. Allowed inside its callbacks. */
void ebb_http_cancel(ebb_http_call *call);

/*
 * After before_body. If the connection has ended meanwhile, the call ends with
 * EBB_NETWORK, and ebb_http_was_sent says false.
 */
void ebb_http_continue(ebb_http_call *call);

/* Of the answer; 0 before the head. */
int ebb_http_status(const ebb_http_call *call);

/* A header of the answer by its name in any case, or NULL; borrowed. */
const char *ebb_http_answer_header(const ebb_http_call *call,
                                   const char *name);

/* The whole body of a call that gathers, in its on_done; borrowed. */
const ebb_buf *ebb_http_body(const ebb_http_call *call);

/*
 * Whether a byte of the request's body (of the head, where there is none) was
 * handed to the network: false proves that the server cannot have acted.
 */
bool ebb_http_was_sent(const ebb_http_call *call);

/*
 * Errors of on_done: EBB_NETWORK (name, connect, TLS, reset, short or broken
 * body), EBB_TIMEOUT (a limit; the message says which), EBB_LIMIT_EXCEEDED
 * (body_max), EBB_PROTOCOL (no HTTP, broken encoding), EBB_CANCELLED (on_body
 * returned -1), EBB_NO_MEMORY.
 */

/* Percent-encodes one path segment or query value into a new string. */
char *ebb_http_escape(const char *text, size_t n);
