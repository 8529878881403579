/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A scripted E2B: a real HTTP server on loopback that answers by rules,
 * records what it was sent and counts it. Opening it, and the client against
 * it, are in e2b_rig.h.
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
    RIG_HOLD,  /* the body, then nothing more */
    RIG_SILENT /* no answer at all */
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
    char socket_path[64]; /* listened at instead of TCP; "": none */
    const char *api_key;
    rig_rule rules[RIG_RULES];
    size_t rules_n;
    rig_request *requests;
    size_t requests_n;
    /* Called after each request was recorded, before it is answered. */
    void (*on_request)(struct rig *rig, rig_request *request);
    ebb_attempt_hooks hooks;
    bool local; /* at a Unix socket, as the local service is */
    int listens;
    int places;       /* how often find_place was asked */
    bool place_later; /* it answers when rig_tell_place is called */
    ebb_e2b_place_fn *place_done;
    void *place_context;
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
    if (rule->how == RIG_SILENT) {
        request->held = exchange;
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
