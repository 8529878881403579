/* SPDX-License-Identifier: MIT */
#pragma once

/* Random identifiers. */

#include "base/err.h"

#include <stddef.h>

/* n - 1 random characters of [a-z0-9] and a NUL. */
int ebb_id_random(char *out, size_t n, ebb_err *err);

/* n - 1 random hexadecimal digits and a NUL. */
int ebb_id_hex(char *out, size_t n, ebb_err *err);

#define EBB_ID_UUID_BYTES 37

/* A version 4 UUID (RFC 9562) from 16 random bytes. */
void ebb_id_uuid(const unsigned char random[16], char out[EBB_ID_UUID_BYTES]);
