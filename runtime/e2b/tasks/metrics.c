/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/tasks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "e2b/control.h"
#include "e2b/tasks/result.h"
#include "task/place.h"

#define QUERY_BYTES 128

static const struct {
    const char *ours, *theirs;
} numbers[] = {
    { "cpuUsedPct", "cpuUsedPct" },   { "cpuCount", "cpuCount" },
    { "memoryUsedBytes", "memUsed" }, { "memoryTotalBytes", "memTotal" },
    { "diskUsedBytes", "diskUsed" },  { "diskTotalBytes", "diskTotal" },
};

static ebb_value *sample_of(const ebb_value *given, ebb_err *err)
{
    ebb_value *out =
        ebb_e2b_result_with(ebb_value_object(), "timestamp",
                            ebb_e2b_time(ebb_value_find(given, "timestamp")));

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const ebb_value *number = ebb_value_find(given, numbers[i].theirs);
        ebb_type type = ebb_value_type(number);

        if (type == EBB_INT || type == EBB_FLOAT) {
            out = ebb_e2b_result_with(out, numbers[i].ours,
                                      ebb_value_copy(number));
            continue;
        }
        ebb_value_free(out);
        out = NULL;
    }
    if (out == NULL)
        ebb_err_set(err, EBB_PROTOCOL,
                    "a sample of the metrics lacks its time or a number");
    return out;
}

/* When a sample of the answer was taken. */
typedef struct moment {
    int64_t wall_ms;
    size_t index;
} moment;

static int by_time(const void *left, const void *right)
{
    const moment *a = left, *b = right;

    if (a->wall_ms != b->wall_ms)
        return a->wall_ms < b->wall_ms ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* The samples' places in the order of their times, which no server has to
 * keep; NULL: no memory. One without a time is found out when it is taken. */
static moment *order_of(const ebb_value *given)
{
    size_t n = ebb_value_size(given);
    moment *order = ebb_mem_zero((n + 1) * sizeof *order);

    for (size_t i = 0; order != NULL && i < n; i++) {
        const char *at =
            ebb_value_find_string(ebb_value_at(given, i), "timestamp");
        order[i].index = i;
        if (at == NULL || !ebb_clock_parse_iso(at, &order[i].wall_ms))
            order[i].wall_ms = INT64_MIN; /* first, where it is looked at */
    }
    if (order != NULL)
        qsort(order, n, sizeof *order, by_time);
    return order;
}

static ebb_value *samples_of(const ebb_value *given, size_t limit, ebb_err *err)
{
    moment *order = order_of(given);
    ebb_value *out = order == NULL ? NULL : ebb_value_array();

    if (out == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "metrics");
    for (size_t i = 0; out != NULL && i < ebb_value_size(given) && i < limit;
         i++) {
        ebb_value *sample = sample_of(ebb_value_at(given, order[i].index), err);
        if (sample != NULL && ebb_value_add(out, sample) == 0)
            continue;
        if (sample != NULL)
            ebb_err_set(err, EBB_NO_MEMORY, "metrics");
        ebb_value_free(out);
        out = NULL;
    }
    ebb_mem_free(order);
    return out;
}

static void on_answer(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    int64_t limit = ebb_value_find_int(job->input, "limit", 1);
    int64_t available = (int64_t)ebb_value_size(answer->json), returned;
    ebb_err err = { 0 };
    ebb_value *samples = NULL, *out = NULL;

    if (answer->err != NULL) {
        ebb_e2b_job_fail(job, answer->err, NULL);
        return;
    }
    if (ebb_value_type(answer->json) != EBB_ARRAY)
        ebb_err_set(&err, EBB_PROTOCOL, "%s: the metrics are no list",
                    job->subject);
    else
        samples = samples_of(answer->json, (size_t)limit, &err);
    if (samples != NULL) {
        returned = (int64_t)ebb_value_size(samples);
        out = ebb_e2b_result_with(ebb_e2b_result_new(job), "metrics", samples);
        out = ebb_e2b_result_with(out, "page",
                                  ebb_e2b_page(returned, available, limit));
        out = ebb_e2b_result_cap(out, &err);
    }
    if (out == NULL)
        ebb_e2b_job_fail(job, &err, NULL);
    else
        ebb_e2b_job_finish(job, out);
}

/* A time of the input in ms; -1 and err if it is none; 0 left out. */
static int take_time(const ebb_value *input, const char *name, bool *given,
                     int64_t *wall_ms, ebb_err *err)
{
    const char *text = ebb_value_find_string(input, name);
    char shown[EBB_SHOWN_BYTES];

    *given = text != NULL;
    if (text == NULL || ebb_clock_parse_iso(text, wall_ms))
        return 0;
    return ebb_err_set(err, EBB_INVALID_INPUT,
                       "e2b.getSandboxMetrics: %s: expected ISO 8601 with a "
                       "zone, such as 2026-11-29T15:00:00Z, got \"%s\"",
                       name, ebb_place_shown(text, shown));
}

typedef struct span {
    int64_t start, end;
    bool has_start, has_end;
} span;

static int take_span(const ebb_value *input, span *s, ebb_err *err)
{
    *s = (span){ 0 };
    if (take_time(input, "start", &s->has_start, &s->start, err) != 0 ||
        take_time(input, "end", &s->has_end, &s->end, err) != 0)
        return -1;
    if (s->has_start && s->has_end && s->start > s->end)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "e2b.getSandboxMetrics: start is after end");
    return 0;
}

static char *write_path(const ebb_e2b_job *job)
{
    ebb_err ignored = { 0 };
    ebb_buf query;
    char *path;
    span s;

    take_span(job->input, &s, &ignored); /* checked before */
    ebb_buf_init(&query, QUERY_BYTES);
    ebb_buf_add_text(&query, "/metrics");
    if (s.has_start)
        ebb_buf_printf(&query, "?start=%" PRId64, s.start / 1000);
    if (s.has_end)
        ebb_buf_printf(&query, "%cend=%" PRId64, s.has_start ? '&' : '?',
                       (s.end + 999) / 1000);
    path = query.failed ? NULL : ebb_e2b_path("", job->sandbox_id, query.bytes);
    ebb_buf_clear(&query);
    return path;
}

static void begin(ebb_e2b_job *job)
{
    char *path = write_path(job);
    ebb_e2b_control control = {
        .method = "GET",
        .path = path,
        .on_answer = on_answer,
    };

    ebb_e2b_control_start(job, &control);
    ebb_mem_free(path);
}

int ebb_e2b_check_metrics(const ebb_value *input, ebb_err *err)
{
    span s;

    return take_span(input, &s, err);
}

void ebb_e2b_task_metrics(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(ebb_e2b_job), begin, NULL);
}
