/* SPDX-License-Identifier: MIT */
#include "net/http_server_private.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

/* libmicrohttpd's buffer for answers that are not chunked. */
#define BLOCK_BYTES 65536

/* ---- headers ---- */

/* Framing is the server's own business. */
static bool is_framing(const char *name)
{
    return strcasecmp(name, "Content-Length") == 0 ||
           strcasecmp(name, "Transfer-Encoding") == 0;
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7F)
            return true;
    return false;
}

int ebb_exchange_add_header(ebb_exchange *exchange, const char *name,
                            const char *value)
{
    ebb_buf *headers = &exchange->headers;
    size_t before = headers->n;

    if (exchange->answered || exchange->closed || name[0] == '\0' ||
        has_control(name) || strpbrk(name, " \t:") != NULL ||
        has_control(value) || is_framing(name))
        return -1;
    if (ebb_buf_add(headers, name, strlen(name) + 1) == 0 &&
        ebb_buf_add(headers, value, strlen(value) + 1) == 0)
        return 0;
    headers->n = before;
    return -1;
}

static void add_header(struct MHD_Response *response, const char *name,
                       const char *value)
{
    /* libmicrohttpd refuses an empty value; a blank reads as one. */
    MHD_add_response_header(response, name, value[0] == '\0' ? " " : value);
}

/* ---- begin ---- */

static bool may_answer(const ebb_exchange *e)
{
    return !e->answered && !e->aborted && !e->closed;
}

/* Takes the response over; NULL (no memory) cuts the connection. */
static void answer(ebb_exchange *e, int status, const char *content_type,
                   struct MHD_Response *response)
{
    const char *at = e->headers.bytes;

    if (response == NULL) {
        ebb_exchange_abort(e);
        return;
    }
    if (content_type != NULL)
        add_header(response, "Content-Type", content_type);
    while (at != NULL && at < e->headers.bytes + e->headers.n) {
        const char *value = at + strlen(at) + 1;

        add_header(response, at, value);
        at = value + strlen(value) + 1;
    }
    e->answered = true;
    e->status = status;
    e->response = response;
    ebb_exchange_wake(e);
}

void ebb_exchange_reply(ebb_exchange *exchange, int status,
                        const char *content_type, const void *body, size_t n)
{
    struct MHD_Response *response = NULL;
    char *copy;

    if (!may_answer(exchange))
        return;
    if (status == 204 || status == 304)
        n = 0;
    copy = ebb_mem_dup_n(n == 0 ? "" : body, n);
    if (copy != NULL)
        response = MHD_create_response_from_buffer_with_free_callback(
            n, copy, ebb_mem_free);
    if (response == NULL)
        ebb_mem_free(copy);
    answer(exchange, status, content_type, response);
}

void ebb_exchange_reply_file(ebb_exchange *exchange, int status,
                             const char *content_type, int fd, uint64_t offset,
                             uint64_t length)
{
    struct MHD_Response *response;

    if (!may_answer(exchange)) {
        close(fd);
        return;
    }
    response = MHD_create_response_from_fd_at_offset64(length, fd, offset);
    if (response == NULL)
        close(fd);
    answer(exchange, status, content_type, response);
}

/*
 * What is whole and lies there for the client to take: the daemon sees each
 * byte that goes, we do not, so its own limit counts (in whole seconds).
 */
static void limit_taking(const ebb_exchange *e)
{
    unsigned seconds = (unsigned)((e->server->idle_ms + 999) / 1000);

    MHD_set_connection_option(e->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              seconds);
}

/* ---- streams ---- */

static size_t waiting(const ebb_exchange *e)
{
    return e->out.n - e->out_at;
}

/* Moves what was taken out of the way once it is the larger part, so that
 * each byte is moved at most once on average. */
static void compact(ebb_exchange *e)
{
    if (e->out_at == e->out.n) {
        ebb_buf_reset(&e->out);
        e->out_at = 0;
    } else if (e->out_at > e->out.n / 2) {
        ebb_buf_drop(&e->out, e->out_at);
        e->out_at = 0;
    }
}

static ssize_t at_the_end(const ebb_exchange *e)
{
    bool short_of_length = e->length >= 0 && e->written < (uint64_t)e->length;

    return short_of_length ? MHD_CONTENT_READER_END_WITH_ERROR
                           : MHD_CONTENT_READER_END_OF_STREAM;
}

/* libmicrohttpd asks for the next bytes: it has sent what it had. */
static ssize_t read_out(void *context, uint64_t position, char *to, size_t room)
{
    ebb_exchange *e = context;
    size_t n;

    (void)position;
    e->handed = 0;
    if (waiting(e) == 0 && e->drain_due && !e->ended && !e->aborted) {
        e->drain_due = false;
        if (e->on_drain != NULL)
            e->on_drain(e->drain_context, e);
    }
    if (e->aborted || e->server->closing)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = waiting(e) < room ? waiting(e) : room;
    if (n == 0 && e->ended)
        return at_the_end(e);
    if (n == 0) {
        ebb_exchange_suspend(e);
        return 0;
    }
    memcpy(to, e->out.bytes + e->out_at, n);
    e->out_at += n;
    e->handed = n;
    compact(e);
    return (ssize_t)n;
}

void ebb_exchange_begin(ebb_exchange *exchange, int status,
                        const char *content_type, int64_t length)
{
    if (!may_answer(exchange))
        return;
    exchange->streaming = true;
    exchange->length = length;
    answer(exchange, status, content_type,
           MHD_create_response_from_callback(
               length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)length, BLOCK_BYTES,
               read_out, exchange, NULL));
}

int ebb_exchange_write(ebb_exchange *exchange, const void *bytes, size_t n)
{
    ebb_exchange *e = exchange;

    if (!e->streaming || e->ended || e->aborted || e->closed)
        return -1;
    if (n == 0)
        return 0;
    if (e->length >= 0 && n > (uint64_t)e->length - e->written)
        return -1;
    if (ebb_buf_add(&e->out, bytes, n) != 0) {
        /* Part of an answer must not look like the whole. */
        ebb_exchange_abort(e);
        return -1;
    }
    e->written += n;
    e->drain_due = true;
    ebb_exchange_wake(e);
    return 0;
}

void ebb_exchange_end(ebb_exchange *exchange)
{
    if (!exchange->streaming || exchange->ended)
        return;
    exchange->ended = true;
    if (exchange->queued && !exchange->closed && !exchange->server->closing)
        limit_taking(exchange);
    ebb_exchange_wake(exchange);
}

size_t ebb_exchange_unsent(const ebb_exchange *exchange)
{
    return waiting(exchange) + exchange->handed;
}

void ebb_exchange_on_drain(ebb_exchange *exchange, ebb_exchange_fn *fn,
                           void *context)
{
    exchange->on_drain = fn;
    exchange->drain_context = context;
}

void ebb_exchange_abort(ebb_exchange *exchange)
{
    if (exchange->aborted || exchange->closed)
        return;
    exchange->aborted = true;
    shutdown(ebb_exchange_fd(exchange), SHUT_RDWR);
    ebb_exchange_wake(exchange);
}

/* ---- the daemon's side ---- */

enum MHD_Result ebb_exchange_queue(ebb_exchange *exchange)
{
    enum MHD_Result result;

    if (exchange->queued || exchange->response == NULL)
        return MHD_NO;
    exchange->queued = true;
    if (!exchange->streaming || exchange->ended)
        limit_taking(exchange);
    result = MHD_queue_response(exchange->connection,
                                (unsigned)exchange->status, exchange->response);
    MHD_destroy_response(exchange->response);
    exchange->response = NULL;
    return result;
}

void ebb_exchange_clear_reply(ebb_exchange *exchange)
{
    if (exchange->response != NULL)
        MHD_destroy_response(exchange->response);
    exchange->response = NULL;
    ebb_buf_clear(&exchange->headers);
    ebb_buf_clear(&exchange->out);
}
