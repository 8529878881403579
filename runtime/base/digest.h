/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * SHA-256, a comparison that takes the same time wherever the bytes differ,
 * and random bytes from the kernel. The only module that knows libcrypto.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define EBB_SHA256_BYTES 32
#define EBB_SHA256_HEX 65 /* with the NUL */

void ebb_digest_sha256(const void *bytes, size_t n,
                       unsigned char out[EBB_SHA256_BYTES]);
void ebb_digest_hex(const void *bytes, size_t n, char out[EBB_SHA256_HEX]);

bool ebb_digest_equal(const char *a, const char *b); /* NUL-terminated */

/* Bytes of getrandom(2). */
int ebb_digest_random(void *bytes, size_t n, ebb_err *err);
