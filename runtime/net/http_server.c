/* SPDX-License-Identifier: MIT */
#include "net/http_server_private.h"

#include <assert.h>
#include <signal.h>

#include "base/mem.h"

#define CONNECTIONS_DEFAULT 1000
#define HEAD_BYTES_DEFAULT  65536

/* Beside the head a connection's memory holds the parsed headers and later
 * the chunk that is being sent. */
#define CONNECTION_BYTES_MORE 32768

/* How often one wake runs the daemon while it says that there is more. */
#define RUNS_PER_WAKE_MAX 16

static void finish_close(ebb_http_server *server)
{
    server->closing = true;
    ebb_loop_watch_free(server->watch);
    ebb_loop_timer_free(server->timer);
    ebb_loop_timer_free(server->sweep);
    /* The daemon must not stop while connections are suspended. */
    for (ebb_exchange *e = server->exchanges; e != NULL; e = e->next) {
        if (e->suspended)
            MHD_resume_connection(e->connection);
        e->suspended = false;
    }
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    ebb_http_server_unlink(server);
    ebb_mem_free(server);
}

/* Milliseconds until the daemon wants to run; -1: not by itself. */
static int64_t next_run_ms(const ebb_http_server *server)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;

    if (server->again)
        return 0;
    return MHD_get_timeout(server->daemon, &ms) == MHD_YES ? (int64_t)ms : -1;
}

static void run(ebb_http_server *server)
{
    int64_t ms = 0;

    server->running = true;
    for (int i = 0; i < RUNS_PER_WAKE_MAX && !server->closing && ms == 0; i++) {
        server->again = false;
        MHD_run(server->daemon);
        ms = next_run_ms(server);
    }
    server->running = false;
    if (server->closing)
        finish_close(server);
    else if (ms >= 0)
        ebb_loop_timer_start(server->timer, ms);
    else
        ebb_loop_timer_cancel(server->timer);
}

void ebb_http_server_run_again(ebb_http_server *server)
{
    server->again = true;
    if (!server->running)
        ebb_loop_timer_start(server->timer, 0);
}

static void on_ready(void *context, unsigned events)
{
    (void)events;
    run(context);
}

static void on_timeout(void *context)
{
    run(context);
}

static void on_connection(void *context, struct MHD_Connection *connection,
                          void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    ebb_http_server *server = context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        server->connections++;
        *socket_context = ebb_http_link_new(server, connection);
        return;
    }
    ebb_http_link_free(*socket_context);
    *socket_context = NULL;
    server->connections--;
    if (!server->closing)
        ebb_http_server_run_again(server);
}

/* ---- the server ---- */

void ebb_http_server_config_init(ebb_http_server_config *config)
{
    *config = (ebb_http_server_config){ .listen_fd = -1 };
}

/* libmicrohttpd sends files by sendfile only when told that SIGPIPE, which
 * sendfile cannot suppress, does not kill. */
static int sigpipe_is_ignored(void)
{
    struct sigaction action;

    return sigaction(SIGPIPE, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

static int start_daemon(ebb_http_server *server, int fd, ebb_err *err)
{
    /* A daemon that does not start has closed fd. */
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        ebb_exchange_step, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, server->connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        server->head_bytes_max + CONNECTION_BYTES_MORE,
        MHD_OPTION_URI_LOG_CALLBACK, ebb_exchange_open, server,
        MHD_OPTION_NOTIFY_COMPLETED, ebb_exchange_close, server,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, sigpipe_is_ignored(),
        MHD_OPTION_END);
    if (server->daemon == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "start the HTTP server");
    return 0;
}

static int join_loop(ebb_http_server *server, ebb_err *err)
{
    const union MHD_DaemonInfo *epoll =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    server->timer = ebb_loop_timer_new(server->loop, on_timeout, server);
    if (server->timer == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "start the HTTP server");
    server->watch = ebb_loop_watch_new(server->loop, epoll->epoll_fd, on_ready,
                                       server, err);
    if (server->watch == NULL)
        return -1;
    ebb_loop_watch_set(server->watch, EBB_READABLE);
    /* The listening socket joins the epoll set in the first run. */
    ebb_loop_timer_start(server->timer, 0);
    return 0;
}

static void set_limits(ebb_http_server *server,
                       const ebb_http_server_config *config)
{
    server->connections_max =
        config->connections_max ? config->connections_max : CONNECTIONS_DEFAULT;
    server->head_bytes_max =
        config->head_bytes_max ? config->head_bytes_max : HEAD_BYTES_DEFAULT;
    server->head_ms =
        config->head_ms ? config->head_ms : EBB_HTTP_HEAD_S * INT64_C(1000);
    server->idle_ms =
        config->idle_ms ? config->idle_ms : EBB_HTTP_IDLE_S * INT64_C(1000);
}

ebb_http_server *ebb_http_server_open(ebb_loop *loop,
                                      const ebb_http_server_config *config,
                                      ebb_err *err)
{
    ebb_http_server *server = ebb_mem_zero(sizeof *server);
    int fd;

    assert(config->on_request != NULL);
    if (server == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "HTTP server");
        return NULL;
    }
    server->loop = loop;
    server->on_request = config->on_request;
    server->context = config->context;
    set_limits(server, config);
    fd = ebb_http_server_listen(server, config, err);
    if (fd < 0 || start_daemon(server, fd, err) != 0 ||
        join_loop(server, err) != 0 || ebb_http_idle_open(server, err) != 0) {
        finish_close(server);
        return NULL;
    }
    return server;
}

void ebb_http_server_close(ebb_http_server *server)
{
    if (server == NULL || server->closing)
        return;
    server->closing = true;
    /* From inside a callback the daemon is on the stack: run() finishes. */
    if (!server->running)
        finish_close(server);
}

uint16_t ebb_http_server_port(const ebb_http_server *server)
{
    return server->port;
}

unsigned ebb_http_server_connections(const ebb_http_server *server)
{
    return server->connections;
}
