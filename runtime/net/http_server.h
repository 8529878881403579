/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An HTTP/1.1 server by libmicrohttpd on the loop: TCP and Unix sockets,
 * streamed bodies in both directions. It knows no routes.
 *
 * An exchange is one request with its answer. Its life: on_request is called
 * when the head is complete; the handler asks for the body (ebb_exchange_
 * receive or _collect) or answers at once; on_close tells, exactly once, that
 * the exchange is over, by a complete answer or because the client left.
 * After on_close it must not be touched.
 */

#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct ebb_http_server ebb_http_server;
typedef struct ebb_exchange ebb_exchange;

typedef void ebb_exchange_fn(void *context, ebb_exchange *exchange);

typedef struct ebb_http_server_config {
    /*
     * One of: a listening socket (ownership moves), or a path to bind a Unix
     * socket at (an old socket there is replaced), or an IPv4 or IPv6 literal
     * with a port (0: any free one).
     */
    int listen_fd; /* -1: none */
    const char *socket_path;
    const char *host;
    uint16_t port;

    unsigned connections_max; /* 0: 1,000 */
    size_t head_bytes_max;    /* 0: 65,536 */

    /* A client that is slower is cut off; see also ebb_exchange_set_idle. */
    int64_t head_ms; /* 0: 60,000, from a request line to its head's end */
    int64_t idle_ms; /* 0: 180,000, between requests, inside a body, and
                        without a byte taken of an answer that is whole */

    ebb_exchange_fn *on_request;
    void *context;
} ebb_http_server_config;

/* Fills the documented defaults; listen_fd becomes -1. */
void ebb_http_server_config_init(ebb_http_server_config *config);

ebb_http_server *ebb_http_server_open(ebb_loop *loop,
                                      const ebb_http_server_config *config,
                                      ebb_err *err);

/*
 * Closes every connection; each open exchange gets its on_close. From inside
 * one of its callbacks it happens when that has returned. NULL is fine.
 */
void ebb_http_server_close(ebb_http_server *server);

uint16_t ebb_http_server_port(const ebb_http_server *server); /* TCP only */
unsigned ebb_http_server_connections(const ebb_http_server *server);

/* ---- the request ---- */

const char *ebb_exchange_method(const ebb_exchange *exchange);

/* The path as sent, without the query, not decoded. */
const char *ebb_exchange_path(const ebb_exchange *exchange);

/* A header by its name in any case; NULL if absent. Borrowed. */
const char *ebb_exchange_header(const ebb_exchange *exchange,
                                const char *name);

/* Calls fn for each header. */
void ebb_exchange_headers(const ebb_exchange *exchange,
                          void (*fn)(void *context, const char *name,
                                     const char *value),
                          void *context);

/*
 * A query parameter, decoded once (%xx, and + as space); NULL if absent, ""
 * if it has no value. Borrowed.
 */
const char *ebb_exchange_query(const ebb_exchange *exchange,
                               const char *name);

/* The uid of the peer on a Unix socket, or -1. */
uid_t ebb_exchange_peer_uid(const ebb_exchange *exchange);
bool ebb_exchange_is_unix(const ebb_exchange *exchange);

/* The open file of the connection, to tell connections apart. */
int ebb_exchange_fd(const ebb_exchange *exchange);

/* A pointer for the handler. */
void ebb_exchange_set_state(ebb_exchange *exchange, void *state);
void *ebb_exchange_state(const ebb_exchange *exchange);

/*
 * Streams the body: on_body for each piece, then on_end once. on_body returns
 * -1 to be called no more (the rest is read and dropped; answer in on_end or
 * at once). An answer given before the end goes out when the rest was read and
 * dropped, and then there is no on_end.
 */
typedef int ebb_exchange_body_fn(void *context, ebb_exchange *exchange,
                                 const char *bytes, size_t n);
void ebb_exchange_receive(ebb_exchange *exchange,
                          ebb_exchange_body_fn *on_body,
                          ebb_exchange_fn *on_end, void *context);

/*
 * The body is taken no faster than the handler wants: while paused no on_body
 * comes and the client is slowed by TCP.
 */
void ebb_exchange_pause(ebb_exchange *exchange);
void ebb_exchange_resume(ebb_exchange *exchange);

/*
 * How long the body may stand still while it is asked for, instead of the
 * config's idle_ms; 0: for ever.
 */
void ebb_exchange_set_idle(ebb_exchange *exchange, int64_t idle_ms);

/*
 * Collects the body of at most bytes_max bytes and calls on_end; body then
 * holds it. A longer one sets too_long and on_end comes after the rest was
 * read and dropped.
 */
void ebb_exchange_collect(ebb_exchange *exchange, size_t bytes_max,
                          ebb_exchange_fn *on_end, void *context);
const ebb_buf *ebb_exchange_body(const ebb_exchange *exchange);
bool ebb_exchange_too_long(const ebb_exchange *exchange);

/* on_close, called once; may be set at any time before. */
void ebb_exchange_on_close(ebb_exchange *exchange, ebb_exchange_fn *fn,
                           void *context);

/*
 * Calls fn once when the client half-closes or leaves while the answer is not
 * complete (RDHUP). The exchange is still usable. Without it such an exchange
 * is aborted if it waits for its handler.
 */
void ebb_exchange_on_hangup(ebb_exchange *exchange, ebb_exchange_fn *fn,
                            void *context);

/* ---- the answer ---- */

/*
 * Adds a header to the answer that is about to begin. Copied. -1 for what is
 * not a header and for Content-Length and Transfer-Encoding.
 */
int ebb_exchange_add_header(ebb_exchange *exchange, const char *name,
                            const char *value);

/* A whole answer; the bytes are copied. status 204 and 304 have no body. */
void ebb_exchange_reply(ebb_exchange *exchange, int status,
                        const char *content_type, const void *body,
                        size_t n);

/* A regular file's bytes from offset, by sendfile. Ownership of fd moves. */
void ebb_exchange_reply_file(ebb_exchange *exchange, int status,
                             const char *content_type, int fd,
                             uint64_t offset, uint64_t length);

/*
 * A streamed answer: begin, any number of writes, end. length -1: chunked (or
 * until close for HTTP/1.0). The bytes are copied and flushed at once. write
 * is -1 past the length and after the end or an abort; more than 64 MiB unsent
 * abort the exchange. An end short of the length cuts the connection.
 */
void ebb_exchange_begin(ebb_exchange *exchange, int status,
                        const char *content_type, int64_t length);
int ebb_exchange_write(ebb_exchange *exchange, const void *bytes, size_t n);
void ebb_exchange_end(ebb_exchange *exchange);

/* Cuts the connection without an end, so that the client sees a failure. */
void ebb_exchange_abort(ebb_exchange *exchange);

/* Bytes written and not yet sent: a producer waits above a mark of its own. */
size_t ebb_exchange_unsent(const ebb_exchange *exchange);

/* Calls fn when everything written has been sent. */
void ebb_exchange_on_drain(ebb_exchange *exchange, ebb_exchange_fn *fn,
                           void *context);
