/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The keys of creates: one key makes one sandbox, however often and by
 * however many clients the request is sent. Keys live for a day, in memory:
 * sandboxes do not outlive the service by more than their files.
 */

#include "base/err.h"
#include "base/value.h"

#include <stdbool.h>
#include <stdint.h>

#define EBB_IDEMPOTENCY_KEY_MAX  255
#define EBB_IDEMPOTENCY_KEYS_MAX 10000
#define EBB_IDEMPOTENCY_KEEP_MS  ((int64_t)24 * 3600 * 1000)

typedef struct ebb_idempotency ebb_idempotency;

typedef enum ebb_idempotency_verdict {
    EBB_IDEMPOTENCY_NEW,      /* go on, and finish or del the key */
    EBB_IDEMPOTENCY_DONE,     /* *answer is the first one's answer */
    EBB_IDEMPOTENCY_RUNNING,  /* the first is not finished */
    EBB_IDEMPOTENCY_MISMATCH, /* it was another request */
    EBB_IDEMPOTENCY_FULL      /* every key that is kept is running */
} ebb_idempotency_verdict;

ebb_idempotency *ebb_idempotency_new(ebb_err *err);
void ebb_idempotency_free(ebb_idempotency *table);

/* 1 to 255 visible ASCII characters. */
bool ebb_idempotency_is_key(const char *key);

/*
 * Begins a request under a key at a time of the steady clock. digest says what
 * it is. answer is borrowed until the table is used again.
 */
ebb_idempotency_verdict ebb_idempotency_start(ebb_idempotency *table,
                                              const char *key,
                                              const char *digest,
                                              int64_t now_ms,
                                              const ebb_value **answer);

/* Of a NEW one: its answer (copied), or that it failed and left nothing. */
void ebb_idempotency_finish(ebb_idempotency *table, const char *key,
                            const ebb_value *answer);
void ebb_idempotency_del(ebb_idempotency *table, const char *key);
