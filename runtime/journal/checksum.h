/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A checksum of 64 bits over numbers and texts, for rows: it finds flipped
 * bits and torn pages. It is no protection against people.
 */

#include <stddef.h>
#include <stdint.h>

#define EBB_CHECKSUM_START UINT64_C(0x6a09e667f3bcc908)

uint64_t ebb_checksum_int(uint64_t sum, int64_t number);

/* The length counts, and NULL is not the empty text. */
uint64_t ebb_checksum_text(uint64_t sum, const char *bytes, size_t n);
uint64_t ebb_checksum_word(uint64_t sum, const char *text); /* with NUL */
