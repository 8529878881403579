/* SPDX-License-Identifier: MIT */
#include "sandbox/service/proxy.h"

#include "sandbox/service/control/control.h"
#include "sandbox/service/reply.h"
#include "sandbox/service/service.h"
#include "sandbox/service/table.h"

#include <stdlib.h>
#include <string.h>

#define ID_CHARS "abcdefghijklmnopqrstuvwxyz0123456789"

typedef struct target {
    char id[EBB_CONTROL_ID_BYTES];
    unsigned port;
} target;

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool parse_port(const char *text, size_t n, unsigned *port)
{
    if (n == 0 || n > 5 || strspn(text, "0123456789") < n)
        return false;
    *port = (unsigned)strtoul(text, NULL, 10);
    return *port >= 1 && *port <= 65535;
}

static bool parse_id(const char *text, size_t n, target *t)
{
    if (n == 0 || n >= sizeof t->id || strspn(text, ID_CHARS) < n)
        return false;
    memcpy(t->id, text, n);
    t->id[n] = '\0';
    return true;
}

/* "<port>-<id>.<domain>" */
static bool parse_host(const char *host, target *t)
{
    size_t port_n = strspn(host, "0123456789");
    const char *id = host + port_n + 1;
    size_t id_n = host[port_n] == '-' ? strspn(id, ID_CHARS) : 0;

    return id_n > 0 && id[id_n] == '.' && parse_port(host, port_n, &t->port) &&
           parse_id(id, id_n, t);
}

/* The id's part before a dash counts, as everywhere (e2b.md 4.1). */
static bool parse_headers(ebb_exchange *exchange, const char *id,
                          const char *port, target *t)
{
    if (id == NULL || port == NULL)
        ebb_service_reply_text(exchange, 400, "missing header");
    else if (!parse_id(id, strcspn(id, "-"), t))
        ebb_service_reply_text(exchange, 400, "Invalid sandbox ID");
    else if (!parse_port(port, strlen(port), &t->port))
        ebb_service_reply_text(exchange, 400, "Invalid sandbox port");
    else
        return true;
    return false;
}

static void reply_502(ebb_exchange *exchange, const target *t,
                      const char *message, bool with_port)
{
    ebb_value *o = ebb_value_object();

    if ((ebb_value_set(o, "sandboxId", ebb_value_text(t->id)) |
         ebb_value_set(o, "message", ebb_value_text(message)) |
         (with_port ? ebb_value_set(o, "port", ebb_value_int(t->port)) : 0) |
         ebb_value_set(o, "code", ebb_value_int(502))) != 0) {
        ebb_value_free(o);
        o = NULL;
    }
    ebb_service_reply_take(exchange, 502, o);
}

/* Routes of envd that only the host may call. */
static bool is_internal(const char *path)
{
    static const char *const paths[] = { "/init",     "/freeze",   "/unfreeze",
                                         "/collapse", "/fsfreeze", "/fsthaw",
                                         "/upgrade" };
    size_t i;

    for (i = 0; i < COUNT(paths); i++)
        if (strcmp(paths[i], path) == 0)
            return true;
    return false;
}

static void reply_internal(ebb_exchange *exchange)
{
    ebb_value *o = ebb_value_object();

    if ((ebb_value_set(o, "message",
                       ebb_value_text("this route is not for clients")) |
         ebb_value_set(o, "path", ebb_value_text(ebb_exchange_path(exchange))) |
         ebb_value_set(o, "code", ebb_value_int(404))) != 0) {
        ebb_value_free(o);
        o = NULL;
    }
    ebb_service_reply_take(exchange, 404, o);
}

static void dispatch(ebb_service *service, ebb_exchange *exchange,
                     const target *t)
{
    ebb_sandbox *s = ebb_table_find(service, t->id);

    if (s == NULL || s->state != EBB_SANDBOX_RUNNING)
        reply_502(exchange, t, "The sandbox was not found", false);
    else if (t->port == EBB_INTERPRETER_PORT)
        ebb_interpreter_request(s->interpreter, exchange);
    else if (t->port != EBB_ENVD_PORT)
        reply_502(exchange, t, "The sandbox is running but port is not open",
                  true);
    else if (is_internal(ebb_exchange_path(exchange)))
        reply_internal(exchange);
    else
        ebb_envd_request(s->envd, exchange);
}

/*
 * A signed URL names no sandbox when all are on one origin: it is of the one
 * whose token made its signature.
 */
static void dispatch_signed(ebb_service *service, ebb_exchange *exchange)
{
    const ebb_sandbox *s;
    target t = { .port = EBB_ENVD_PORT };

    if (ebb_exchange_query(exchange, "signature") == NULL) {
        ebb_service_reply_text(exchange, 400, "missing header");
        return;
    }
    for (s = service->sandboxes; s != NULL; s = s->next)
        if (s->token[0] != '\0' && ebb_envd_signature_matches(s, exchange))
            break;
    if (s == NULL) {
        ebb_service_reply_error(exchange, 401, "invalid signature");
        return;
    }
    memcpy(t.id, s->id, sizeof s->id);
    dispatch(service, exchange, &t);
}

/* Paths that only the data plane has. */
static bool is_data_path(const char *path)
{
    static const char *const prefixes[] = {
        "/process.Process/",
        "/filesystem.Filesystem/",
        "/execute",
        "/contexts",
        "/envs",
        "/metrics",
        "/files/compose",
    };
    size_t i;

    for (i = 0; i < COUNT(prefixes); i++)
        if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

bool ebb_proxy_start(ebb_service *service, ebb_exchange *exchange)
{
    const char *host = ebb_exchange_header(exchange, "Host");
    const char *id = ebb_exchange_header(exchange, "E2b-Sandbox-Id");
    const char *port = ebb_exchange_header(exchange, "E2b-Sandbox-Port");
    const char *path = ebb_exchange_path(exchange);
    target t;

    if (host != NULL && parse_host(host, &t)) {
        dispatch(service, exchange, &t);
    } else if (id != NULL || port != NULL) {
        if (parse_headers(exchange, id, port, &t))
            dispatch(service, exchange, &t);
    } else if (strcmp(path, "/files") == 0) {
        dispatch_signed(service, exchange);
    } else if (is_data_path(path)) {
        ebb_service_reply_text(exchange, 400, "missing header");
    } else {
        return false;
    }
    return true;
}
