/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Base64 of RFC 4648, standard alphabet with padding. The strict decoder takes
 * canonical text only (what encodes back to itself); the lenient one also
 * takes the URL alphabet and missing padding, as protobuf's JSON mapping does.
 */

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

int ebb_base64_write(ebb_buf *out, const void *bytes, size_t n);

/* Appends the decoded bytes. Returns -1 on text that is not base64. */
int ebb_base64_parse(ebb_buf *out, const char *text, size_t n, bool strict);

/* The decoded length of canonical text, or -1 if it is not canonical. */
long long ebb_base64_length(const char *text, size_t n);
