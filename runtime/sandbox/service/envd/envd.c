/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "sandbox/service/envd/envd_rpc.h"

#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define USER_BYTES_MAX 1024u

struct endpoint {
    const char *path, *method;
    bool open; /* checks its token itself, or needs none */
    void (*handle)(ebb_envd_call *call);
};

static void health(ebb_envd_call *call)
{
    ebb_exchange_add_header(call->exchange, "Cache-Control", "no-store");
    ebb_exchange_add_header(call->exchange, "Content-Type", "");
    ebb_envd_reply_empty(call, 204);
}

static void envs(ebb_envd_call *call)
{
    const ebb_value *global = call->envd->sandbox->envs;
    ebb_value *all = ebb_value_object(), *member;
    const char *key;
    void *place = NULL;

    if (all)
        ebb_value_set(all, "E2B_SANDBOX", ebb_value_text("true"));
    while (all && global && ebb_value_next(global, &place, &key, &member))
        ebb_value_set(all, key, ebb_value_copy(member));
    ebb_exchange_add_header(call->exchange, "Cache-Control", "no-store");
    ebb_envd_reply_value(call, 200, "application/json", all, true);
    ebb_value_free(all);
}

static void put_bytes(ebb_value *out, const char *name, uint64_t bytes)
{
    ebb_value_set(out, name, ebb_value_int((int64_t)bytes));
}

/* The share of one CPU's time since the sandbox began, as a percentage. */
static double cpu_percent(const ebb_sandbox *sandbox, double cpu_seconds)
{
    double life = difftime(time(NULL), sandbox->started_ms / 1000);
    double percent = life > 0 ? 100.0 * cpu_seconds / life : 0.0;

    return (double)(long)(percent * 100.0) / 100.0;
}

static void metrics(ebb_envd_call *call)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t total = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    ebb_box_usage usage = { 0 };
    ebb_value *out = ebb_value_object();

    ebb_box_usage_get(call->envd->sandbox->box, &usage);
    if (out) {
        put_bytes(out, "ts", (uint64_t)time(NULL));
        put_bytes(out, "cpu_count", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
        ebb_value_set(out, "cpu_used_pct",
                      ebb_value_float(
                          cpu_percent(call->envd->sandbox, usage.cpu_seconds)));
        put_bytes(out, "mem_total_mib", total >> 20);
        put_bytes(out, "mem_used_mib", usage.memory_bytes >> 20);
        put_bytes(out, "mem_total", total);
        put_bytes(out, "mem_used", usage.memory_bytes);
        put_bytes(out, "mem_cache", 0);
        put_bytes(out, "disk_used", usage.disk_bytes);
        put_bytes(out, "disk_total", usage.disk_total_bytes);
    }
    ebb_exchange_add_header(call->exchange, "Cache-Control", "no-store");
    ebb_envd_reply_value(call, 200, "application/json", out, true);
    ebb_value_free(out);
}

static void compose(ebb_envd_call *call)
{
    ebb_envd_reply_error(call, 501,
                         "the local service does not compose files: "
                         "concatenate them with a command");
}

static const struct endpoint endpoints[] = {
    { "/health", "GET", true, health },
    { "/metrics", "GET", false, metrics },
    { "/envs", "GET", false, envs },
    { "/files", "GET", true, ebb_envd_files_get },
    { "/files", "POST", true, ebb_envd_files_post },
    { "/files/compose", "POST", false, compose },
};
#define ENDPOINTS (sizeof endpoints / sizeof endpoints[0])

static const struct endpoint *find_endpoint(const char *path,
                                            const char *method)
{
    size_t i;

    for (i = 0; i < ENDPOINTS; i++) {
        if (strcmp(path, endpoints[i].path) == 0 &&
            strcmp(method, endpoints[i].method) == 0)
            return &endpoints[i];
    }
    return NULL;
}

/* ---- the checks before routing: origin, token, user ---- */

/* Any origin may call; true if this was only the question whether. */
static bool cross_origin(ebb_envd_call *call)
{
    ebb_exchange *ex = call->exchange;
    const char *method =
        ebb_exchange_header(ex, "Access-Control-Request-Method");
    const char *headers =
        ebb_exchange_header(ex, "Access-Control-Request-Headers");

    if (!ebb_exchange_header(ex, "Origin"))
        return false;
    ebb_exchange_add_header(ex, "Access-Control-Allow-Origin", "*");
    if (strcmp(ebb_exchange_method(ex), "OPTIONS") != 0 || !method) {
        ebb_exchange_add_header(
            ex, "Access-Control-Expose-Headers",
            "Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin, Location, "
            "Cache-Control, X-Content-Type-Options");
        return false;
    }
    if (headers)
        ebb_exchange_add_header(ex, "Access-Control-Allow-Headers", headers);
    ebb_exchange_add_header(ex, "Access-Control-Allow-Methods", method);
    ebb_exchange_add_header(ex, "Access-Control-Max-Age", "7200");
    ebb_exchange_add_header(ex, "Vary",
                            "Origin, Access-Control-Request-Method, "
                            "Access-Control-Request-Headers");
    ebb_envd_call_answered(call);
    ebb_exchange_reply(ex, 204, NULL, NULL, 0);
    return true;
}

static bool check_token(ebb_envd_call *call, const struct endpoint *endpoint)
{
    const char *token = call->envd->sandbox->token;
    const char *given;

    if (!*token || (endpoint && endpoint->open))
        return true;
    given = ebb_exchange_header(call->exchange, "X-Access-Token");
    if (given && ebb_digest_equal(given, token))
        return true;
    ebb_envd_reply_error(call, 401,
                         "unauthorized access, please provide a valid access "
                         "token or method signing if supported");
    return false;
}

/*
 * Inside there is one uid, 1000, so both names run as it: `root` is accepted
 * because callers ask for it by habit, but nobody is root in there.
 */
const char *ebb_envd_user_find(const char *name)
{
    if (!*name || strcmp(name, "user") == 0)
        return "user";
    return strcmp(name, "root") == 0 ? "root" : NULL;
}

static void refuse_user(ebb_envd_call *call, const char *name)
{
    const char *type = ebb_exchange_header(call->exchange, "Content-Type");
    char *message = ebb_mem_printf("invalid username: '%s'", name);

    if (message && type && strncasecmp(type, "application/connect+", 20) == 0)
        ebb_envd_rpc_refuse_user(call, type, message);
    else
        ebb_envd_rpc_reply_error(call, EBB_CONNECT_UNAUTHENTICATED,
                                 message ? message : "invalid username");
    ebb_mem_free(message);
}

/* Basic authorization names the user; another scheme is ignored. */
static bool check_user(ebb_envd_call *call)
{
    const char *given = ebb_exchange_header(call->exchange, "Authorization");
    char *colon;
    ebb_buf text;
    bool known = true;

    ebb_buf_init(&text, USER_BYTES_MAX);
    if (given && strncasecmp(given, "Basic ", 6) == 0 &&
        ebb_base64_parse(&text, given + 6, strlen(given + 6), true) == 0 &&
        text.n > 0 && (colon = strchr(text.bytes, ':')) != NULL) {
        *colon = '\0';
        call->user = ebb_envd_user_find(text.bytes);
        if (!call->user) {
            known = false;
            call->user = ebb_envd_user_find("");
            refuse_user(call, text.bytes);
        }
    }
    ebb_buf_clear(&text);
    return known;
}

static void refuse_method(ebb_envd_call *call, const char *path, bool rpc)
{
    size_t i;

    if (rpc)
        ebb_exchange_add_header(call->exchange, "Allow", "POST");
    for (i = 0; i < ENDPOINTS; i++) {
        if (strcmp(path, endpoints[i].path) == 0)
            ebb_exchange_add_header(call->exchange, "Allow",
                                    endpoints[i].method);
    }
    ebb_envd_reply_empty(call, 405);
}

static bool path_is_known(const char *path)
{
    size_t i;

    for (i = 0; i < ENDPOINTS; i++) {
        if (strcmp(path, endpoints[i].path) == 0)
            return true;
    }
    return false;
}

static void route(ebb_envd_call *call)
{
    const char *path = ebb_exchange_path(call->exchange);
    const char *method = ebb_exchange_method(call->exchange);
    const struct endpoint *endpoint = find_endpoint(path, method);
    const ebb_envd_method *rpc = ebb_envd_method_find(path);

    if (cross_origin(call) || !check_token(call, endpoint) || !check_user(call))
        return;
    if (endpoint)
        endpoint->handle(call);
    else if (rpc && strcmp(method, "POST") == 0)
        ebb_envd_rpc_start(call, rpc);
    else if (rpc || path_is_known(path))
        refuse_method(call, path, rpc != NULL);
    else
        ebb_envd_reply_text(call, 404, "404 page not found\n");
}

/* ---- calls ---- */

static void unlink_call(ebb_envd_call *call)
{
    if (call->at) {
        *call->at = call->next;
        if (call->next)
            call->next->at = call->at;
    }
    call->at = NULL;
    call->next = NULL;
}

static void release(ebb_envd_call *call)
{
    if (call->exchange || call->holds > 0)
        return;
    unlink_call(call);
    ebb_envd_rpc_free(call->rpc);
    ebb_mem_free(call);
}

void ebb_envd_call_hold(ebb_envd_call *call)
{
    call->holds++;
}

bool ebb_envd_call_open(const ebb_envd_call *call)
{
    return call->exchange && call->envd && !call->answered;
}

bool ebb_envd_call_arrived(ebb_envd_call *call)
{
    bool open = ebb_envd_call_open(call);

    call->holds--;
    release(call);
    return open;
}

void ebb_envd_call_answered(ebb_envd_call *call)
{
    call->answered = true;
    call->on_cancel = NULL;
}

void ebb_envd_call_cancel(ebb_envd_call *call)
{
    void (*fn)(ebb_envd_call *) = call->on_cancel;

    call->on_cancel = NULL;
    if (fn)
        fn(call);
}

static void on_close(void *context, ebb_exchange *exchange)
{
    ebb_envd_call *call = context;

    (void)exchange;
    call->exchange = NULL;
    ebb_envd_call_cancel(call);
    release(call);
}

void ebb_envd_request(ebb_envd *envd, ebb_exchange *exchange)
{
    ebb_envd_call *call = ebb_mem_zero(sizeof *call);

    if (!call) {
        ebb_exchange_abort(exchange);
        return;
    }
    call->envd = envd;
    call->exchange = exchange;
    call->user = ebb_envd_user_find("");
    call->next = envd->calls;
    call->at = &envd->calls;
    if (call->next)
        call->next->at = &call->next;
    envd->calls = call;
    ebb_exchange_on_close(exchange, on_close, call);
    route(call);
}

ebb_envd *ebb_envd_new(ebb_sandbox *sandbox, ebb_err *err)
{
    ebb_envd *envd = ebb_mem_zero(sizeof *envd);

    if (!envd) {
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for a sandbox");
        return NULL;
    }
    envd->sandbox = sandbox;
    envd->loop = ebb_service_loop(sandbox->service);
    return envd;
}

/* As when the machine under a real envd stops: no end, no error. */
static void cut(ebb_envd_call *call)
{
    ebb_envd_call_cancel(call);
    if (ebb_envd_call_open(call)) {
        ebb_envd_call_answered(call);
        ebb_exchange_abort(call->exchange);
    }
}

void ebb_envd_cancel(ebb_envd *envd)
{
    ebb_envd_call *call;

    for (call = envd->calls; call; call = call->next)
        cut(call);
}

void ebb_envd_free(ebb_envd *envd)
{
    if (!envd)
        return;
    ebb_envd_cancel(envd);
    while (envd->calls) {
        ebb_envd_call *call = envd->calls;

        unlink_call(call);
        call->envd = NULL;
    }
    ebb_envd_processes_free(envd);
    ebb_mem_free(envd);
}
