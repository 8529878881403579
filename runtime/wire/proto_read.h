/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The fields of a message read where they are, for messages of which so many
 * come that an object for each would cost more than all the rest. It knows no
 * descriptor: ebb_proto_check comes first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ebb_proto_field {
    unsigned number;
    uint64_t value;    /* of a number */
    const char *bytes; /* what a field with a length holds; NULL: a number */
    size_t n;
} ebb_proto_field;

/* Takes the field at *at and moves on; false at the end, and if it is cut. */
bool ebb_proto_next(const char **at, const char *end, ebb_proto_field *field);
