/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * For tests of the HTTP server: a server on 127.0.0.1 whose handler is the
 * test's, and what the handler has seen. The client's side is a peer.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "net/http_server.h"
#include "support/peer.h"

#define SOON 5000
#define HOST "Host: a\r\n"

typedef struct fixture {
    ebb_loop *loop;
    ebb_http_server *server;
    ebb_exchange_fn *handle;
    char dir[32];
    ebb_exchange *last; /* of the last request that is answered later */
    int requests;
    int closed;
    int hangups;
    int drains;
    int to_drain; /* pieces that on_drain still writes */
    ebb_buf seen; /* of bodies */
} fixture;

static inline void open_server(fixture *f, ebb_http_server_config *config)
{
    ebb_err err = { 0 };

    config->on_request = f->handle;
    config->context = f;
    f->server = ebb_http_server_open(f->loop, config, &err);
    assert_string_equal(err.msg, "");
    assert_non_null(f->server);
}

static inline int serve(void **state, ebb_exchange_fn *handle)
{
    fixture *f = calloc(1, sizeof *f);
    ebb_http_server_config config;

    alarm(120);
    *state = f;
    f->handle = handle;
    f->loop = ebb_loop_new(NULL, &(ebb_err){ 0 });
    strcpy(f->dir, "/tmp/ebb-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    ebb_http_server_config_init(&config);
    config.host = "127.0.0.1";
    open_server(f, &config);
    return 0;
}

static inline int unserve(void **state)
{
    fixture *f = *state;

    ebb_http_server_close(f->server);
    ebb_loop_free(f->loop);
    rmdir(f->dir);
    ebb_buf_clear(&f->seen);
    free(f);
    return 0;
}

static inline peer ask(fixture *f, const char *request)
{
    peer p = peer_connect(ebb_http_server_port(f->server));

    assert_true(p.fd >= 0);
    peer_send(&p, request);
    return p;
}
