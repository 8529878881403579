/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The fields of a message, checked and read where they are, for messages of
 * which so many come that an object for each would cost more than all the
 * rest. Invariant: of a field that was given, everything is checked, also the
 * messages inside it; of those after it, nothing.
 */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

typedef struct ebb_proto_field {
    unsigned number;
    uint64_t value;    /* of a number */
    const char *bytes; /* what a field with a length holds; NULL: a number */
    size_t n;
} ebb_proto_field;

typedef struct ebb_proto_reader {
    const ProtobufCMessageDescriptor *descriptor;
    const unsigned char *at, *end;
    size_t memory; /* what unpacking what was read would allocate */
    int depth;     /* messages around this one */
} ebb_proto_reader;

/* The bytes are borrowed while the reader and its fields are used. */
void ebb_proto_reader_init(ebb_proto_reader *reader,
                           const ProtobufCMessageDescriptor *descriptor,
                           const void *bytes, size_t n);

/*
 * Takes the next field: 1, or 0 at the end. -1 with EBB_PROTOCOL if it is
 * damaged or cut, has another type than the descriptor says, a string in it is
 * not UTF-8 or holds NUL (protobuf-c accepts both), messages nest too deep, or
 * an object of what was read would take too much memory.
 */
int ebb_proto_next(ebb_proto_reader *reader, ebb_proto_field *field,
                   ebb_err *err);
