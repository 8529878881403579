/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/logs.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/service/service.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct kept {
    int64_t ms;
    ebb_logs_level level;
    size_t logger_at; /* in text, after the message's NUL */
    size_t bytes;
    char text[];
} kept;

struct ebb_sandbox_log {
    kept *ring[EBB_LOGS_ENTRIES_MAX];
    size_t first, count, bytes;
    int64_t last_ms;
    char *dir;
    int fd;
    size_t file_bytes;
};

static const char *const level_names[] = { "debug", "info", "warn", "error" };

#define LEVELS (sizeof level_names / sizeof level_names[0])

bool ebb_logs_parse_level(const char *name, ebb_logs_level *level)
{
    size_t i;

    for (i = 0; i < LEVELS; i++) {
        if (strcmp(level_names[i], name) != 0)
            continue;
        *level = (ebb_logs_level)i;
        return true;
    }
    return false;
}

static void drop_oldest(ebb_sandbox_log *log)
{
    kept *e = log->ring[log->first];

    log->first = (log->first + 1) % EBB_LOGS_ENTRIES_MAX;
    log->count--;
    log->bytes -= e->bytes;
    ebb_mem_free(e);
}

/* Keeps a copy in the ring; the time is moved past the last one. */
static const kept *keep(ebb_sandbox_log *log, int64_t ms, ebb_logs_level level,
                        const char *logger, const char *message)
{
    size_t message_n = strlen(message) + 1, logger_n = strlen(logger) + 1;
    kept *e = ebb_mem_alloc(sizeof *e + message_n + logger_n);

    if (e == NULL)
        return NULL;
    e->ms = ms > log->last_ms ? ms : log->last_ms + 1;
    e->level = level;
    e->logger_at = message_n;
    e->bytes = message_n + logger_n;
    memcpy(e->text, message, message_n);
    memcpy(e->text + message_n, logger, logger_n);
    while (log->count == EBB_LOGS_ENTRIES_MAX ||
           (log->count > 0 && log->bytes + e->bytes > EBB_LOGS_BYTES_MAX))
        drop_oldest(log);
    log->ring[(log->first + log->count) % EBB_LOGS_ENTRIES_MAX] = e;
    log->count++;
    log->bytes += e->bytes;
    log->last_ms = e->ms;
    return e;
}

static ebb_logs_entry show(const kept *e)
{
    return (ebb_logs_entry){ .ms = e->ms,
                             .level = e->level,
                             .logger = e->text + e->logger_at,
                             .message = e->text };
}

/* ---- the file ---- */

static int open_file(ebb_sandbox_log *log, ebb_err *err)
{
    char *path = ebb_fs_join(log->dir, "log");
    struct stat st;

    if (path == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "log file");
    log->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                   0600);
    if (log->fd < 0 || fstat(log->fd, &st) != 0)
        ebb_err_set_errno(err, EBB_SERVER, "open %s", path);
    else
        log->file_bytes = (size_t)st.st_size;
    ebb_mem_free(path);
    return log->fd < 0 ? -1 : 0;
}

static void rotate(ebb_sandbox_log *log)
{
    char *path = ebb_fs_join(log->dir, "log");
    char *old = ebb_fs_join(log->dir, "log.1");
    ebb_err err;

    close(log->fd);
    log->fd = -1;
    if (path != NULL && old != NULL && rename(path, old) == 0 &&
        open_file(log, &err) != 0)
        ebb_log_write(EBB_LOG_WARN, "%s", err.msg);
    ebb_mem_free(path);
    ebb_mem_free(old);
}

static char *write_line(const kept *e, size_t *n)
{
    ebb_logs_entry shown = show(e);
    ebb_value *value = ebb_logs_describe(&shown);
    char *line =
        value != NULL ? ebb_value_write(value, EBB_WRITE_COMPACT, n) : NULL;

    ebb_value_free(value);
    if (line != NULL)
        line[(*n)++] = '\n';
    return line;
}

/* A log line that cannot be written must not stop the sandbox. */
static void append(ebb_sandbox_log *log, const kept *e)
{
    size_t n = 0;
    char *line;

    if (log->fd >= 0 && log->file_bytes >= EBB_LOGS_FILE_MAX)
        rotate(log);
    line = log->fd >= 0 ? write_line(e, &n) : NULL;
    if (line != NULL && write(log->fd, line, n) > 0)
        log->file_bytes += n;
    ebb_mem_free(line);
}

static void take_line(ebb_sandbox_log *log, const char *line, size_t n)
{
    ebb_err err;
    ebb_value *o = ebb_value_parse(line, n, 16, &err);
    const char *time = ebb_value_find_string(o, "timestamp");
    const char *level = ebb_value_find_string(o, "level");
    const char *message = ebb_value_find_string(o, "message");
    const char *logger =
        ebb_value_find_string(ebb_value_find(o, "fields"), "logger");
    ebb_logs_level parsed;
    int64_t ms;

    if (time != NULL && level != NULL && message != NULL &&
        ebb_clock_parse_iso(time, &ms) && ebb_logs_parse_level(level, &parsed))
        keep(log, ms, parsed, logger != NULL ? logger : "", message);
    ebb_value_free(o);
}

static void take_back_file(ebb_sandbox_log *log)
{
    char *path = ebb_fs_join(log->dir, "log");
    const char *p, *end;
    ebb_err err;
    ebb_buf text;

    ebb_buf_init(&text, 2 * EBB_LOGS_FILE_MAX);
    if (path == NULL ||
        ebb_fs_read(path, 2 * EBB_LOGS_FILE_MAX, &text, &err) != 0)
        ebb_log_write(EBB_LOG_WARN, "no log to go on with in %s", log->dir);
    for (p = text.bytes; p != NULL && *p != '\0'; p = end + 1) {
        end = strchr(p, '\n');
        if (end == NULL)
            break;
        take_line(log, p, (size_t)(end - p));
    }
    ebb_buf_clear(&text);
    ebb_mem_free(path);
}

/* ---- */

ebb_sandbox_log *ebb_logs_open(const char *dir, bool take_back, ebb_err *err)
{
    ebb_sandbox_log *log = ebb_mem_zero(sizeof *log);

    if (log == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "log of %s", dir);
        return NULL;
    }
    log->fd = -1;
    log->dir = ebb_mem_dup(dir);
    if (log->dir == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "log of %s", dir);
    else if (open_file(log, err) == 0) {
        if (take_back)
            take_back_file(log);
        return log;
    }
    ebb_logs_close(log);
    return NULL;
}

void ebb_logs_close(ebb_sandbox_log *log)
{
    if (log == NULL)
        return;
    while (log->count > 0)
        drop_oldest(log);
    if (log->fd >= 0)
        close(log->fd);
    ebb_mem_free(log->dir);
    ebb_mem_free(log);
}

static void add_text(void *context, const char *text, size_t n)
{
    /* Past the maximum the rest is left out, which cuts between characters. */
    ebb_buf_add(context, text, n);
}

void ebb_sandbox_log_add(ebb_sandbox *sandbox, const char *level,
                         const char *logger, const char *fmt, ...)
{
    char raw[EBB_LOGS_MESSAGE_MAX];
    ebb_logs_level parsed = EBB_LOGS_INFO;
    const kept *e = NULL;
    ebb_utf8 decoder;
    ebb_buf text;
    va_list args;

    if (sandbox->log == NULL)
        return;
    va_start(args, fmt);
    vsnprintf(raw, sizeof raw, fmt, args);
    va_end(args);
    ebb_buf_init(&text, EBB_LOGS_MESSAGE_MAX);
    ebb_utf8_init(&decoder);
    ebb_utf8_add(&decoder, raw, strlen(raw), add_text, &text);
    ebb_utf8_finish(&decoder, add_text, &text);
    ebb_logs_parse_level(level, &parsed);
    e = keep(sandbox->log, ebb_clock_wall_ms(ebb_clock_real()), parsed, logger,
             text.bytes != NULL ? text.bytes : "");
    if (e != NULL)
        append(sandbox->log, e);
    ebb_buf_clear(&text);
}

static bool fits(const kept *e, const ebb_logs_query *q)
{
    if (q->cursor >= 0 && (q->forward ? e->ms < q->cursor : e->ms > q->cursor))
        return false;
    return e->level >= q->level &&
           (q->search == NULL || strstr(e->text, q->search) != NULL);
}

int64_t ebb_logs_find(const ebb_sandbox_log *log, const ebb_logs_query *query,
                      void (*fn)(void *context, const ebb_logs_entry *entry),
                      void *context)
{
    size_t i, found = 0;

    for (i = 0; log != NULL && i < log->count; i++) {
        size_t at = query->forward ? i : log->count - 1 - i;
        const kept *e = log->ring[(log->first + at) % EBB_LOGS_ENTRIES_MAX];
        ebb_logs_entry shown = show(e);

        if (!fits(e, query))
            continue;
        if (found++ == query->limit)
            return e->ms;
        fn(context, &shown);
    }
    return -1;
}

ebb_value *ebb_logs_describe(const ebb_logs_entry *entry)
{
    char time[EBB_CLOCK_ISO_BYTES];
    ebb_value *o = ebb_value_object(), *fields = ebb_value_object();

    ebb_clock_iso(entry->ms, time);
    if (fields != NULL &&
        ebb_value_set(fields, "logger", ebb_value_text(entry->logger)) != 0) {
        ebb_value_free(fields);
        fields = NULL;
    }
    if (o != NULL &&
        (ebb_value_set(o, "timestamp", ebb_value_text(time)) |
         ebb_value_set(o, "level", ebb_value_text(level_names[entry->level])) |
         ebb_value_set(o, "message", ebb_value_text(entry->message)) |
         ebb_value_set(o, "fields", fields)) == 0)
        return o;
    if (o == NULL)
        ebb_value_free(fields);
    ebb_value_free(o);
    return NULL;
}
