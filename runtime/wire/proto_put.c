/* SPDX-License-Identifier: MIT */
#include "wire/proto_put.h"

#include <string.h>

#define VARINT_BYTES_MAX 10

/* Seven bits a byte, the low ones first. */
static size_t write_varint(unsigned char *to, uint64_t value)
{
    size_t n = 0;

    while (value >= 0x80) {
        to[n++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (unsigned char)value;
    return n;
}

int ebb_proto_put_varint(ebb_buf *out, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES_MAX];

    return ebb_buf_add(out, bytes, write_varint(bytes, value));
}

int ebb_proto_put_tag(ebb_buf *out, uint32_t field, unsigned wire_type)
{
    return ebb_proto_put_varint(out, (uint64_t)field << 3 | wire_type);
}

int ebb_proto_put_length(ebb_buf *out, size_t start)
{
    unsigned char bytes[VARINT_BYTES_MAX];
    size_t n = out->n - start, head = write_varint(bytes, n);
    char *from;

    if (ebb_buf_reserve(out, head) == NULL)
        return -1;
    from = out->bytes + start;
    memmove(from + head, from, n);
    memcpy(from, bytes, head);
    ebb_buf_grew(out, head);
    return 0;
}
