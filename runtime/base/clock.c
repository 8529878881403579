/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* The years 0000 to 9999, all that the notation has. */
#define ISO_MIN_MS INT64_C(-62167219200000)
#define ISO_MAX_MS INT64_C(253402300799999)
#define ISO_BYTES  24

static int64_t read_ms(clockid_t id)
{
    struct timespec now = { 0 };

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t real_wall_ms(void *context)
{
    (void)context;
    return read_ms(CLOCK_REALTIME);
}

static int64_t real_steady_ms(void *context)
{
    (void)context;
    return read_ms(CLOCK_MONOTONIC);
}

/* 53 random bits are every multiple of 2^-53 in [0, 1). */
static double real_random(void *context)
{
    uint64_t bits = 0;

    (void)context;
    while (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        continue;
    return (double)(bits >> 11) / 9007199254740992.0;
}

const ebb_clock *ebb_clock_real(void)
{
    static const ebb_clock real = { real_wall_ms, real_steady_ms, real_random,
                                    NULL };

    return &real;
}

int64_t ebb_clock_wall_ms(const ebb_clock *clock)
{
    return clock->wall_ms(clock->context);
}

int64_t ebb_clock_steady_ms(const ebb_clock *clock)
{
    return clock->steady_ms(clock->context);
}

double ebb_clock_random(const ebb_clock *clock)
{
    return clock->random(clock->context);
}

void ebb_clock_iso(int64_t wall_ms, char out[EBB_CLOCK_ISO_BYTES])
{
    int64_t clamped = wall_ms < ISO_MIN_MS   ? ISO_MIN_MS
                      : wall_ms > ISO_MAX_MS ? ISO_MAX_MS
                                             : wall_ms;
    int64_t since_min = clamped - ISO_MIN_MS;
    time_t seconds = (time_t)((clamped - since_min % 1000) / 1000);
    char text[80]; /* what the compiler thinks the numbers could need */
    struct tm tm = { 0 };

    gmtime_r(&seconds, &tm);
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
             tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
             tm.tm_min, tm.tm_sec, (int)(since_min % 1000));
    memcpy(out, text, ISO_BYTES);
    out[ISO_BYTES] = '\0';
}

/* Reads exactly n digits and moves on; -1 if they are not there. */
static int digits(const char **p, int n)
{
    int value = 0;

    for (int i = 0; i < n; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return -1;
        value = value * 10 + (**p - '0');
    }
    return value;
}

static bool literal(const char **p, const char *text)
{
    size_t n = strlen(text);

    if (strncmp(*p, text, n) != 0)
        return false;
    *p += n;
    return true;
}

/* A second 60 is a leap second and counts as the next one. */
static bool in_range(const struct tm *tm)
{
    static const int days[] = {
        31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
    };
    int year = tm->tm_year + 1900, month_days;

    if (year < 0 || tm->tm_mon < 0 || tm->tm_mon > 11)
        return false;
    month_days = days[tm->tm_mon];
    if (tm->tm_mon == 1 &&
        ((year % 4 == 0 && year % 100 != 0) || year % 400 == 0))
        month_days++;
    return tm->tm_mday >= 1 && tm->tm_mday <= month_days && tm->tm_hour >= 0 &&
           tm->tm_hour <= 23 && tm->tm_min >= 0 && tm->tm_min <= 59 &&
           tm->tm_sec >= 0 && tm->tm_sec <= 60;
}

static bool time_of_day(const char **p, struct tm *tm)
{
    tm->tm_hour = digits(p, 2);
    if (tm->tm_hour < 0 || !literal(p, ":"))
        return false;
    tm->tm_min = digits(p, 2);
    if (tm->tm_min < 0 || !literal(p, ":"))
        return false;
    tm->tm_sec = digits(p, 2);
    return tm->tm_sec >= 0;
}

static bool iso_date(const char **p, struct tm *tm)
{
    int year = digits(p, 4);

    if (year < 0 || !literal(p, "-"))
        return false;
    tm->tm_year = year - 1900;
    tm->tm_mon = digits(p, 2) - 1;
    if (tm->tm_mon < 0 || !literal(p, "-"))
        return false;
    tm->tm_mday = digits(p, 2);
    return tm->tm_mday >= 1;
}

/* The fraction of a second, if there is one, cut to milliseconds. */
static bool fraction(const char **p, int *ms)
{
    int scale = 100;

    *ms = 0;
    if (!literal(p, "."))
        return true;
    if (**p < '0' || **p > '9')
        return false;
    for (; **p >= '0' && **p <= '9'; (*p)++, scale /= 10)
        *ms += (**p - '0') * scale;
    return true;
}

/* Z or ±hh:mm, then the end. */
static bool zone(const char *p, int *minutes)
{
    int sign = *p == '-' ? -1 : 1, hours, rest;

    *minutes = 0;
    if (*p == 'Z' || *p == 'z')
        return p[1] == '\0';
    if (*p != '+' && *p != '-')
        return false;
    p++;
    hours = digits(&p, 2);
    if (hours < 0 || hours > 23 || !literal(&p, ":"))
        return false;
    rest = digits(&p, 2);
    *minutes = sign * (hours * 60 + rest);
    return rest >= 0 && rest <= 59 && *p == '\0';
}

bool ebb_clock_parse_iso(const char *text, int64_t *wall_ms)
{
    struct tm tm = { 0 };
    int ms, minutes;

    if (!iso_date(&text, &tm) || (*text != 'T' && *text != 't'))
        return false;
    text++;
    if (!time_of_day(&text, &tm) || !fraction(&text, &ms) ||
        !zone(text, &minutes) || !in_range(&tm))
        return false;
    *wall_ms = ((int64_t)timegm(&tm) - minutes * INT64_C(60)) * 1000 + ms;
    return true;
}

/* The index of a three-letter name in a list of them, or -1. */
static int name_index(const char **p, const char *names)
{
    for (const char *name = names; *name != '\0'; name += 3)
        if (strncmp(*p, name, 3) == 0) {
            *p += 3;
            return (int)((name - names) / 3);
        }
    return -1;
}

static bool http_date(const char **p, struct tm *tm)
{
    int year;

    if (name_index(p, "MonTueWedThuFriSatSun") < 0 || !literal(p, ", "))
        return false;
    tm->tm_mday = digits(p, 2);
    if (tm->tm_mday < 1 || !literal(p, " "))
        return false;
    tm->tm_mon = name_index(p, "JanFebMarAprMayJunJulAugSepOctNovDec");
    if (tm->tm_mon < 0 || !literal(p, " "))
        return false;
    year = digits(p, 4);
    tm->tm_year = year - 1900;
    return year >= 0;
}

bool ebb_clock_parse_http(const char *text, int64_t *wall_ms)
{
    struct tm tm = { 0 };

    if (!http_date(&text, &tm) || !literal(&text, " ") ||
        !time_of_day(&text, &tm) || !literal(&text, " GMT") || *text != '\0' ||
        !in_range(&tm))
        return false;
    *wall_ms = (int64_t)timegm(&tm) * 1000;
    return true;
}
