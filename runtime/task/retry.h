/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The retry policy: the only place that decides whether a failed attempt is
 * followed by another, and when. Pure: the clock comes in, nothing sleeps.
 */

#include "base/clock.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum ebb_retry_class {
    EBB_RETRY_LIFECYCLE, /* converges: 1 + 3 attempts */
    EBB_RETRY_READ,      /* changes nothing: 1 + 3 attempts */
    EBB_RETRY_NONE       /* executes: one attempt */
} ebb_retry_class;

#define EBB_RETRY_ATTEMPTS_MAX 4
#define EBB_RETRY_AFTER_MAX_MS 30000
#define EBB_RETRY_BASE_MS 1000 /* of the contract: 1 s, 2 s, 4 s */

const char *ebb_retry_class_name(ebb_retry_class retry_class);

/* -1 if there is no class of that name. */
int ebb_retry_class_find(const char *name, ebb_retry_class *retry_class);

int ebb_retry_attempts(ebb_retry_class retry_class);

/*
 * Whether trying again can help: by the code, unless the server said so
 * itself (retry_after_ms above 0: yes, below: no).
 */
bool ebb_retry_helps(const ebb_err *err);

/* How long waits are, for one runtime. */
typedef struct ebb_retry_waits {
    const ebb_clock *clock;
    int64_t base_ms; /* the first wait; each next one is twice as long */
    double jitter;   /* at most so much more: 0.1 is 10 % */
} ebb_retry_waits;

/*
 * The wait in ms before the next attempt after attempt number `made` failed
 * with err, or -1 if there shall be none. base_ms, twice, four times that, up
 * to jitter more; the server's retry_after_ms when that is longer, at most
 * EBB_RETRY_AFTER_MAX_MS; never past deadline_ms (steady clock).
 */
int64_t ebb_retry_next(const ebb_retry_waits *waits,
                       ebb_retry_class retry_class, int made,
                       const ebb_err *err, int64_t deadline_ms);

/*
 * Retry-After (RFC 9110 10.2.3) as ms from now: seconds or an HTTP date. 0 for
 * NULL, garbage and the past; at most one day.
 */
int64_t ebb_retry_after_parse(const char *header, int64_t wall_ms);
