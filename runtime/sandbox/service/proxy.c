/* SPDX-License-Identifier: MIT */
#include "sandbox/service/proxy.h"

#include "base/digest.h"
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

/* "<port>-<id>.<domain>"; SDKs before 2.0 put "-<client>" behind the id. */
static bool parse_host(const char *host, target *t)
{
    size_t port_n = strspn(host, "0123456789");
    const char *id = host + port_n + 1, *end;
    size_t id_n = host[port_n] == '-' ? strspn(id, ID_CHARS) : 0;

    if (id_n == 0)
        return false;
    end = id + id_n;
    if (*end == '-')
        end += 1 + strspn(end + 1, ID_CHARS);
    return *end == '.' && parse_port(host, port_n, &t->port) &&
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

/* The service of a path that only the data plane has, else 0. */
static unsigned port_of(const char *path)
{
    static const struct {
        const char *prefix;
        unsigned port;
    } rows[] = {
        { "/process.Process/", EBB_ENVD_PORT },
        { "/filesystem.Filesystem/", EBB_ENVD_PORT },
        { "/envs", EBB_ENVD_PORT },
        { "/metrics", EBB_ENVD_PORT },
        { "/files/compose", EBB_ENVD_PORT },
        { "/execute", EBB_INTERPRETER_PORT },
        { "/contexts", EBB_INTERPRETER_PORT },
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        if (strncmp(path, rows[i].prefix, strlen(rows[i].prefix)) == 0)
            return rows[i].port;
    return strcmp(path, "/files") == 0 ? EBB_ENVD_PORT : 0;
}

static bool token_matches(const ebb_sandbox *s, const ebb_exchange *exchange)
{
    const char *token = ebb_exchange_header(exchange, "X-Access-Token");

    return token != NULL && ebb_digest_equal(token, s->token);
}

/*
 * To the sandbox whose token the request shows: a signed URL names none when
 * all are on one origin, nor do several SDKs from 2.8 to 2.19. False if it is
 * no sandbox's.
 */
static bool dispatch_by_token(ebb_service *service, ebb_exchange *exchange,
                              bool (*matches)(const ebb_sandbox *sandbox,
                                              const ebb_exchange *exchange))
{
    target t = { .port = port_of(ebb_exchange_path(exchange)) };

    if (t.port == 0) /* /health, which the control plane has, too */
        t.port = EBB_ENVD_PORT;
    for (const ebb_sandbox *s = service->sandboxes; s != NULL; s = s->next) {
        if (s->token[0] == '\0' || !matches(s, exchange))
            continue;
        memcpy(t.id, s->id, sizeof s->id);
        dispatch(service, exchange, &t);
        return true;
    }
    return false;
}

/* A request of the data plane that names no sandbox. */
static void dispatch_nameless(ebb_service *service, ebb_exchange *exchange)
{
    const char *path = ebb_exchange_path(exchange);
    const target t = { .port = EBB_ENVD_PORT };

    if (dispatch_by_token(service, exchange, token_matches))
        return;
    if (strcmp(path, "/health") == 0) /* asked of one that is no more */
        reply_502(exchange, &t, "The sandbox was not found", false);
    else if (strcmp(path, "/files") != 0 ||
             ebb_exchange_query(exchange, "signature") == NULL)
        ebb_service_reply_text(exchange, 400, "missing header");
    else if (!dispatch_by_token(service, exchange, ebb_envd_signature_matches))
        ebb_service_reply_error(exchange, 401, "invalid signature");
}

/*
 * SDKs from 2.9 to 2.19 send the two headers to the control plane as well,
 * which E2B has on a host of its own. Neither of our services has such paths.
 */
static bool is_control_path(const target *t, const char *path)
{
    return (t->port == EBB_ENVD_PORT || t->port == EBB_INTERPRETER_PORT) &&
           (strncmp(path, "/sandboxes", 10) == 0 ||
            strncmp(path, "/v2/sandboxes", 13) == 0);
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
        if (!parse_headers(exchange, id, port, &t))
            return true;
        if (is_control_path(&t, path))
            return false;
        dispatch(service, exchange, &t);
    } else if (port_of(path) != 0 ||
               (strcmp(path, "/health") == 0 &&
                ebb_exchange_header(exchange, "X-Access-Token") != NULL)) {
        dispatch_nameless(service, exchange);
    } else {
        return false;
    }
    return true;
}
