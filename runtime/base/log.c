/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A longer line is cut: a log line is for reading. */
#define LINE_BYTES 2048

/* One write(2), so that the lines of two threads do not mix. */
static void to_stderr(void *context, ebb_log_level level, const char *message)
{
    char line[LINE_BYTES + 32];
    int n, saved = errno;
    ssize_t wrote;

    (void)context;
    n = snprintf(line, sizeof line, "ebb: %s: %s\n", ebb_log_level_name(level),
                 message);
    do
        wrote = write(STDERR_FILENO, line, (size_t)n);
    while (wrote < 0 && errno == EINTR);
    errno = saved;
}

static struct {
    ebb_log_sink *sink;
    void *context;
    ebb_log_level level;
} current = { to_stderr, NULL, EBB_LOG_WARN };

void ebb_log_set(ebb_log_sink *sink, void *context, ebb_log_level level)
{
    current.sink = sink != NULL ? sink : to_stderr;
    current.context = context;
    current.level = level;
}

/* One line stays one line, and a terminal is not told what to do. */
static void flatten(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            *text = ' ';
}

void ebb_log_write(ebb_log_level level, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list args;

    if (level < current.level)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    flatten(line);
    current.sink(current.context, level, line);
}

const char *ebb_log_level_name(ebb_log_level level)
{
    static const char *const names[] = { "debug", "info", "warn", "error" };

    return (size_t)level < sizeof names / sizeof *names ? names[level]
                                                        : "error";
}
