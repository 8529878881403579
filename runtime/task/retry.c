/* SPDX-License-Identifier: MIT */
#include "task/retry.h"

#include <stdbool.h>
#include <string.h>

#include "task/attempt.h"

#define DAY_MS        INT64_C(86400000)

static const struct {
    const char *name;
    int attempts;
} classes[] = {
    [EBB_RETRY_LIFECYCLE] = { "lifecycle", EBB_RETRY_ATTEMPTS_MAX },
    [EBB_RETRY_READ] = { "read", EBB_RETRY_ATTEMPTS_MAX },
    [EBB_RETRY_NONE] = { "none", 1 },
};

const char *ebb_retry_class_name(ebb_retry_class retry_class)
{
    return classes[retry_class].name;
}

int ebb_retry_class_find(const char *name, ebb_retry_class *retry_class)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].name, name) == 0) {
            *retry_class = (ebb_retry_class)i;
            return 0;
        }
    return -1;
}

int ebb_retry_attempts(ebb_retry_class retry_class)
{
    return classes[retry_class].attempts;
}

bool ebb_retry_helps(const ebb_err *err)
{
    if (err->retry_after_ms != 0)
        return err->retry_after_ms > 0;
    return ebb_code_retryable(err->code);
}

int64_t ebb_retry_next(const ebb_retry_waits *waits,
                       ebb_retry_class retry_class, int made,
                       const ebb_err *err, int64_t deadline_ms)
{
    int64_t wait, asked = err->retry_after_ms;

    if (made < 1 || made >= ebb_retry_attempts(retry_class) ||
        !ebb_retry_helps(err))
        return -1;
    wait = waits->base_ms << (made - 1);
    if (asked > EBB_RETRY_AFTER_MAX_MS)
        asked = EBB_RETRY_AFTER_MAX_MS;
    if (asked > wait)
        wait = asked;
    if (waits->jitter > 0)
        wait += (int64_t)((double)wait * waits->jitter *
                          ebb_clock_random(waits->clock));
    if (deadline_ms != EBB_NO_DEADLINE &&
        deadline_ms - ebb_clock_steady_ms(waits->clock) <= wait)
        return -1;
    return wait;
}

/* Digits alone, as delay-seconds is defined; -1 for anything else. */
static int64_t delay_ms(const char *header)
{
    size_t digits = strspn(header, "0123456789");
    int64_t ms = 0;

    if (digits == 0 || header[digits + strspn(header + digits, " \t")] != '\0')
        return -1;
    for (size_t i = 0; i < digits && ms < DAY_MS; i++)
        ms = ms * 10 + (header[i] - '0') * INT64_C(1000);
    return ms;
}

int64_t ebb_retry_after_parse(const char *header, int64_t wall_ms)
{
    int64_t ms, at;

    if (header == NULL)
        return 0;
    header += strspn(header, " \t");
    ms = delay_ms(header);
    if (ms < 0) {
        if (!ebb_clock_parse_http(header, &at) || at <= wall_ms)
            return 0;
        ms = at - wall_ms;
    }
    return ms < DAY_MS ? ms : DAY_MS;
}
