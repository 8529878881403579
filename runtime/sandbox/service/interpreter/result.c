/* SPDX-License-Identifier: MIT */
#include "sandbox/service/interpreter/result.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

typedef struct form {
    const char *mime, *member;
    bool any; /* any JSON; else a string */
} form;

/* What is not here goes into extra, by its MIME type. */
static const form forms[] = {
    { "text/plain", "text", false },
    { "text/html", "html", false },
    { "text/markdown", "markdown", false },
    { "image/svg+xml", "svg", false },
    { "image/png", "png", false },
    { "image/jpeg", "jpeg", false },
    { "application/pdf", "pdf", false },
    { "text/latex", "latex", false },
    { "application/json", "json", true },
    { "application/javascript", "javascript", false },
    { "e2b/data", "data", true },
    { "e2b/chart", "chart", true },
};

/* Writes line, which it frees, and an LF. */
static int add_line(ebb_buf *out, ebb_value *line, int failed)
{
    size_t n;
    char *text = NULL;
    if (failed == 0) {
        text = ebb_value_write(line, EBB_WRITE_COMPACT | EBB_WRITE_ASCII, &n);
    }
    ebb_value_free(line);
    if (text == NULL) {
        out->failed = true;
        return -1;
    }
    failed = ebb_buf_add(out, text, n) | ebb_buf_add_byte(out, '\n');
    ebb_mem_free(text);
    return failed == 0 ? 0 : -1;
}

static ebb_value *line_of(const char *type, int *failed)
{
    ebb_value *line = ebb_value_object();
    *failed = ebb_value_set(line, "type", ebb_value_text(type));
    return line;
}

int ebb_result_add_count(ebb_buf *out, int64_t count)
{
    int failed;
    ebb_value *line = line_of("number_of_executions", &failed);
    failed |= ebb_value_set(line, "execution_count", ebb_value_int(count));
    return add_line(out, line, failed);
}

int ebb_result_add_text(ebb_buf *out, const char *type, const char *text,
                        size_t n, int64_t wall_ms)
{
    char stamp[64];
    struct tm tm;
    time_t seconds = (time_t)(wall_ms / 1000);
    int failed;
    ebb_value *line = line_of(type, &failed);
    gmtime_r(&seconds, &tm);
    size_t at = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(stamp + at, sizeof stamp - at, ".%03d000+00:00",
             (int)(wall_ms % 1000));
    failed |= ebb_value_set(line, "text", ebb_value_string(text, n));
    failed |= ebb_value_set(line, "timestamp", ebb_value_text(stamp));
    return add_line(out, line, failed);
}

int ebb_result_add_error(ebb_buf *out, const char *name, const char *value,
                         const char *traceback)
{
    int failed;
    ebb_value *line = line_of("error", &failed);
    failed |= ebb_value_set(line, "name", ebb_value_text(name));
    failed |= ebb_value_set(line, "value", ebb_value_text(value));
    failed |= ebb_value_set(line, "traceback", ebb_value_text(traceback));
    return add_line(out, line, failed);
}

int ebb_result_add_mark(ebb_buf *out, const char *type)
{
    int failed;
    ebb_value *line = line_of(type, &failed);
    return add_line(out, line, failed);
}

/* As the real server: the repr of a string loses one pair of quotes. */
static ebb_value *unquoted(const ebb_value *value)
{
    size_t n;
    const char *text = ebb_value_get_string(value, &n);
    if (n >= 2 && (text[0] == '\'' || text[0] == '"') &&
        text[n - 1] == text[0]) {
        return ebb_value_string(text + 1, n - 2);
    }
    return ebb_value_copy(value);
}

static int add_form(ebb_value *line, ebb_value *extra, const char *mime,
                    const ebb_value *value)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(forms[i].mime, mime) != 0) {
            continue;
        }
        if (!forms[i].any && ebb_value_type(value) != EBB_STRING) {
            return 0;
        }
        return ebb_value_set(line, forms[i].member,
                             i == 0 ? unquoted(value) : ebb_value_copy(value));
    }
    return ebb_value_set(extra, mime, ebb_value_copy(value));
}

static int add_result(ebb_buf *out, const ebb_value *message)
{
    const ebb_value *data = ebb_value_find(message, "data");
    ebb_value *extra = ebb_value_object();
    ebb_value *value;
    void *place = NULL;
    const char *mime;
    int failed;
    ebb_value *line = line_of("result", &failed);
    while (ebb_value_next(data, &place, &mime, &value)) {
        failed |= add_form(line, extra, mime, value);
    }
    failed |= ebb_value_set(line, "extra", extra);
    failed |= ebb_value_set(
        line, "is_main_result",
        ebb_value_bool(ebb_value_find_bool(message, "main", false)));
    return add_line(out, line, failed);
}

static int copy_text(ebb_value *line, const ebb_value *message,
                     const char *member)
{
    const ebb_value *text = ebb_value_find(message, member);
    return ebb_value_set(line, member,
                         ebb_value_type(text) == EBB_STRING
                             ? ebb_value_copy(text)
                             : ebb_value_text(""));
}

int ebb_result_add_message(ebb_buf *out, const ebb_value *message)
{
    const char *type = ebb_value_find_string(message, "type");
    if (type != NULL && strcmp(type, "result") == 0) {
        return add_result(out, message);
    }
    if (type != NULL && strcmp(type, "error") == 0) {
        int failed;
        ebb_value *line = line_of("error", &failed);
        failed |= copy_text(line, message, "name");
        failed |= copy_text(line, message, "value");
        failed |= copy_text(line, message, "traceback");
        return add_line(out, line, failed);
    }
    return 0;
}
