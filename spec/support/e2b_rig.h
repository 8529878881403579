/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The E2B client against the scripted service: one rig a test, all of it on
 * one loop. The calls are in e2b_call.h.
 */

#include <unistd.h>

#include "support/e2b_script.h"

static inline void rig_tell_place(rig *r)
{
    ebb_e2b_place place = {
        .api_key = r->api_key,
        .api_url = r->url,
        .sandbox_url = r->url,
        .domain = "e2b.app",
        .socket_path = *r->socket_path ? r->socket_path : NULL,
    };

    r->place_done(r->place_context, &place, NULL);
}

static inline void rig_find_place(void *context, ebb_e2b_place_fn *done,
                                  void *done_context)
{
    rig *r = context;

    r->places++;
    r->place_done = done;
    r->place_context = done_context;
    if (!r->place_later)
        rig_tell_place(r);
}

static inline void rig_listen(rig *r)
{
    ebb_http_server_config config;
    ebb_err err = { 0 };

    ebb_http_server_config_init(&config);
    if (r->local)
        snprintf(r->socket_path, sizeof r->socket_path,
                 "/tmp/ebb-rig-%d-%d.sock", (int)getpid(), r->listens++);
    config.socket_path = r->local ? r->socket_path : NULL;
    config.host = r->local ? NULL : "127.0.0.1";
    config.on_request = rig_request_came;
    config.context = r;
    r->server = ebb_http_server_open(r->loop, &config, &err);
    assert_non_null(r->server);
    if (!r->local)
        snprintf(r->url, sizeof r->url, "http://127.0.0.1:%d",
                 ebb_http_server_port(r->server));
}

/* The service ends and another one begins, at another place. */
static inline void rig_restart(rig *r)
{
    ebb_http_server *old = r->server;

    if (r->local)
        unlink(r->socket_path);
    rig_listen(r);
    ebb_http_server_close(old);
}

/* From now on the service is a local one, at a Unix socket. */
static inline void rig_go_local(rig *r)
{
    r->local = true;
    rig_restart(r);
}

/* config: what of the client's configuration is not the default. */
static inline rig *rig_open_with(ebb_e2b_config config)
{
    rig *r = calloc(1, sizeof *r);
    ebb_err err = { 0 };

    r->requests = calloc(RIG_REQUESTS, sizeof *r->requests);
    r->api_key = "e2b_cafecafecafe";
    r->loop = ebb_loop_new(NULL, &err);
    r->http = ebb_http_client_new(r->loop, &err);
    rig_listen(r);
    config.loop = r->loop;
    config.http = r->http;
    config.clock = ebb_clock_real();
    config.find_place = rig_find_place;
    config.context = r;
    r->e2b = ebb_e2b_new(&config, &err);
    r->registry = ebb_registry_new(&err);
    assert_int_equal(ebb_e2b_register(r->e2b, r->registry, &err), 0);
    return r;
}

static inline rig *rig_open(void)
{
    return rig_open_with((ebb_e2b_config){ 0 });
}

static inline void rig_close(rig *r)
{
    ebb_registry_free(r->registry);
    ebb_http_client_free(r->http);
    ebb_e2b_free(r->e2b);
    ebb_http_server_close(r->server);
    ebb_loop_run(r->loop, 0);
    ebb_loop_free(r->loop);
    for (size_t i = 0; i < r->requests_n; i++)
        ebb_buf_clear(&r->requests[i].body);
    if (r->local)
        unlink(r->socket_path);
    free(r->requests);
    free(r);
}

static inline void rig_add(rig *r, rig_rule rule)
{
    assert_true(r->rules_n < RIG_RULES);
    r->rules[r->rules_n++] = rule;
}

/* An answer with a JSON body, every time. */
static inline void rig_on(rig *r, const char *method, const char *path,
                          int status, const char *body)
{
    rig_add(r, (rig_rule){ .method = method,
                           .path = path,
                           .status = status,
                           .body = body });
}

/* How often a request came. */
static inline int rig_count(const rig *r, const char *line)
{
    int n = 0;

    for (size_t i = 0; i < r->requests_n; i++)
        n += strcmp(r->requests[i].line, line) == 0;
    return n;
}

/* The nth request of that line, from 0. */
static inline rig_request *rig_get(rig *r, const char *line, int nth)
{
    for (size_t i = 0; i < r->requests_n; i++)
        if (strcmp(r->requests[i].line, line) == 0 && nth-- == 0)
            return &r->requests[i];
    fail_msg("no request %s", line);
    return r->requests;
}
