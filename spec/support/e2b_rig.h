/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The E2B client against a scripted service: a real HTTP server on loopback
 * that answers by rules, records what it was sent and counts it. One rig a
 * test. The calls are in e2b_call.h.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/mem.h"
#include "e2b/client.h"
#include "net/http_server.h"

#define RIG_RULES    32
#define RIG_REQUESTS 256

typedef enum rig_how {
    RIG_REPLY, /* the whole answer */
    RIG_CUT,   /* the body, then the connection is cut */
    RIG_DROP,  /* the connection is cut at once */
    RIG_HOLD   /* the body, then nothing more */
} rig_how;

typedef struct rig_rule {
    const char *method;
    const char *path; /* all of it */
    int status;
    const char *body;
    size_t n;           /* 0: strlen(body) */
    const char *header; /* "Name: value", or NULL */
    rig_how how;
    int times; /* how often it holds; 0: always */
    int used;
} rig_rule;

typedef struct rig_request {
    char line[160];     /* "POST /files" */
    char query[512];    /* "metadata=…&limit=…", of the names below */
    char headers[1024]; /* "name: value\n" of those below */
    ebb_buf body;
    ebb_exchange *held; /* RIG_HOLD: still open */
} rig_request;

typedef struct rig {
    ebb_loop *loop;
    ebb_http_client *http;
    ebb_http_server *server;
    ebb_e2b *e2b;
    ebb_registry *registry;
    char url[64];
    const char *api_key;
    rig_rule rules[RIG_RULES];
    size_t rules_n;
    rig_request *requests;
    size_t requests_n;
    /* Called after each request was recorded, before it is answered. */
    void (*on_request)(struct rig *rig, rig_request *request);
    ebb_attempt_hooks hooks;
} rig;

static inline void rig_add_header(void *context, const char *name,
                                  const char *value)
{
    static const char *const wanted[] = {
        "x-api-key",
        "x-access-token",
        "e2b-sandbox-id",
        "e2b-sandbox-port",
        "connect-timeout-ms",
        "content-type",
        "idempotency-key",
        "keepalive-ping-interval",
        "authorization",
        "e2b-traffic-access-token",
        "connect-protocol-version",
    };
    rig_request *request = context;
    size_t n = strlen(request->headers);

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcasecmp(wanted[i], name) == 0)
            snprintf(request->headers + n, sizeof request->headers - n,
                     "%s: %s\n", wanted[i], value);
}

static inline void rig_record(rig *r, ebb_exchange *exchange)
{
    static const char *const names[] = {
        "metadata", "state",  "nextToken", "limit", "path",   "start",
        "end",      "cursor", "direction", "level", "search",
    };
    const ebb_buf *body = ebb_exchange_body(exchange);
    rig_request *request = &r->requests[r->requests_n];

    assert_true(r->requests_n < RIG_REQUESTS);
    r->requests_n++;
    snprintf(request->line, sizeof request->line, "%s %s",
             ebb_exchange_method(exchange), ebb_exchange_path(exchange));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = ebb_exchange_query(exchange, names[i]);
        size_t n = strlen(request->query);
        if (value != NULL)
            snprintf(request->query + n, sizeof request->query - n, "%s%s=%s",
                     n ? "&" : "", names[i], value);
    }
    ebb_exchange_headers(exchange, rig_add_header, request);
    ebb_buf_init(&request->body, 0);
    if (body->n > 0)
        ebb_buf_add(&request->body, body->bytes, body->n);
}

static inline rig_rule *rig_match(rig *r, ebb_exchange *exchange)
{
    for (size_t i = 0; i < r->rules_n; i++) {
        rig_rule *rule = &r->rules[i];
        if (strcmp(rule->method, ebb_exchange_method(exchange)) == 0 &&
            strcmp(rule->path, ebb_exchange_path(exchange)) == 0 &&
            (rule->times == 0 || rule->used < rule->times)) {
            rule->used++;
            return rule;
        }
    }
    return NULL;
}

static inline void rig_add_rule_header(ebb_exchange *exchange,
                                       const char *header)
{
    char name[64];
    const char *colon = header == NULL ? NULL : strstr(header, ": ");

    if (colon == NULL)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(colon - header), header);
    ebb_exchange_add_header(exchange, name, colon + 2);
}

static inline void rig_abort(void *context, ebb_exchange *exchange)
{
    (void)context;
    ebb_exchange_abort(exchange);
}

static inline void rig_answer(void *context, ebb_exchange *exchange)
{
    static const char none[] = "{\"code\":404,\"message\":\"no such route\"}";
    rig *r = context;
    rig_request *request = &r->requests[r->requests_n];
    rig_rule *rule = rig_match(r, exchange);
    const char *body = rule && rule->body ? rule->body : "";
    size_t n = rule && rule->n ? rule->n : strlen(body);

    rig_record(r, exchange);
    if (r->on_request != NULL)
        r->on_request(r, request);
    if (rule == NULL) {
        ebb_exchange_reply(exchange, 404, "application/json", none,
                           sizeof none - 1);
        return;
    }
    if (rule->how == RIG_DROP) {
        ebb_exchange_abort(exchange);
        return;
    }
    rig_add_rule_header(exchange, rule->header);
    if (rule->how == RIG_REPLY) {
        ebb_exchange_reply(exchange, rule->status, "application/json", body, n);
        return;
    }
    ebb_exchange_begin(exchange, rule->status, "application/connect+proto", -1);
    if (n > 0)
        ebb_exchange_write(exchange, body, n);
    if (rule->how == RIG_HOLD)
        request->held = exchange;
    else if (n > 0)
        ebb_exchange_on_drain(exchange, rig_abort, NULL);
    else
        ebb_exchange_abort(exchange);
}

static inline void rig_close_held(void *context, ebb_exchange *exchange)
{
    rig *r = context;

    for (size_t i = 0; i < r->requests_n; i++)
        if (r->requests[i].held == exchange)
            r->requests[i].held = NULL;
}

static inline void rig_request_came(void *context, ebb_exchange *exchange)
{
    ebb_exchange_on_close(exchange, rig_close_held, context);
    ebb_exchange_collect(exchange, 16u << 20, rig_answer, context);
}

static inline void rig_find_place(void *context, ebb_e2b_place_fn *done,
                                  void *done_context)
{
    rig *r = context;
    ebb_e2b_place place = {
        .api_key = r->api_key,
        .api_url = r->url,
        .sandbox_url = r->url,
        .domain = "e2b.app",
    };

    done(done_context, &place, NULL);
}

static inline rig *rig_open(void)
{
    rig *r = calloc(1, sizeof *r);
    ebb_http_server_config server;
    ebb_e2b_config config = { 0 };
    ebb_err err = { 0 };

    r->requests = calloc(RIG_REQUESTS, sizeof *r->requests);
    r->api_key = "e2b_cafecafecafe";
    r->loop = ebb_loop_new(NULL, &err);
    r->http = ebb_http_client_new(r->loop, &err);
    ebb_http_server_config_init(&server);
    server.host = "127.0.0.1";
    server.on_request = rig_request_came;
    server.context = r;
    r->server = ebb_http_server_open(r->loop, &server, &err);
    assert_non_null(r->server);
    snprintf(r->url, sizeof r->url, "http://127.0.0.1:%d",
             ebb_http_server_port(r->server));
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
