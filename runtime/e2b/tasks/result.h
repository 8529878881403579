/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The shapes that results share: SandboxDTO, BoundedText, BoundedBinary, page,
 * and the cap of 4,000,000 bytes on all of them. Everything returned is the
 * caller's; NULL means no memory unless an err says otherwise.
 */

#include "base/value.h"
#include "e2b/job.h"
#include "task/bounded.h"

#include <stdint.h>

#define EBB_E2B_RESULT_BYTES_MAX 4000000

/* {sandboxId} of the job's input. */
ebb_value *ebb_e2b_result_new(const ebb_e2b_job *job);

/* Sets a member, NULL value included; frees result and is NULL on failure. */
ebb_value *ebb_e2b_result_with(ebb_value *result, const char *key,
                               ebb_value *member);

/* The SandboxDTO of a control plane's sandbox, or NULL with EBB_PROTOCOL. */
ebb_value *ebb_e2b_sandbox(const ebb_value *json, ebb_err *err);

/* RFC 3339 as the contract writes times; NULL if it is none. */
ebb_value *ebb_e2b_time(const ebb_value *text);

/* A finished bounded text; NULL also of a starved one. */
ebb_value *ebb_e2b_text(const ebb_bounded *bounded);

/* A whole text cut to max_bytes (0: nothing of it). */
ebb_value *ebb_e2b_text_cut(const char *text, size_t n, size_t max_bytes);

/* available -1: unknown. */
ebb_value *ebb_e2b_page(int64_t returned, int64_t available, int64_t limit);

/* EBB_LIMIT_EXCEEDED when a result of class read is too large; frees it. */
ebb_value *ebb_e2b_result_cap(ebb_value *result, ebb_err *err);

/*
 * Cuts the BoundedTexts (borrowed members of result), the longest first and
 * down to one length, until result fits. EBB_LIMIT_EXCEEDED, with nothing cut,
 * if it would not even without them.
 */
int ebb_e2b_result_fit(const ebb_value *result, ebb_value **texts, size_t n,
                       ebb_err *err);
