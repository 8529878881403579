/* SPDX-License-Identifier: MIT */
#include "net/http_server_private.h"

#include <sys/socket.h>

#include "base/mem.h"

/* libmicrohttpd 0.9.75 polls edges, and after a reading that did not fill its
 * buffer it believes that the next byte, or the end, makes another edge. An
 * end that came together with the last bytes does not, and the connection
 * would stand for ever. Closing what the client has closed anyway makes one. */
static void show_end(const ebb_exchange *e)
{
    shutdown(ebb_exchange_fd(e), SHUT_RD);
}

static void on_left(void *context, unsigned events)
{
    ebb_exchange *e = context;

    (void)events;
    ebb_loop_watch_set(e->watch, 0); /* told once */
    if (e->aborted)
        return;
    if (e->past_head && !e->at_end) {
        /* Not gone: what it has sent may be whole, and in the socket. */
        e->half_closed = true;
        show_end(e);
        return;
    }
    if (e->on_hangup != NULL)
        e->on_hangup(e->hangup_context, e);
    else
        ebb_exchange_abort(e);
}

/* A suspended connection is out of the daemon's epoll set: without this watch
 * nobody would notice that its client has left. */
static void watch_client(ebb_exchange *e)
{
    ebb_err err;

    if (e->watch != NULL || e->closed)
        return;
    e->watch = ebb_loop_watch_new(e->server->loop, ebb_exchange_fd(e), on_left,
                                  e, &err);
    if (e->watch != NULL)
        ebb_loop_watch_set(e->watch, EBB_HANGUP);
}

void ebb_exchange_on_hangup(ebb_exchange *exchange, ebb_exchange_fn *fn,
                            void *context)
{
    exchange->on_hangup = fn;
    exchange->hangup_context = context;
    watch_client(exchange);
}

void ebb_exchange_on_close(ebb_exchange *exchange, ebb_exchange_fn *fn,
                           void *context)
{
    exchange->on_close = fn;
    exchange->close_context = context;
}

void ebb_exchange_suspend(ebb_exchange *exchange)
{
    /* Half-closed in the middle of a body that is paused is no hangup: the
     * rest of the body is in the socket. */
    if (!exchange->past_head || exchange->at_end)
        watch_client(exchange);
    exchange->suspended = true;
    MHD_suspend_connection(exchange->connection);
}

void ebb_exchange_wake(ebb_exchange *exchange)
{
    if (!exchange->suspended || exchange->server->closing)
        return;
    exchange->suspended = false;
    ebb_http_link_set(exchange->connection, exchange);
    MHD_resume_connection(exchange->connection);
    ebb_http_server_run_again(exchange->server);
}

void *ebb_exchange_open(void *context, const char *target,
                        struct MHD_Connection *connection)
{
    ebb_http_server *server = context;
    ebb_exchange *e = ebb_mem_zero(sizeof *e);

    if (e == NULL)
        return NULL;
    if (ebb_exchange_parse_target(e, target == NULL ? "" : target) != 0) {
        ebb_mem_free(e);
        return NULL;
    }
    e->server = server;
    e->connection = connection;
    e->length = -1;
    e->idle_ms = server->idle_ms;
    ebb_http_link_set(connection, e);
    ebb_buf_init(&e->headers, EBB_EXCHANGE_HEADERS_MAX);
    ebb_buf_init(&e->out, EBB_EXCHANGE_UNSENT_MAX);
    e->next = server->exchanges;
    if (e->next != NULL)
        e->next->previous = e;
    server->exchanges = e;
    return e;
}

void ebb_exchange_close(void *context, struct MHD_Connection *connection,
                        void **con_cls, enum MHD_RequestTerminationCode code)
{
    ebb_http_server *server = context;
    ebb_exchange *e = *con_cls;

    (void)code;
    if (e == NULL)
        return;
    *con_cls = NULL;
    ebb_loop_watch_free(e->watch); /* while the descriptor is open */
    e->watch = NULL;
    e->suspended = false;
    e->closed = true;
    if (e->previous != NULL)
        e->previous->next = e->next;
    else
        server->exchanges = e->next;
    if (e->next != NULL)
        e->next->previous = e->previous;
    if (e->offered && e->on_close != NULL)
        e->on_close(e->close_context, e);
    if (!server->closing) {
        MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                  0u);
        ebb_http_link_set(connection, NULL);
    }
    ebb_exchange_clear_request(e);
    ebb_exchange_clear_reply(e);
    ebb_mem_free(e);
}

static bool wants_continue(const ebb_exchange *e)
{
    const char *expect = ebb_exchange_header(e, "Expect");

    return expect != NULL && ebb_exchange_expects_body(e);
}

static enum MHD_Result at_head(ebb_exchange *e)
{
    if (e->answered && wants_continue(e))
        return ebb_exchange_queue(e); /* the client keeps its body */
    if (!e->answered && !e->receiving && ebb_exchange_expects_body(e)) {
        ebb_exchange_suspend(e);
        return MHD_YES;
    }
    e->past_head = true;
    if (!ebb_exchange_expects_body(e))
        return MHD_YES;
    watch_client(e);
    /* Without memory for the watch the connection could stand for ever. */
    return e->watch != NULL || e->closed ? MHD_YES : MHD_NO;
}

static enum MHD_Result in_body(ebb_exchange *e, const char *bytes, size_t *n)
{
    if (e->paused && !e->answered) {
        ebb_exchange_suspend(e);
        return MHD_YES;
    }
    ebb_http_link_set(e->connection, e);
    ebb_exchange_take_piece(e, bytes, *n);
    *n = 0;
    if (e->half_closed)
        show_end(e);
    return e->aborted ? MHD_NO : MHD_YES;
}

static enum MHD_Result at_end(ebb_exchange *e)
{
    e->at_end = true;
    if (e->half_closed && e->watch != NULL)
        ebb_loop_watch_set(e->watch, EBB_HANGUP); /* now it is told */
    if (!e->paused)
        ebb_exchange_take_end(e);
    if (e->aborted)
        return MHD_NO;
    if (e->answered)
        return ebb_exchange_queue(e);
    ebb_exchange_suspend(e);
    return MHD_YES;
}

static bool head_fits(struct MHD_Connection *connection, size_t max)
{
    const union MHD_ConnectionInfo *head = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    return head == NULL || head->header_size <= max;
}

static void offer(ebb_http_server *server, ebb_exchange *e, const char *method)
{
    e->offered = true;
    e->method = method;
    ebb_http_link_set(e->connection, e);
    if (head_fits(e->connection, server->head_bytes_max))
        server->on_request(server->context, e);
    else
        ebb_exchange_reply(e, 431, NULL, NULL, 0);
}

enum MHD_Result ebb_exchange_step(void *context,
                                  struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *bytes,
                                  size_t *n, void **con_cls)
{
    ebb_http_server *server = context;
    ebb_exchange *e = *con_cls;

    (void)url;
    (void)version;
    if (e == NULL || server->closing || e->aborted)
        return MHD_NO;
    if (e->suspended)
        ebb_http_link_set(connection, e); /* it was not the client's turn */
    e->suspended = false;
    if (*n > 0)
        return in_body(e, bytes, n);
    if (!e->offered)
        offer(server, e, method);
    if (e->aborted)
        return MHD_NO;
    return e->past_head ? at_end(e) : at_head(e);
}
