/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/tasks.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "e2b/control.h"
#include "e2b/tasks/result.h"

#define SEARCH_BYTES_MAX 256
#define PATH_BYTES_MAX   8192

static const char *level_of(const char *level)
{
    static const struct {
        const char *theirs, *ours;
    } levels[] = {
        { "debug", "debug" },  { "info", "info" },   { "warn", "warn" },
        { "warning", "warn" }, { "error", "error" }, { "fatal", "error" },
    };

    for (size_t i = 0; level != NULL && i < sizeof levels / sizeof *levels; i++)
        if (strcmp(levels[i].theirs, level) == 0)
            return levels[i].ours;
    return "info";
}

static ebb_value *logger_of(const ebb_value *line)
{
    const char *name = ebb_value_find_string(line, "logger");

    if (name == NULL)
        name = ebb_value_find_string(ebb_value_find(line, "fields"), "logger");
    return name == NULL ? ebb_value_null() : ebb_value_text(name);
}

/* One line; its message gets at most `each`, and what is left of `left`. */
static ebb_value *line_of(const ebb_value *line, size_t each, size_t *left,
                          ebb_err *err)
{
    size_t n = 0, max = each < *left ? each : *left;
    const char *text =
        ebb_value_get_string(ebb_value_find(line, "message"), &n);
    ebb_value *at = ebb_e2b_time(ebb_value_find(line, "timestamp"));
    ebb_value *message = ebb_e2b_text_cut(text ? text : "", n, max), *out;

    if (at == NULL) {
        ebb_value_free(message);
        ebb_err_set(err, EBB_PROTOCOL, "a line of the logs has no time");
        return NULL;
    }
    *left -= (size_t)ebb_value_find_int(message, "returnedBytes", 0);
    out = ebb_e2b_result_with(ebb_value_object(), "timestamp", at);
    out = ebb_e2b_result_with(
        out, "level",
        ebb_value_text(level_of(ebb_value_find_string(line, "level"))));
    out = ebb_e2b_result_with(out, "message", message);
    out = ebb_e2b_result_with(out, "logger", logger_of(line));
    if (out == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "line of the logs");
    return out;
}

/*
 * Where the next page begins: the server's own word, else one past the last
 * line in the direction of travel, else nowhere.
 */
static ebb_value *cursor_of(const ebb_e2b_job *job, const ebb_value *answer,
                            const ebb_value *last, bool may_be_more)
{
    const ebb_value *next = ebb_value_find(answer, "nextCursor");
    const char *direction = ebb_value_find_string(job->input, "direction");
    const char *at = ebb_value_find_string(last, "timestamp");
    bool forward = direction != NULL && strcmp(direction, "forward") == 0;
    int64_t wall_ms;

    if (ebb_value_type(next) == EBB_INT)
        return ebb_value_int(ebb_value_get_int(next));
    if (!may_be_more || at == NULL || !ebb_clock_parse_iso(at, &wall_ms))
        return ebb_value_null();
    return ebb_value_int(forward ? wall_ms + 1 : wall_ms - 1);
}

static ebb_value *lines_of(const ebb_e2b_job *job, const ebb_value *lines,
                           ebb_err *err)
{
    size_t limit = (size_t)ebb_value_find_int(job->input, "limit", 1);
    size_t left = (size_t)ebb_value_find_int(job->input, "maxBytes", 0);
    size_t each = left / limit > 0 ? left / limit : 1;
    ebb_value *out = ebb_value_array();

    if (out == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "lines of the logs");
    for (size_t i = 0; out != NULL && i < ebb_value_size(lines) && i < limit;
         i++) {
        ebb_value *line = line_of(ebb_value_at(lines, i), each, &left, err);
        if (line != NULL && ebb_value_add(out, line) == 0)
            continue;
        if (line != NULL)
            ebb_err_set(err, EBB_NO_MEMORY, "lines of the logs");
        ebb_value_free(out);
        out = NULL;
    }
    return out;
}

static ebb_value *result_of(const ebb_e2b_job *job, const ebb_value *answer,
                            ebb_err *err)
{
    const ebb_value *given = ebb_value_find(answer, "logs");
    int64_t limit = ebb_value_find_int(job->input, "limit", 1);
    int64_t had = (int64_t)ebb_value_size(given), returned;
    ebb_value *lines, *cursor, *out;

    if (ebb_value_type(given) != EBB_ARRAY &&
        ebb_value_type(given) != EBB_NULL) {
        ebb_err_set(err, EBB_PROTOCOL, "%s: the logs are no list",
                    job->subject);
        return NULL;
    }
    lines = lines_of(job, given, err);
    if (lines == NULL)
        return NULL;
    returned = (int64_t)ebb_value_size(lines);
    cursor = cursor_of(job, answer, ebb_value_at(lines, (size_t)returned - 1),
                       had >= limit);
    out = ebb_e2b_result_with(ebb_e2b_result_new(job), "logs", lines);
    out = ebb_e2b_result_with(out, "cursor", cursor);
    /* A full page hides how much more there is. */
    out = ebb_e2b_result_with(
        out, "page", ebb_e2b_page(returned, had == limit ? -1 : had, limit));
    return ebb_e2b_result_cap(out, err);
}

static void on_answer(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    ebb_err err = { 0 };
    ebb_value *result;

    if (answer->err != NULL) {
        ebb_e2b_job_fail(job, answer->err, NULL);
        return;
    }
    result = result_of(job, answer->json, &err);
    if (result == NULL)
        ebb_e2b_job_fail(job, &err, NULL);
    else
        ebb_e2b_job_finish(job, result);
}

static void add_text(ebb_buf *query, const ebb_e2b_job *job, const char *name)
{
    const char *text = ebb_value_find_string(job->input, name);
    char *escaped;

    if (text == NULL)
        return;
    escaped = ebb_http_escape(text, strlen(text));
    if (escaped == NULL)
        query->failed = true;
    else
        ebb_buf_printf(query, "&%s=%s", name, escaped);
    ebb_mem_free(escaped);
}

static void begin(ebb_e2b_job *job)
{
    const ebb_value *cursor = ebb_value_find(job->input, "cursor");
    ebb_e2b_control control = { .method = "GET", .on_answer = on_answer };
    char *path;
    ebb_buf query;

    ebb_buf_init(&query, PATH_BYTES_MAX);
    ebb_buf_printf(&query, "/logs?limit=%" PRId64,
                   ebb_value_find_int(job->input, "limit", 1));
    if (cursor != NULL)
        ebb_buf_printf(&query, "&cursor=%" PRId64, ebb_value_get_int(cursor));
    add_text(&query, job, "direction");
    add_text(&query, job, "level");
    add_text(&query, job, "search");
    path =
        query.failed ? NULL : ebb_e2b_path("/v2", job->sandbox_id, query.bytes);
    control.path = path;
    ebb_e2b_control_start(job, &control);
    ebb_mem_free(path);
    ebb_buf_clear(&query);
}

int ebb_e2b_check_logs(const ebb_value *input, ebb_err *err)
{
    const char *search = ebb_value_find_string(input, "search");

    if (search == NULL || strlen(search) <= SEARCH_BYTES_MAX)
        return 0;
    return ebb_err_set(err, EBB_INVALID_INPUT,
                       "e2b.getSandboxLogs: search: expected at most %d "
                       "bytes, got %zu",
                       SEARCH_BYTES_MAX, strlen(search));
}

void ebb_e2b_task_logs(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(ebb_e2b_job), begin, NULL);
}
