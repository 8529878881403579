/* SPDX-License-Identifier: MIT */

/* The answers about logs and metrics. */

#include "base/mem.h"
#include "sandbox/service/control/body.h"
#include "sandbox/service/control/control.h"
#include "sandbox/service/control/describe.h"
#include "sandbox/service/control/logs.h"
#include "sandbox/service/control/metrics.h"
#include "sandbox/service/reply.h"
#include "sandbox/service/table.h"

#include <string.h>

#define LOGS_MAX         1000
#define SEARCH_BYTES_MAX 256
#define IDS_MAX          100

/* A shown sandbox, or it is answered 404. */
static ebb_sandbox *find_shown(ebb_control_call *call)
{
    ebb_sandbox *s = ebb_control_find(call);

    if (s == NULL || ebb_describe_is_shown(s))
        return s;
    ebb_control_reply_gone(call);
    return NULL;
}

/* An optional int of the query. */
static int get_int(ebb_control_call *call, const char *name, int64_t otherwise,
                   int64_t *out, ebb_err *err)
{
    const char *text = ebb_exchange_query(call->exchange, name);

    *out = otherwise;
    if (text == NULL || *text == '\0')
        return 0;
    return ebb_body_parse_int(text, name, out, err);
}

/* ---- logs ---- */

static int get_limit(ebb_control_call *call, ebb_logs_query *q, ebb_err *err)
{
    int64_t limit;

    if (get_int(call, "limit", LOGS_MAX, &limit, err) != 0)
        return -1;
    if (limit < 0 || limit > LOGS_MAX)
        return ebb_err_set(err, EBB_INVALID_INPUT, "limit: from 0 to %d",
                           LOGS_MAX);
    q->limit = (size_t)limit;
    return 0;
}

static int get_logs_query(ebb_control_call *call, ebb_logs_query *q,
                          ebb_err *err)
{
    const char *direction = ebb_exchange_query(call->exchange, "direction");
    const char *level = ebb_exchange_query(call->exchange, "level");

    q->search = ebb_exchange_query(call->exchange, "search");
    q->forward = direction != NULL && strcmp(direction, "forward") == 0;
    if (direction != NULL && !q->forward && strcmp(direction, "backward") != 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "direction: expected forward or backward");
    if (level != NULL && !ebb_logs_parse_level(level, &q->level))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "level: expected debug, info, warn or error");
    if (q->search != NULL && strlen(q->search) > SEARCH_BYTES_MAX)
        return ebb_err_set(err, EBB_INVALID_INPUT, "search: at most %d bytes",
                           SEARCH_BYTES_MAX);
    if (get_int(call, "cursor", -1, &q->cursor, err) != 0)
        return -1;
    return get_limit(call, q, err);
}

typedef struct gathered {
    ebb_value *entries, *lines; /* lines: of v1, else NULL */
    bool failed;
} gathered;

static ebb_value *describe_line(const ebb_value *entry)
{
    char *line = ebb_value_write(entry, EBB_WRITE_COMPACT, NULL);
    ebb_value *o = ebb_value_object();
    const ebb_value *time = ebb_value_find(entry, "timestamp");

    if (line == NULL || (ebb_value_set(o, "timestamp", ebb_value_copy(time)) |
                         ebb_value_set(o, "line", ebb_value_text(line))) != 0) {
        ebb_value_free(o);
        o = NULL;
    }
    ebb_mem_free(line);
    return o;
}

static void gather(void *context, const ebb_logs_entry *entry)
{
    gathered *g = context;
    ebb_value *described = ebb_logs_describe(entry);

    if (g->lines != NULL && described != NULL)
        g->failed |= ebb_value_add(g->lines, describe_line(described)) != 0;
    g->failed |= ebb_value_add(g->entries, described) != 0;
}

static void reply_gathered(ebb_control_call *call, gathered *g, int64_t next_ms)
{
    ebb_value *o = ebb_value_object();
    const char *first = g->lines != NULL ? "logEntries" : "logs";

    g->failed |= ebb_value_set(o, first, g->entries) != 0;
    if (g->lines != NULL)
        g->failed |= ebb_value_set(o, "logs", g->lines) != 0;
    if (next_ms >= 0)
        g->failed |=
            ebb_value_set(o, "nextCursor", ebb_value_int(next_ms)) != 0;
    if (g->failed) {
        ebb_value_free(o);
        o = NULL;
    }
    ebb_service_reply_take(call->exchange, 200, o);
}

void ebb_control_logs(ebb_control_call *call)
{
    ebb_sandbox *s = find_shown(call);
    ebb_logs_query q = { 0 };
    gathered g = { 0 };
    ebb_err err;

    if (s == NULL)
        return;
    if (get_logs_query(call, &q, &err) != 0) {
        ebb_control_reply_invalid(call, &err);
        return;
    }
    g.entries = ebb_value_array();
    reply_gathered(call, &g, ebb_logs_find(s->log, &q, gather, &g));
}

void ebb_control_logs_v1(ebb_control_call *call)
{
    ebb_sandbox *s = find_shown(call);
    ebb_logs_query q = { .forward = true };
    gathered g = { 0 };
    ebb_err err;

    if (s == NULL)
        return;
    if (get_int(call, "start", -1, &q.cursor, &err) != 0 ||
        get_limit(call, &q, &err) != 0) {
        ebb_control_reply_invalid(call, &err);
        return;
    }
    g.entries = ebb_value_array();
    g.lines = ebb_value_array();
    ebb_logs_find(s->log, &q, gather, &g);
    reply_gathered(call, &g, -1);
}

/* ---- metrics ---- */

void ebb_control_metrics(ebb_control_call *call)
{
    ebb_sandbox *s = find_shown(call);
    int64_t start_s, end_s;
    ebb_err err;

    if (s == NULL)
        return;
    if (get_int(call, "start", 0, &start_s, &err) != 0 ||
        get_int(call, "end", -1, &end_s, &err) != 0)
        ebb_control_reply_invalid(call, &err);
    else if (end_s >= 0 && start_s > end_s)
        ebb_service_reply_error(call->exchange, 400,
                                "validation error: start is after end");
    else
        ebb_service_reply_take(call->exchange, 200,
                               ebb_metrics_get(s, start_s, end_s));
}

/* Unknown ones and those without a sample are left out. */
static int add_last(ebb_control_call *call, ebb_value *o, const char *id)
{
    const ebb_sandbox *s = ebb_table_find(call->service, id);
    ebb_value *last =
        s != NULL && ebb_describe_is_shown(s) ? ebb_metrics_get_last(s) : NULL;

    return last != NULL ? ebb_value_set(o, id, last) : 0;
}

void ebb_control_metrics_many(ebb_control_call *call)
{
    const char *ids = ebb_exchange_query(call->exchange, "sandbox_ids");
    char *copy = ebb_mem_dup(ids != NULL ? ids : "");
    ebb_value *o = ebb_value_object(), *answer = ebb_value_object();
    char *rest = copy, *id;
    int count = 0, failed = copy == NULL;

    while (rest != NULL && (id = strsep(&rest, ",")) != NULL &&
           ++count <= IDS_MAX)
        failed |= add_last(call, o, id);
    ebb_mem_free(copy);
    failed |= ebb_value_set(answer, "sandboxes", o);
    if (failed != 0) {
        ebb_value_free(answer);
        answer = NULL;
    }
    if (count > IDS_MAX) {
        ebb_value_free(answer);
        ebb_service_reply_error(call->exchange, 400,
                                "validation error: sandbox_ids: at most %d",
                                IDS_MAX);
        return;
    }
    ebb_service_reply_take(call->exchange, 200, answer);
}
