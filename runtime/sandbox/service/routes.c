/* SPDX-License-Identifier: MIT */
#include "sandbox/service/routes.h"

#include "base/mem.h"
#include "sandbox/service/auth.h"
#include "sandbox/service/control/control.h"
#include "sandbox/service/proxy.h"
#include "sandbox/service/reply.h"
#include "sandbox/service/service.h"
#include "sandbox/service/waiter.h"

#include <string.h>

typedef struct route {
    const char *method;
    const char *path; /* "{id}" is one segment; without a leading /v2 */
    bool body;
    ebb_control_fn *handler;
} route;

static void reply_health(ebb_control_call *call)
{
    ebb_service_reply_text(call->exchange, 200, "Health check successful");
}

static void reply_unsupported(ebb_control_call *call)
{
    ebb_service_reply_error(call->exchange, 501,
                            "%s %.256s is not supported by the local sandbox "
                            "service",
                            ebb_exchange_method(call->exchange),
                            ebb_exchange_path(call->exchange));
}

static const route routes[] = {
    { "POST", "/sandboxes", true, ebb_control_create },
    { "GET", "/sandboxes", false, ebb_control_list },
    { "GET", "/sandboxes/metrics", false, ebb_control_metrics_many },
    { "GET", "/sandboxes/{id}", false, ebb_control_get },
    { "DELETE", "/sandboxes/{id}", false, ebb_control_kill },
    { "POST", "/sandboxes/{id}/connect", true, ebb_control_connect },
    { "POST", "/sandboxes/{id}/resume", true, ebb_control_resume },
    { "POST", "/sandboxes/{id}/pause", true, ebb_control_pause },
    { "POST", "/sandboxes/{id}/timeout", true, ebb_control_set_timeout },
    { "POST", "/sandboxes/{id}/refreshes", true, ebb_control_refresh },
    { "GET", "/sandboxes/{id}/metrics", false, ebb_control_metrics },
    { "GET", "/sandboxes/{id}/logs", false, ebb_control_logs },
    { "PUT", "/sandboxes/{id}/network", false, reply_unsupported },
    { "POST", "/sandboxes/{id}/fork", false, reply_unsupported },
    { "POST", "/sandboxes/{id}/snapshots", false, reply_unsupported },
    { "GET", "/snapshots", false, reply_unsupported },
    { "GET", "/ebb/version", false, ebb_control_version },
};

/* What E2B has under these and this service has not. */
static const char *const unsupported[] = {
    "/templates", "/v3/templates",      "/volumes", "/volumecontent",
    "/secrets",   "/default-templates", "/teams",   "/nodes",
    "/api-keys",  "/access-tokens",     "/admin"
};

static const route health_route = { "GET", "/health", false, reply_health };
static const route unsupported_route = { "", "", false, reply_unsupported };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- matching ---- */

/* Cuts "<id>-<anything>" at its dash. false: no id at all (e2b.md 4.1). */
static bool parse_id(const char *segment, size_t n,
                     char id[EBB_CONTROL_ID_BYTES])
{
    size_t plain = strspn(segment, "abcdefghijklmnopqrstuvwxyz0123456789");
    size_t i;

    if (plain == 0 || plain >= EBB_CONTROL_ID_BYTES || plain > n)
        return false;
    if (plain < n && segment[plain] != '-')
        return false;
    for (i = plain + 1; i < n; i++)
        if (segment[i] == '-')
            return false;
    memcpy(id, segment, plain);
    id[plain] = '\0';
    return true;
}

/* Whether the path fits the pattern; *id is its segment for "{id}". */
static bool path_matches(const char *pattern, const char *path, const char **id,
                         size_t *id_n)
{
    while (*pattern == '/' && *path == '/') {
        size_t want = strcspn(++pattern, "/"), have = strcspn(++path, "/");

        if (want == 4 && strncmp(pattern, "{id}", 4) == 0 && have > 0) {
            *id = path;
            *id_n = have;
        } else if (want != have || strncmp(pattern, path, want) != 0) {
            return false;
        }
        pattern += want;
        path += have;
    }
    return *pattern == '\0' && *path == '\0';
}

static bool is_below(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(path, prefix, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* *known: some other method has this path. */
static const route *find_route(const char *method, const char *path,
                               const char **id, size_t *id_n, bool *known)
{
    size_t i;

    *known = false;
    if (strcmp(method, "GET") == 0 && strcmp(path, "/health") == 0)
        return &health_route;
    for (i = 0; i < COUNT(routes); i++) {
        if (!path_matches(routes[i].path, path, id, id_n))
            continue;
        *known = true;
        if (strcmp(routes[i].method, method) == 0)
            return &routes[i];
    }
    for (i = 0; i < COUNT(unsupported); i++)
        if (is_below(path, unsupported[i]))
            return &unsupported_route;
    return NULL;
}

/* The two routes whose deprecated form is another thing. */
static ebb_control_fn *handler_of(const route *r, bool v2)
{
    if (!v2 && r->handler == ebb_control_list)
        return ebb_control_list_running;
    if (!v2 && r->handler == ebb_control_logs)
        return ebb_control_logs_v1;
    return r->handler;
}

/* ---- a call ---- */

typedef struct pending {
    ebb_control_call call;
    ebb_control_fn *handler;
} pending;

static void on_close(void *context, ebb_exchange *exchange)
{
    pending *p = context;

    (void)exchange;
    ebb_waiter_cancel(p->call.service, &p->call);
    ebb_value_free(p->call.body);
    ebb_mem_free(p);
}

static void on_body(void *context, ebb_exchange *exchange)
{
    pending *p = context;
    const ebb_buf *text = ebb_exchange_body(exchange);
    ebb_err err;

    if (ebb_exchange_too_long(exchange)) {
        ebb_service_reply_error(exchange, 413, "a body has at most %u bytes",
                                EBB_CONTROL_BODY_MAX);
        return;
    }
    if (text != NULL && text->n > 0) {
        p->call.body =
            ebb_value_parse(text->bytes, text->n, EBB_CONTROL_VALUES_MAX, &err);
        if (p->call.body == NULL) {
            ebb_service_reply_error(exchange, 400,
                                    "Error when parsing request: %s", err.msg);
            return;
        }
        if (ebb_value_type(p->call.body) != EBB_OBJECT) {
            ebb_service_reply_error(exchange, 400,
                                    "validation error: the body is no "
                                    "object");
            return;
        }
    }
    p->handler(&p->call);
}

static void start_call(ebb_service *service, ebb_exchange *exchange,
                       const route *r, bool v2, const char *id)
{
    pending *p = ebb_mem_zero(sizeof *p);

    if (p == NULL) {
        ebb_service_reply_error(exchange, 500, "out of memory");
        return;
    }
    p->call.service = service;
    p->call.exchange = exchange;
    p->call.v2 = v2;
    memcpy(p->call.id, id, EBB_CONTROL_ID_BYTES);
    p->handler = handler_of(r, v2);
    ebb_exchange_on_close(exchange, on_close, p);
    if (r->body)
        ebb_exchange_collect(exchange, EBB_CONTROL_BODY_MAX, on_body, p);
    else
        p->handler(&p->call);
}

/* What a client may have meant that speaks more, or less, than we do. */
#define HINT                                                                   \
    "; docs/protocols.md of ebb lists the routes, a sandbox's own ports need " \
    "the headers E2b-Sandbox-Id and E2b-Sandbox-Port"

static void start_control(ebb_service *service, ebb_exchange *exchange)
{
    const char *path = ebb_exchange_path(exchange);
    const char *method = ebb_exchange_method(exchange);
    bool v2 = is_below(path, "/v2"), known;
    char id[EBB_CONTROL_ID_BYTES] = "";
    const char *segment = NULL;
    size_t segment_n = 0;
    const route *r =
        find_route(method, v2 ? path + 3 : path, &segment, &segment_n, &known);

    if (r != &health_route && !ebb_auth_check_key(service, exchange))
        return;
    if (r == NULL)
        ebb_service_reply_error(exchange, known ? 405 : 404,
                                known ? "%s is not a method of %.512s"
                                      : "no such route: %s %.512s" HINT,
                                method, path);
    else if (segment != NULL && !parse_id(segment, segment_n, id))
        ebb_service_reply_error(exchange, 400, "Invalid sandbox ID");
    else
        start_call(service, exchange, r, v2, id);
}

void ebb_routes_start(void *context, ebb_exchange *exchange)
{
    ebb_service *service = context;

    if (!ebb_auth_check_peer(exchange))
        return;
    if (!ebb_proxy_start(service, exchange))
        start_control(service, exchange);
}
