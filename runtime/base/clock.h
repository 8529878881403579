/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Time and randomness come in through this struct, so that retries, deadlines
 * and identifiers are tested without waiting. The real one is
 * ebb_clock_real().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ebb_clock {
    int64_t (*wall_ms)(void *context);   /* since 1970, UTC */
    int64_t (*steady_ms)(void *context); /* only differences mean anything */
    double (*random)(void *context);     /* in [0, 1) */
    void *context;
} ebb_clock;

const ebb_clock *ebb_clock_real(void);

int64_t ebb_clock_wall_ms(const ebb_clock *clock);
int64_t ebb_clock_steady_ms(const ebb_clock *clock);
double ebb_clock_random(const ebb_clock *clock);

#define EBB_CLOCK_ISO_BYTES 32

/* YYYY-MM-DDTHH:MM:SS.mmmZ, clamped to the years 0000 to 9999. */
void ebb_clock_iso(int64_t wall_ms, char out[EBB_CLOCK_ISO_BYTES]);

/*
 * RFC 3339 with a zone (Z or ±hh:mm) and any number of fraction digits, cut to
 * milliseconds. Returns false if the text is anything else.
 */
bool ebb_clock_parse_iso(const char *text, int64_t *wall_ms);

/* An HTTP date (RFC 9110 5.6.7, IMF-fixdate form). */
bool ebb_clock_parse_http(const char *text, int64_t *wall_ms);
