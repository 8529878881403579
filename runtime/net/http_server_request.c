/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* struct ucred */
#include "net/http_server_private.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"

/* ---- target ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes up to one of stops into out; broken escapes, and %00, which a C
 * string cannot hold, stay as they are. Returns where it stopped. */
static const char *decode(const char *from, const char *stops,
                          unsigned char **out)
{
    while (*from != '\0' && strchr(stops, *from) == NULL) {
        int high = from[0] == '%' ? hex_digit(from[1]) : -1;
        int low = high >= 0 ? hex_digit(from[2]) : -1;

        if (low >= 0 && (high | low) != 0) {
            *(*out)++ = (unsigned char)(high * 16 + low);
            from += 3;
        } else {
            *(*out)++ = *from == '+' ? ' ' : (unsigned char)*from;
            from++;
        }
    }
    *(*out)++ = '\0';
    return from;
}

static int parse_query(ebb_exchange *e, const char *query)
{
    unsigned char *out;

    /* A pair needs at most two bytes more than it has on the wire. */
    e->query = ebb_mem_alloc(3 * (strlen(query) + 1));
    if (e->query == NULL)
        return -1;
    out = (unsigned char *)e->query;
    while (*query != '\0') {
        query = decode(query, "&=", &out);
        query = decode(*query == '=' ? query + 1 : query, "&", &out);
        if (*query == '&')
            query++;
    }
    e->query_n = (size_t)(out - (unsigned char *)e->query);
    return 0;
}

int ebb_exchange_parse_target(ebb_exchange *exchange, const char *target)
{
    size_t path_n = strcspn(target, "?");

    exchange->path = ebb_mem_dup_n(target, path_n);
    if (exchange->path == NULL)
        return -1;
    if (target[path_n] == '?' &&
        parse_query(exchange, target + path_n + 1) != 0) {
        ebb_mem_free(exchange->path);
        return -1;
    }
    return 0;
}

void ebb_exchange_clear_request(ebb_exchange *exchange)
{
    ebb_mem_free(exchange->path);
    ebb_mem_free(exchange->query);
    ebb_buf_clear(&exchange->body);
}

const char *ebb_exchange_method(const ebb_exchange *exchange)
{
    return exchange->method;
}

const char *ebb_exchange_path(const ebb_exchange *exchange)
{
    return exchange->path;
}

const char *ebb_exchange_query(const ebb_exchange *exchange, const char *name)
{
    const char *at = exchange->query;

    while (at != NULL && at < exchange->query + exchange->query_n) {
        const char *value = at + strlen(at) + 1;

        if (strcmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

/* ---- headers ---- */

const char *ebb_exchange_header(const ebb_exchange *exchange, const char *name)
{
    const char *value = NULL;

    if (MHD_lookup_connection_value_n(exchange->connection, MHD_HEADER_KIND,
                                      name, strlen(name), &value,
                                      NULL) == MHD_YES &&
        value == NULL)
        value = "";
    return value;
}

typedef struct header_visit {
    void (*fn)(void *context, const char *name, const char *value);
    void *context;
} header_visit;

static enum MHD_Result visit(void *context, enum MHD_ValueKind kind,
                             const char *name, const char *value)
{
    header_visit *v = context;

    (void)kind;
    v->fn(v->context, name, value == NULL ? "" : value);
    return MHD_YES;
}

void ebb_exchange_headers(const ebb_exchange *exchange,
                          void (*fn)(void *context, const char *name,
                                     const char *value),
                          void *context)
{
    header_visit v = { fn, context };

    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, visit, &v);
}

bool ebb_exchange_expects_body(const ebb_exchange *exchange)
{
    const char *length = ebb_exchange_header(exchange, "Content-Length");

    if (ebb_exchange_header(exchange, "Transfer-Encoding") != NULL)
        return true;
    return length != NULL && length[strspn(length, "0 ")] != '\0';
}

/* ---- connection ---- */

int ebb_exchange_fd(const ebb_exchange *exchange)
{
    const union MHD_ConnectionInfo *socket = MHD_get_connection_info(
        exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return socket == NULL ? -1 : socket->connect_fd;
}

bool ebb_exchange_is_unix(const ebb_exchange *exchange)
{
    return exchange->server->is_unix;
}

uid_t ebb_exchange_peer_uid(const ebb_exchange *exchange)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    if (!exchange->server->is_unix ||
        getsockopt(ebb_exchange_fd(exchange), SOL_SOCKET, SO_PEERCRED, &peer,
                   &n) != 0)
        return (uid_t)-1;
    return peer.uid;
}

void ebb_exchange_set_state(ebb_exchange *exchange, void *state)
{
    exchange->state = state;
}

void *ebb_exchange_state(const ebb_exchange *exchange)
{
    return exchange->state;
}

/* ---- body ---- */

void ebb_exchange_receive(ebb_exchange *exchange, ebb_exchange_body_fn *on_body,
                          ebb_exchange_fn *on_end, void *context)
{
    if (exchange->receiving)
        return;
    exchange->receiving = true;
    exchange->on_body = on_body;
    exchange->on_end = on_end;
    exchange->body_context = context;
    ebb_exchange_wake(exchange);
}

void ebb_exchange_collect(ebb_exchange *exchange, size_t bytes_max,
                          ebb_exchange_fn *on_end, void *context)
{
    if (exchange->receiving)
        return;
    exchange->collecting = true;
    exchange->body.bytes_max = bytes_max;
    ebb_exchange_receive(exchange, NULL, on_end, context);
}

const ebb_buf *ebb_exchange_body(const ebb_exchange *exchange)
{
    return &exchange->body;
}

bool ebb_exchange_too_long(const ebb_exchange *exchange)
{
    return exchange->too_long;
}

void ebb_exchange_pause(ebb_exchange *exchange)
{
    exchange->paused = true;
}

void ebb_exchange_resume(ebb_exchange *exchange)
{
    exchange->paused = false;
    ebb_http_link_set(exchange->connection, exchange);
    ebb_exchange_wake(exchange);
}

void ebb_exchange_set_idle(ebb_exchange *exchange, int64_t idle_ms)
{
    exchange->idle_ms = idle_ms;
}

static void collect(ebb_exchange *e, const char *bytes, size_t n)
{
    if (e->too_long)
        return;
    if (n > e->body.bytes_max - e->body.n) {
        e->too_long = true;
        ebb_buf_clear(&e->body);
    } else if (ebb_buf_add(&e->body, bytes, n) != 0) {
        ebb_exchange_abort(e); /* no memory */
    }
}

void ebb_exchange_take_piece(ebb_exchange *exchange, const char *bytes,
                             size_t n)
{
    ebb_exchange *e = exchange;

    if (e->answered || e->refused)
        return; /* read and dropped */
    if (e->collecting)
        collect(e, bytes, n);
    else if (e->on_body != NULL &&
             e->on_body(e->body_context, e, bytes, n) != 0)
        e->refused = true;
}

void ebb_exchange_take_end(ebb_exchange *exchange)
{
    if (!exchange->receiving || exchange->answered || exchange->end_told)
        return;
    exchange->end_told = true;
    if (exchange->on_end != NULL)
        exchange->on_end(exchange->body_context, exchange);
}
