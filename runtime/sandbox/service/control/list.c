/* SPDX-License-Identifier: MIT */

/* GET /v2/sandboxes and GET /sandboxes. */

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/service/control/body.h"
#include "sandbox/service/control/control.h"
#include "sandbox/service/control/describe.h"
#include "sandbox/service/reply.h"
#include "sandbox/service/table.h"
#include "sandbox/service/unescape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MAX   100
#define TOKEN_BYTES 64

typedef struct query {
    ebb_value *metadata; /* object of strings that must match, or NULL */
    bool running, paused;
    int64_t started_after_ms;
    const char *template_id; /* NULL: any */
    bool ascending;
    size_t limit;
    bool has_place; /* begins after this one: */
    int64_t place_ms;
    char place_id[EBB_SANDBOX_ID_BYTES];
} query;

/* ---- the query ---- */

static int parse_states(const char *text, query *q, ebb_err *err)
{
    q->running = q->paused = text == NULL || *text == '\0';
    while (text != NULL && *text != '\0') {
        size_t n = strcspn(text, ",");

        if (n == 7 && strncmp(text, "running", n) == 0)
            q->running = true;
        else if (n == 6 && strncmp(text, "paused", n) == 0)
            q->paused = true;
        else
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "state: expected running or paused");
        text += n + (text[n] == ',');
    }
    return 0;
}

static int parse_limit(const char *text, query *q, ebb_err *err)
{
    int64_t limit = LIMIT_MAX;

    if (text != NULL && ebb_body_parse_int(text, "limit", &limit, err) != 0)
        return -1;
    if (limit < 1 || limit > LIMIT_MAX)
        return ebb_err_set(err, EBB_INVALID_INPUT, "limit: from 1 to %d",
                           LIMIT_MAX);
    q->limit = (size_t)limit;
    return 0;
}

static int parse_order(const char *text, query *q, ebb_err *err)
{
    q->ascending = text != NULL && strcmp(text, "asc") == 0;
    if (text != NULL && !q->ascending && strcmp(text, "desc") != 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "order: expected asc or desc");
    return 0;
}

/* "<start in ms>.<id>.<asc or desc>", opaque to clients. */
static int parse_token(const char *text, query *q, ebb_err *err)
{
    char *end = NULL;
    const char *order;

    if (text == NULL || *text == '\0')
        return 0;
    q->place_ms = strtoll(text, &end, 10);
    order = *end == '.' ? strchr(end + 1, '.') : NULL;
    if (order == NULL || order - end != EBB_SANDBOX_ID_BYTES)
        goto bad;
    memcpy(q->place_id, end + 1, EBB_SANDBOX_ID_BYTES - 1);
    if (!ebb_table_is_id(q->place_id) ||
        strcmp(order + 1, q->ascending ? "asc" : "desc") != 0)
        goto bad;
    q->has_place = true;
    return 0;
bad:
    return ebb_err_set(err, EBB_INVALID_INPUT, "Invalid next token");
}

static int add_pair(ebb_value *pairs, char *key, ebb_err *err)
{
    char *value = strchr(key, '=');

    if (value == NULL || strchr(value + 1, '=') != NULL)
        goto bad;
    *value++ = '\0';
    if (!ebb_unescape(key) || !ebb_unescape(value))
        goto bad;
    if (ebb_value_set(pairs, key, ebb_value_text(value)) != 0)
        goto bad;
    return 0;
bad:
    return ebb_err_set(err, EBB_INVALID_INPUT,
                       "metadata: expected k=v&k2=v2, each key and value "
                       "percent-encoded twice");
}

/* The HTTP layer has decoded it once; two layers are left (e2b.md 4.4). */
static int parse_metadata(const char *text, query *q, ebb_err *err)
{
    char *copy, *rest, *pair;
    int rc = 0;

    if (text == NULL || *text == '\0')
        return 0;
    q->metadata = ebb_value_object();
    copy = ebb_mem_dup(text);
    if (q->metadata == NULL || copy == NULL || !ebb_unescape(copy))
        rc = ebb_err_set(err, EBB_INVALID_INPUT,
                         "metadata: not percent-encoded");
    rest = copy;
    while (rc == 0 && (pair = strsep(&rest, "&")) != NULL)
        rc = add_pair(q->metadata, pair, err);
    ebb_mem_free(copy);
    return rc;
}

static int parse_query(const ebb_exchange *x, query *q, ebb_err *err)
{
    const char *after = ebb_exchange_query(x, "startedAfter");

    *q = (query){ .started_after_ms = INT64_MIN };
    q->template_id = ebb_exchange_query(x, "template");
    if (after != NULL && !ebb_clock_parse_iso(after, &q->started_after_ms))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "startedAfter: expected an RFC 3339 time");
    if (parse_states(ebb_exchange_query(x, "state"), q, err) != 0 ||
        parse_limit(ebb_exchange_query(x, "limit"), q, err) != 0 ||
        parse_order(ebb_exchange_query(x, "order"), q, err) != 0 ||
        parse_token(ebb_exchange_query(x, "nextToken"), q, err) != 0)
        return -1;
    return parse_metadata(ebb_exchange_query(x, "metadata"), q, err);
}

/* ---- the sandboxes ---- */

static bool metadata_matches(const ebb_sandbox *s, const ebb_value *wanted)
{
    void *place = NULL;
    const char *key;
    ebb_value *value;

    while (ebb_value_next(wanted, &place, &key, &value))
        if (!ebb_value_equal(ebb_value_find(s->metadata, key), value))
            return false;
    return true;
}

static bool matches(const ebb_sandbox *s, const query *q)
{
    bool running = ebb_describe_is_running(s);

    return ebb_describe_is_shown(s) && (running ? q->running : q->paused) &&
           s->started_ms >= q->started_after_ms &&
           (q->template_id == NULL ||
            strcmp(q->template_id, s->template_id) == 0) &&
           (q->metadata == NULL || metadata_matches(s, q->metadata));
}

static int compare_place(int64_t a_ms, const char *a_id, int64_t b_ms,
                         const char *b_id)
{
    if (a_ms != b_ms)
        return a_ms < b_ms ? -1 : 1;
    return strcmp(a_id, b_id);
}

typedef struct row {
    const ebb_sandbox *sandbox;
} row;

static int by_start(const void *a, const void *b)
{
    const ebb_sandbox *x = ((const row *)a)->sandbox;
    const ebb_sandbox *y = ((const row *)b)->sandbox;

    return compare_place(x->started_ms, x->id, y->started_ms, y->id);
}

static int by_start_down(const void *a, const void *b)
{
    return by_start(b, a);
}

/* Those that match, in order. NULL: no memory. */
static row *collect(const ebb_service *service, const query *q, size_t *n)
{
    row *found = ebb_mem_alloc((service->sandboxes_count + 1) * sizeof *found);
    const ebb_sandbox *s;

    *n = 0;
    if (found == NULL)
        return NULL;
    for (s = service->sandboxes; s != NULL; s = s->next)
        if (matches(s, q))
            found[(*n)++].sandbox = s;
    qsort(found, *n, sizeof *found, q->ascending ? by_start : by_start_down);
    return found;
}

/* Index of the first one after the token's place. */
static size_t first_after(const row *found, size_t n, const query *q)
{
    size_t i = 0;

    while (q->has_place && i < n) {
        int order =
            compare_place(found[i].sandbox->started_ms, found[i].sandbox->id,
                          q->place_ms, q->place_id);

        if (q->ascending ? order > 0 : order < 0)
            break;
        i++;
    }
    return i;
}

static void add_headers(ebb_exchange *x, const row *found, size_t n, size_t end,
                        const query *q)
{
    char text[TOKEN_BYTES];
    size_t i, running = 0;

    for (i = 0; i < n; i++)
        running += ebb_describe_is_running(found[i].sandbox);
    snprintf(text, sizeof text, "%zu", running);
    if (q->running)
        ebb_exchange_add_header(x, "X-Total-Running", text);
    if (end == n)
        return;
    snprintf(text, sizeof text, "%lld.%s.%s",
             (long long)found[end - 1].sandbox->started_ms,
             found[end - 1].sandbox->id, q->ascending ? "asc" : "desc");
    ebb_exchange_add_header(x, "X-Next-Token", text);
}

static void reply_page(ebb_control_call *call, const query *q)
{
    size_t n, i, end;
    row *found = collect(call->service, q, &n);
    ebb_value *array = found != NULL ? ebb_value_array() : NULL;

    if (array != NULL) {
        i = first_after(found, n, q);
        end = n - i > q->limit ? i + q->limit : n;
        add_headers(call->exchange, found, n, end, q);
        for (; i < end && array != NULL; i++) {
            if (ebb_value_add(array, ebb_describe_listed(found[i].sandbox)) !=
                0) {
                ebb_value_free(array);
                array = NULL;
            }
        }
    }
    ebb_service_reply_take(call->exchange, 200, array);
    ebb_mem_free(found);
}

void ebb_control_list(ebb_control_call *call)
{
    query q;
    ebb_err err;

    if (parse_query(call->exchange, &q, &err) == 0)
        reply_page(call, &q);
    else if (strcmp(err.msg, "Invalid next token") == 0)
        ebb_service_reply_error(call->exchange, 400, "%s", err.msg);
    else
        ebb_control_reply_invalid(call, &err);
    ebb_value_free(q.metadata);
}

/* The deprecated form: running ones, all of them, a metadata filter only. */
void ebb_control_list_running(ebb_control_call *call)
{
    query q = { .running = true,
                .started_after_ms = INT64_MIN,
                .limit = EBB_SANDBOXES_MAX };
    ebb_err err;

    if (parse_metadata(ebb_exchange_query(call->exchange, "metadata"), &q,
                       &err) == 0)
        reply_page(call, &q);
    else
        ebb_control_reply_invalid(call, &err);
    ebb_value_free(q.metadata);
}
