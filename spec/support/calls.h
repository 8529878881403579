/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For tests of the HTTP client: a call whose whole course is recorded, and
 * the ends of connections that a test plays the server on.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "net/http_client.h"
#include "support/peer.h"

typedef struct outcome {
    int heads;
    int status;
    int dones;
    int holds;
    bool ok;
    bool sent;
    ebb_err err;
    ebb_buf body;
    size_t body_n;     /* counted, when keep is false */
    bool keep;
    bool gathers;      /* body is what on_done finds */
    bool refuse;       /* on_body returns -1 */
    int cancel_at;     /* 'h', 'b', 'd' (done) or 'w' (before_body) */
    bool go_on;        /* before_body continues at once */
    ebb_http_call *call;
    ebb_http_client *free_client; /* in on_done */
    char header[64];   /* X-Thing of the answer */
} outcome;

static inline void maybe_cancel(outcome *o, int where)
{
    if (o->cancel_at == where) {
        ebb_http_cancel(o->call);
        o->call = NULL;
    }
}

static inline void note_head(void *context, ebb_http_call *call, int status)
{
    outcome *o = context;
    const char *value = ebb_http_answer_header(call, "x-thing");

    o->heads++;
    o->status = status;
    if (value != NULL)
        snprintf(o->header, sizeof o->header, "%s", value);
    maybe_cancel(o, 'h');
}

static inline int note_body(void *context, ebb_http_call *call,
                            const char *bytes, size_t n)
{
    outcome *o = context;

    (void)call;
    o->body_n += n;
    if (o->keep)
        ebb_buf_add(&o->body, bytes, n);
    maybe_cancel(o, 'b');
    return o->refuse ? -1 : 0;
}

static inline void note_hold(void *context, ebb_http_call *call)
{
    outcome *o = context;

    o->holds++;
    if (o->go_on)
        ebb_http_continue(call);
    maybe_cancel(o, 'w');
}

static inline void note_done(void *context, ebb_http_call *call,
                             const ebb_err *err)
{
    outcome *o = context;

    o->dones++;
    o->ok = err == NULL;
    if (err != NULL)
        o->err = *err;
    o->sent = ebb_http_was_sent(call);
    if (o->gathers)
        ebb_buf_add(&o->body, ebb_http_body(call)->bytes,
                    ebb_http_body(call)->n);
    maybe_cancel(o, 'd');
    o->call = NULL;
    if (o->free_client != NULL)
        ebb_http_client_free(o->free_client);
}

static inline ebb_http_request request_for(outcome *o, const char *method,
                                           const char *url)
{
    o->keep = true;
    return (ebb_http_request){ .method = method,
                               .url = url,
                               .context = o,
                               .on_head = note_head,
                               .on_body = note_body,
                               .on_done = note_done };
}

/* The next connection; fd is -1 when none comes within ms. */
static inline peer accept_peer(int listen_fd, ebb_loop *loop, int64_t ms)
{
    int64_t end = peer_now_ms() + ms;

    for (;;) {
        int fd = accept(listen_fd, NULL, NULL);

        if (fd >= 0)
            return peer_of(fd);
        if (peer_now_ms() > end)
            return (peer){ .fd = -1, .ended = true };
        ebb_loop_run(loop, 2);
    }
}

/* Runs until the call is done; false after ms. */
static inline bool run_to_end(outcome *o, ebb_loop *loop, int64_t ms)
{
    int64_t end = peer_now_ms() + ms;

    while (o->dones == 0 && peer_now_ms() < end)
        ebb_loop_run(loop, 5);
    return o->dones > 0;
}

static inline void clear_outcome(outcome *o)
{
    ebb_buf_clear(&o->body);
    *o = (outcome){ 0 };
}

/* A client, and a socket on which the test is the server. */
typedef struct fixture {
    ebb_loop *loop;
    ebb_http_client *client;
    int listen_fd;
    char url[64];
    outcome o;
} fixture;

static inline int calls_setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    uint16_t port = 0;

    alarm(120);
    *state = f;
    f->loop = ebb_loop_new(NULL, &(ebb_err){ 0 });
    f->client = ebb_http_client_new(f->loop, &(ebb_err){ 0 });
    f->listen_fd = peer_listen(&port);
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/p?q=1", port);
    return f->client == NULL || f->listen_fd < 0;
}

static inline int calls_teardown(void **state)
{
    fixture *f = *state;

    ebb_http_client_free(f->client);
    ebb_loop_free(f->loop);
    close(f->listen_fd);
    ebb_buf_clear(&f->o.body);
    free(f);
    return 0;
}

static inline void start(fixture *f, const ebb_http_request *request)
{
    ebb_err err = { 0 };

    f->o.call = ebb_http_start(f->client, request, &err);
    assert_string_equal(err.msg, "");
    assert_non_null(f->o.call);
}

/* A request that was received whole, up to the text it ends with. */
static inline peer receive(fixture *f, const char *end)
{
    peer p = accept_peer(f->listen_fd, f->loop, 5000);

    assert_true(p.fd >= 0);
    assert_true(peer_wait(&p, f->loop, end, 5000));
    return p;
}
