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

const char *ebb_retry_class_name(ebb_retry_class retry_class);

/* -1 if there is no class of that name. */
int ebb_retry_class_find(const char *name, ebb_retry_class *retry_class);

int ebb_retry_attempts(ebb_retry_class retry_class);

/*
 * Whether trying again can help: by the code, unless the server said so
 * itself (retry_after_ms above 0: yes, below: no).
 */
bool ebb_retry_helps(const ebb_err *err);

/*
 * The wait in ms before the next attempt after attempt number `made` failed
 * with err, or -1 if there shall be none. 1 s, 2 s, 4 s, up to jitter (0.1 =
 * 10 %) more; the server's retry_after_ms when that is longer, at most
 * EBB_RETRY_AFTER_MAX_MS; never past deadline_ms (steady clock).
 */
int64_t ebb_retry_next(ebb_retry_class retry_class, int made,
                       const ebb_err *err, const ebb_clock *clock,
                       double jitter, int64_t deadline_ms);

/*
 * Retry-After (RFC 9110 10.2.3) as ms from now: seconds or an HTTP date. 0 for
 * NULL, garbage and the past; at most one day.
 */
int64_t ebb_retry_after_parse(const char *header, int64_t wall_ms);
