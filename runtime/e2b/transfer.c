/* SPDX-License-Identifier: MIT */
#include "e2b/transfer.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "e2b/state.h"

#define HEADERS_MAX    24
#define ANSWER_BYTES   65536
#define URL_BYTES_MAX  65536
#define USER_BYTES_MAX 4096

struct ebb_e2b_transfer {
    ebb_e2b *e2b;
    ebb_http_call *http;
    ebb_e2b_transfer_config config; /* callbacks and limits only */
    ebb_buf body; /* of an answer that does not stream, where a 200 would */
    bool done;    /* inside on_done: freed when that has returned */
};

/* Hosts whose sandboxes share one name and are told apart by headers. */
static const char *const shared_domains[] = {
    "e2b.app",       "e2b.dev",         "e2b.pro",           "e2b-staging.dev",
    "e2b-tango.dev", "e2b-juliett.dev", "foxtrot-2.e2b.dev",
};

void ebb_e2b_target_clear(ebb_e2b_target *target)
{
    ebb_mem_free(target->id);
    ebb_mem_free(target->domain);
    ebb_mem_free(target->token);
    ebb_mem_free(target->traffic_token);
    ebb_mem_free(target->envd_version);
    *target = (ebb_e2b_target){ 0 };
}

static bool copied(char **copy, const char *text)
{
    *copy = ebb_mem_dup(text);
    return text == NULL || *copy != NULL;
}

int ebb_e2b_target_copy(ebb_e2b_target *copy, const ebb_e2b_target *target)
{
    *copy = (ebb_e2b_target){ 0 };
    if (copied(&copy->id, target->id) &&
        copied(&copy->domain, target->domain) &&
        copied(&copy->token, target->token) &&
        copied(&copy->traffic_token, target->traffic_token) &&
        copied(&copy->envd_version, target->envd_version))
        return 0;
    ebb_e2b_target_clear(copy);
    return -1;
}

static bool is_shared(const char *domain)
{
    for (size_t i = 0; i < sizeof shared_domains / sizeof *shared_domains; i++)
        if (strcmp(shared_domains[i], domain) == 0)
            return true;
    return false;
}

static void write_url(ebb_buf *url, const ebb_e2b_place *place,
                      const ebb_e2b_transfer_config *config)
{
    const char *domain = place->domain;

    if (config->target != NULL && config->target->domain != NULL)
        domain = config->target->domain;
    if (place->socket_path != NULL)
        ebb_buf_add_text(url, "http://localhost");
    else if (config->port == EBB_E2B_CONTROL)
        ebb_buf_add_text(url, place->api_url);
    else if (place->sandbox_url != NULL)
        ebb_buf_add_text(url, place->sandbox_url);
    else if (is_shared(domain))
        ebb_buf_printf(url, "https://sandbox.%s", domain);
    else if (config->target != NULL)
        ebb_buf_printf(url, "https://%d-%s.%s", (int)config->port,
                       config->target->id, domain);
    ebb_buf_add_text(url, config->path);
}

/* Of one in a sandbox. */
static const char *port_text(ebb_e2b_port port)
{
    return port == EBB_E2B_CODE ? "49999" : "49983";
}

/* Headers gathered for one request. */
typedef struct headers {
    ebb_http_header list[HEADERS_MAX];
    size_t n;
    ebb_buf basic;
} headers;

static void add(headers *all, const char *name, const char *value)
{
    if (value != NULL && all->n < HEADERS_MAX)
        all->list[all->n++] = (ebb_http_header){ name, value };
}

/* RFC 7617 with an empty password: how envd takes the user's name. */
static void add_user(headers *all, const char *user)
{
    char *pair;

    if (user == NULL)
        return;
    pair = ebb_mem_printf("%s:", user);
    ebb_buf_add_text(&all->basic, "Basic ");
    if (pair == NULL)
        all->basic.failed = all->basic.starved = true;
    else
        ebb_base64_write(&all->basic, pair, strlen(pair));
    ebb_mem_free(pair);
    add(all, "Authorization", all->basic.bytes);
}

static void add_all(headers *all, const ebb_e2b *e2b,
                    const ebb_e2b_transfer_config *config)
{
    const ebb_e2b_target *target = config->target;

    add(all, "User-Agent", e2b->user_agent);
    add(all, "Content-Type", config->content_type);
    if (config->port == EBB_E2B_CONTROL)
        add(all, "X-API-Key", e2b->place.api_key);
    if (target != NULL) {
        add(all, "E2b-Sandbox-Id", target->id);
        add(all, "E2b-Sandbox-Port", port_text(config->port));
        add(all, "X-Access-Token", target->token);
        if (config->port == EBB_E2B_CODE)
            add(all, "E2B-Traffic-Access-Token", target->traffic_token);
        add_user(all, config->user);
    }
    for (size_t i = 0; i < config->headers_count; i++)
        add(all, config->headers[i].name, config->headers[i].value);
}

static void transfer_free(ebb_e2b_transfer *t)
{
    ebb_buf_clear(&t->body);
    ebb_mem_free(t);
}

static void end(ebb_e2b_transfer *t, const ebb_err *err)
{
    t->done = true;
    t->config.on_done(t->config.context, t, err);
    transfer_free(t);
}

static int on_body(void *context, ebb_http_call *call, const char *bytes,
                   size_t n)
{
    ebb_e2b_transfer *t = context;

    if (t->config.on_body != NULL && ebb_http_status(call) == 200)
        return t->config.on_body(t->config.context, bytes, n);
    /* Of an error's body the beginning is enough. */
    if (n > ANSWER_BYTES - t->body.n)
        n = ANSWER_BYTES - t->body.n;
    return ebb_buf_add(&t->body, bytes, n);
}

static void before_body(void *context, ebb_http_call *call)
{
    ebb_e2b_transfer *t = context;

    (void)call;
    t->config.before_body(t->config.context);
}

/* Its status says what counts; of its body the beginning is enough. */
static bool is_long_error(const ebb_e2b_transfer *t, const ebb_err *err)
{
    return err != NULL && err->code == EBB_LIMIT_EXCEEDED &&
           t->config.on_body == NULL && ebb_http_status(t->http) >= 400;
}

static void on_done(void *context, ebb_http_call *call, const ebb_err *err)
{
    ebb_e2b_transfer *t = context;
    ebb_err why = { 0 };

    (void)call;
    /* It was us who stopped, for the answer's size or for memory. */
    if (err != NULL && ebb_buf_check(&t->body, "the answer", &why) != 0)
        err = &why;
    else if (is_long_error(t, err))
        err = NULL;
    if (err != NULL && err->code == EBB_NETWORK && !ebb_http_was_sent(t->http))
        ebb_e2b_place_lost(t->e2b);
    end(t, err);
}

static ebb_http_call *start(ebb_e2b_transfer *t,
                            const ebb_e2b_transfer_config *config,
                            const ebb_buf *url, const headers *all,
                            ebb_err *err)
{
    size_t answer_max = config->answer_max ? config->answer_max : ANSWER_BYTES;
    ebb_http_request request = {
        .method = config->method,
        .url = url->bytes,
        .socket_path = t->e2b->place.socket_path,
        .headers = all->list,
        .headers_count = all->n,
        .body = config->body,
        .body_n = config->body_n,
        .pieces = config->pieces,
        .pieces_count = config->pieces_count,
        .once = config->before_body != NULL,
        .accept_gzip = config->port == EBB_E2B_CONTROL,
        .body_max = config->on_body != NULL ? 0 : answer_max,
        .gathers = config->on_body == NULL,
        .limits = config->limits,
        .context = t,
        .on_body = on_body,
        .before_body = config->before_body != NULL ? before_body : NULL,
        .unheld = config->unheld,
        .on_done = on_done,
    };

    if (request.limits.connect_ms == 0)
        request.limits.connect_ms = t->e2b->config.connect_ms;
    return ebb_http_start(t->e2b->config.http, &request, err);
}

ebb_e2b_transfer *ebb_e2b_transfer_start(ebb_e2b *e2b,
                                         const ebb_e2b_transfer_config *config,
                                         ebb_err *err)
{
    ebb_e2b_transfer *t = ebb_mem_zero(sizeof *t);
    headers all = { .n = 0 };
    ebb_buf url;

    ebb_buf_init(&url, URL_BYTES_MAX);
    ebb_buf_init(&all.basic, USER_BYTES_MAX);
    if (t == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "request to E2B");
        goto done;
    }
    t->e2b = e2b;
    t->config = *config;
    ebb_buf_init(&t->body, ANSWER_BYTES);
    write_url(&url, &e2b->place, config);
    add_all(&all, e2b, config);
    if (ebb_buf_check(&url, "the URL of a request", err) == 0 &&
        ebb_buf_check(&all.basic, "the user's name", err) == 0)
        t->http = start(t, config, &url, &all, err);
    if (t->http == NULL) {
        transfer_free(t);
        t = NULL;
    }
done:
    ebb_buf_clear(&url);
    ebb_buf_clear(&all.basic);
    return t;
}

void ebb_e2b_transfer_cancel(ebb_e2b_transfer *transfer)
{
    if (transfer == NULL || transfer->done)
        return;
    ebb_http_cancel(transfer->http);
    transfer_free(transfer);
}

void ebb_e2b_transfer_continue(ebb_e2b_transfer *transfer)
{
    ebb_http_continue(transfer->http);
}

int ebb_e2b_transfer_status(const ebb_e2b_transfer *transfer)
{
    return ebb_http_status(transfer->http);
}

const char *ebb_e2b_transfer_header(const ebb_e2b_transfer *transfer,
                                    const char *name)
{
    return ebb_http_answer_header(transfer->http, name);
}

const ebb_buf *ebb_e2b_transfer_body(const ebb_e2b_transfer *transfer)
{
    return transfer->config.on_body == NULL ? ebb_http_body(transfer->http)
                                            : &transfer->body;
}

bool ebb_e2b_transfer_was_sent(const ebb_e2b_transfer *transfer)
{
    return ebb_http_was_sent(transfer->http);
}
