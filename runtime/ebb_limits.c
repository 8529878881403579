/* SPDX-License-Identifier: MIT */

/*
 * How long things may take: what the configuration says, else EBB_LIMITS, else
 * the contract. The one place that reads that variable.
 */

#include "ebb_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/retry.h"

#define MS_MAX         86400000 /* a day */
#define PERCENT_MAX    100
#define JITTER_DEFAULT 0.1
#define TEXT_BYTES_MAX 512

typedef struct setting {
    const char *name;
    long min, max;
    int64_t *ms; /* NULL: jitter, in percent */
} setting;

/* Sets one "name=number"; a field that the host has set stays. */
static int take(const setting *settings, ebb_config *config, const char *text,
                ebb_err *err)
{
    const char *equals = strchr(text, '=');
    size_t n = equals == NULL ? strlen(text) : (size_t)(equals - text);
    const setting *s = settings;
    char *rest;
    long number;

    while (s->name != NULL &&
           (strlen(s->name) != n || memcmp(s->name, text, n) != 0))
        s++;
    if (s->name == NULL)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "EBB_LIMITS: unknown name \"%.*s\"; known are "
                           "connect, unary, transfer, first, idle, retry and "
                           "jitter",
                           (int)n, text);
    number = equals == NULL ? -1 : strtol(equals + 1, &rest, 10);
    if (equals == NULL || rest == equals + 1 || *rest != '\0' ||
        number < s->min || number > s->max)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "EBB_LIMITS: %s: expected a number from %ld to "
                           "%ld, as in \"connect=500,unary=2000\"",
                           s->name, s->min, s->max);
    if (s->ms != NULL)
        *s->ms = number;
    else
        config->jitter = number == 0 ? -1 : (double)number / 100;
    return 0;
}

static int read_text(const char *text, ebb_config *found, ebb_err *err)
{
    const setting settings[] = {
        { "connect", 1, MS_MAX, &found->connect_ms },
        { "unary", 1, MS_MAX, &found->unary_ms },
        { "transfer", 1, MS_MAX, &found->transfer_idle_ms },
        { "first", 1, MS_MAX, &found->stream_first_ms },
        { "idle", 1, MS_MAX, &found->stream_idle_ms },
        { "retry", 1, MS_MAX, &found->retry_base_ms },
        { "jitter", 0, PERCENT_MAX, NULL },
        { 0 },
    };
    char copy[TEXT_BYTES_MAX], *save = NULL;

    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "EBB_LIMITS: longer than %d bytes",
                           TEXT_BYTES_MAX - 1);
    for (char *word = strtok_r(copy, ",", &save); word != NULL;
         word = strtok_r(NULL, ",", &save))
        if (take(settings, found, word, err) < 0)
            return -1;
    return 0;
}

static void prefer(int64_t *configured, int64_t found)
{
    if (*configured == 0)
        *configured = found;
}

int ebb_limits_read(ebb_config *config, ebb_err *err)
{
    const char *text = getenv("EBB_LIMITS");
    ebb_config found = { .retry_base_ms = EBB_RETRY_BASE_MS,
                         .jitter = JITTER_DEFAULT };

    if (text != NULL && read_text(text, &found, err) < 0)
        return -1;
    prefer(&config->connect_ms, found.connect_ms);
    prefer(&config->unary_ms, found.unary_ms);
    prefer(&config->transfer_idle_ms, found.transfer_idle_ms);
    prefer(&config->stream_first_ms, found.stream_first_ms);
    prefer(&config->stream_idle_ms, found.stream_idle_ms);
    prefer(&config->retry_base_ms, found.retry_base_ms);
    if (config->jitter == 0)
        config->jitter = found.jitter;
    return 0;
}
