/* SPDX-License-Identifier: MIT */
#include "net/http_server_private.h"

#include <sys/socket.h>

#include "base/mem.h"

/* How often the links are looked at: often enough for the shortest limit. */
#define SWEEPS_PER_LIMIT 8
#define SWEEP_MIN_MS     10
#define SWEEP_MAX_MS     1000

/* A connection on which nothing was asked for so long makes way for a new one
 * when there are as many as there may be. */
#define SPARE_MS 1000

struct ebb_http_link {
    ebb_http_server *server;
    ebb_http_link *next;
    ebb_http_link *previous;
    struct MHD_Connection *connection;
    ebb_exchange *exchange; /* NULL: between requests */
    int64_t since_ms;       /* when the client last did what is waited for */
    bool dropped;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void plan(ebb_http_server *server)
{
    int64_t ms = least(server->head_ms, server->idle_ms) / SWEEPS_PER_LIMIT;

    if (ms < SWEEP_MIN_MS)
        ms = SWEEP_MIN_MS;
    ebb_loop_timer_start(server->sweep, least(ms, SWEEP_MAX_MS));
}

/* How long the client may do nothing now; -1: it is not its turn. */
static int64_t limit_of(const ebb_http_link *link)
{
    const ebb_exchange *e = link->exchange;

    if (e == NULL)
        return link->server->idle_ms;
    if (!e->offered)
        return link->server->head_ms;
    if (!e->past_head || e->at_end || e->suspended || e->paused)
        return -1;
    return e->idle_ms;
}

/* libmicrohttpd sees the end of the connection and closes it. */
static void cut_off(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *socket = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (socket != NULL)
        shutdown(socket->connect_fd, SHUT_RDWR);
}

static void drop(ebb_http_link *link)
{
    link->dropped = true;
    cut_off(link->connection);
}

/* Of the connections between two requests, the one that has been so longest
 * goes when there is no room for another. */
static void make_room(ebb_http_server *server, int64_t now)
{
    ebb_http_link *spare = NULL;

    if (server->connections < server->connections_max)
        return;
    for (ebb_http_link *link = server->links; link != NULL; link = link->next) {
        if (link->dropped)
            return; /* there is room in a moment */
        if (link->exchange == NULL && now - link->since_ms >= SPARE_MS &&
            (spare == NULL || link->since_ms < spare->since_ms))
            spare = link;
    }
    if (spare != NULL)
        drop(spare);
}

static void sweep(void *context)
{
    ebb_http_server *server = context;
    int64_t now = ebb_loop_now_ms(server->loop);

    for (ebb_http_link *link = server->links; link != NULL; link = link->next) {
        int64_t limit = limit_of(link);
        if (!link->dropped && limit > 0 && now - link->since_ms > limit)
            drop(link);
    }
    make_room(server, now);
    if (server->links != NULL)
        plan(server);
}

int ebb_http_idle_open(ebb_http_server *server, ebb_err *err)
{
    server->sweep = ebb_loop_timer_new(server->loop, sweep, server);
    return server->sweep != NULL
               ? 0
               : ebb_err_set(err, EBB_NO_MEMORY, "start the HTTP server");
}

ebb_http_link *ebb_http_link_new(ebb_http_server *server,
                                 struct MHD_Connection *connection)
{
    ebb_http_link *link = ebb_mem_zero(sizeof *link);

    if (link == NULL) {
        cut_off(connection); /* it would have no limits */
        return NULL;
    }
    if (server->links == NULL)
        plan(server);
    link->server = server;
    link->connection = connection;
    link->since_ms = ebb_loop_now_ms(server->loop);
    link->next = server->links;
    if (link->next != NULL)
        link->next->previous = link;
    server->links = link;
    return link;
}

void ebb_http_link_free(ebb_http_link *link)
{
    if (link == NULL)
        return;
    if (link->previous != NULL)
        link->previous->next = link->next;
    else
        link->server->links = link->next;
    if (link->next != NULL)
        link->next->previous = link->previous;
    ebb_mem_free(link);
}

static ebb_http_link *link_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info == NULL ? NULL : info->socket_context;
}

void ebb_http_link_set(struct MHD_Connection *connection,
                       ebb_exchange *exchange)
{
    ebb_http_link *link = link_of(connection);

    if (link == NULL)
        return;
    link->exchange = exchange;
    link->since_ms = ebb_loop_now_ms(link->server->loop);
}
