/* SPDX-License-Identifier: MIT */
#include "journal/checksum.h"

#include <string.h>

#define ODD UINT64_C(0x9e3779b97f4a7c15)

/*
 * Multiplying by an odd number and xoring with a shift of itself are both
 * reversible, so that two words that differ never give one sum.
 */
static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * ODD;
    return sum ^ (sum >> 29);
}

uint64_t ebb_checksum_int(uint64_t sum, int64_t number)
{
    return mix(sum, (uint64_t)number);
}

uint64_t ebb_checksum_text(uint64_t sum, const char *bytes, size_t n)
{
    uint64_t word;

    if (bytes == NULL)
        return mix(sum, UINT64_MAX);
    sum = mix(sum, n);
    for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sum = mix(sum, word);
    }
    word = 0;
    if (n > 0)
        memcpy(&word, bytes, n);
    return mix(sum, word);
}

uint64_t ebb_checksum_word(uint64_t sum, const char *text)
{
    return ebb_checksum_text(sum, text, text != NULL ? strlen(text) : 0);
}
