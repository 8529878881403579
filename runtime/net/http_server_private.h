/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the files of the HTTP server, for nobody else. http_server.c owns
 * the daemon, http_server_exchange.c the lives of exchanges,
 * http_server_request.c what is asked, http_server_reply.c what is answered,
 * http_server_listen.c the sockets, http_server_idle.c how long a client may
 * do nothing.
 *
 * How an exchange moves (libmicrohttpd calls back, we suspend or go on):
 * the head is offered first; while the handler has neither asked for the body
 * nor answered and a body may come, the connection is suspended there, so that
 * no unasked "100 Continue" goes out. Then the body, if any, is read to its
 * end. An answer is queued only there, even if it was given earlier: queued at
 * the head, libmicrohttpd would close the connection after it.
 */

#include "net/http_server.h"

#include <microhttpd.h>

/* A connection, from its first to its last moment. */
typedef struct ebb_http_link ebb_http_link;

struct ebb_http_server {
    ebb_loop *loop;
    struct MHD_Daemon *daemon;
    ebb_loop_watch *watch; /* of the daemon's epoll descriptor */
    ebb_loop_timer *timer; /* the daemon's next timeout */
    ebb_exchange *exchanges;
    ebb_exchange_fn *on_request;
    void *context;
    size_t head_bytes_max;
    unsigned connections;
    unsigned connections_max;
    ebb_http_link *links;
    ebb_loop_timer *sweep; /* of the links */
    int64_t head_ms, idle_ms;
    uint16_t port;
    bool is_unix;
    char *socket_path; /* to unlink; NULL: none */
    dev_t socket_dev;
    ino_t socket_ino;
    bool running; /* inside MHD_run */
    bool again;   /* run once more, whatever the daemon's timeout says */
    bool closing;
};

struct ebb_exchange {
    ebb_http_server *server;
    struct MHD_Connection *connection;
    ebb_exchange *next;
    ebb_exchange *previous;
    void *state;

    /* the request */
    char *path;
    char *query; /* name NUL value NUL …, decoded */
    size_t query_n;
    const char *method; /* libmicrohttpd's, for the exchange's life */

    /* where it stands */
    bool offered;     /* on_request was called */
    bool past_head;   /* libmicrohttpd reads the body, or there is none */
    bool at_end;      /* the whole request is here */
    bool half_closed; /* in the body: the client sends no more than is here */
    bool suspended;
    bool aborted;
    bool closed; /* on_close is being told */

    /* the body */
    int64_t idle_ms; /* that it may stand still; 0: for ever */
    bool receiving;  /* the handler asked for it */
    bool refused;    /* on_body returned -1 */
    bool paused;
    bool end_told;
    bool collecting;
    bool too_long;
    ebb_buf body;
    ebb_exchange_body_fn *on_body;
    ebb_exchange_fn *on_end;
    void *body_context;

    /* the answer */
    bool answered;
    bool queued;
    bool streaming;
    bool ended;
    bool drain_due; /* something was written since on_drain was called */
    int status;
    int64_t length;   /* of a streamed answer; -1: unknown */
    uint64_t written; /* by the handler */
    ebb_buf headers;  /* name NUL value NUL … */
    ebb_buf out;      /* written, from out_at on not yet taken */
    size_t out_at;
    size_t handed; /* taken at the last reading, perhaps not sent yet */
    struct MHD_Response *response;
    ebb_exchange_fn *on_drain;
    void *drain_context;

    /* the client */
    ebb_loop_watch *watch; /* of its socket, for hangup */
    ebb_exchange_fn *on_close;
    void *close_context;
    ebb_exchange_fn *on_hangup;
    void *hangup_context;
};

/* Written and not yet sent, of one exchange, at most. */
#define EBB_EXCHANGE_UNSENT_MAX (64u << 20)

/* The headers of one answer together. */
#define EBB_EXCHANGE_HEADERS_MAX 65536

/* Seconds between requests, without a byte inside a body, and without one
 * taken of an answer that is whole. Longer than libcurl keeps a connection
 * (118), so that the client is the one who closes. */
#define EBB_HTTP_IDLE_S 180u

/* Seconds from a request line to the end of its head. */
#define EBB_HTTP_HEAD_S 60u

/* ---- http_server.c ---- */

/*
 * For what the daemon does only at the start of a run and does not tell by its
 * timeout: resuming, and accepting below the limit again.
 */
void ebb_http_server_run_again(ebb_http_server *server);

/* ---- http_server_exchange.c ---- */

/* libmicrohttpd's callbacks: the raw target before it is decoded in place (the
 * result is the connection's context), the end, and everything between. */
void *ebb_exchange_open(void *context, const char *target,
                        struct MHD_Connection *connection);
void ebb_exchange_close(void *context, struct MHD_Connection *connection,
                        void **con_cls, enum MHD_RequestTerminationCode code);
enum MHD_Result ebb_exchange_step(void *context,
                                  struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *bytes,
                                  size_t *n, void **con_cls);

/* Takes the connection out of the daemon's hands until woken. */
void ebb_exchange_suspend(ebb_exchange *exchange);
void ebb_exchange_wake(ebb_exchange *exchange);

/* ---- http_server_idle.c ---- */

int ebb_http_idle_open(ebb_http_server *server, ebb_err *err);

/* NULL: no memory, and the connection is cut off. */
ebb_http_link *ebb_http_link_new(ebb_http_server *server,
                                 struct MHD_Connection *connection);
void ebb_http_link_free(ebb_http_link *link);

/* The client has done something: its time begins anew. exchange is what is on
 * the connection from now on, NULL between two requests. */
void ebb_http_link_set(struct MHD_Connection *connection,
                       ebb_exchange *exchange);

/* ---- http_server_request.c ---- */

/* target as on the request line; -1 without memory. */
int ebb_exchange_parse_target(ebb_exchange *exchange, const char *target);

/* Whether the head promises a body. */
bool ebb_exchange_expects_body(const ebb_exchange *exchange);

/* Gives a piece of the body, or its end, to whoever asked for it. */
void ebb_exchange_take_piece(ebb_exchange *exchange, const char *bytes,
                             size_t n);
void ebb_exchange_take_end(ebb_exchange *exchange);
void ebb_exchange_clear_request(ebb_exchange *exchange);

/* ---- http_server_reply.c ---- */

/* Hands the answer to the daemon. */
enum MHD_Result ebb_exchange_queue(ebb_exchange *exchange);
void ebb_exchange_clear_reply(ebb_exchange *exchange);

/* ---- http_server_listen.c ---- */

/*
 * The listening socket of the config, or -1. Fills port, is_unix and the
 * socket_… fields.
 */
int ebb_http_server_listen(ebb_http_server *server,
                           const ebb_http_server_config *config, ebb_err *err);

/* Unlinks the socket's path if it is still ours. */
void ebb_http_server_unlink(ebb_http_server *server);
