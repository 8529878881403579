/* SPDX-License-Identifier: MIT */
#include "wire/proto_read.h"

enum { VARINT = 0, FIXED64 = 1, PREFIXED = 2, FIXED32 = 5 };

/* Up to ten bytes, seven bits each. */
static bool varint(const char **at, const char *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70 && *at < end; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;

        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Little-endian. */
static bool fixed(const char **at, const char *end, size_t n, uint64_t *value)
{
    *value = 0;
    if ((size_t)(end - *at) < n)
        return false;
    for (size_t i = 0; i < n; i++)
        *value |= (uint64_t)(unsigned char)(*at)[i] << (8 * i);
    *at += n;
    return true;
}

static bool prefixed(const char **at, const char *end, ebb_proto_field *field)
{
    uint64_t n;

    if (!varint(at, end, &n) || n > (size_t)(end - *at))
        return false;
    field->bytes = *at;
    field->n = (size_t)n;
    *at += n;
    return true;
}

bool ebb_proto_next(const char **at, const char *end, ebb_proto_field *field)
{
    uint64_t tag;

    *field = (ebb_proto_field){ 0 };
    if (!varint(at, end, &tag))
        return false;
    field->number = (unsigned)(tag >> 3);
    switch (tag & 7) {
    case VARINT:
        return varint(at, end, &field->value);
    case FIXED64:
        return fixed(at, end, 8, &field->value);
    case PREFIXED:
        return prefixed(at, end, field);
    case FIXED32:
        return fixed(at, end, 4, &field->value);
    default:
        return false;
    }
}
