/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The wire format of protobuf, written field by field for the JSON mapping.
 * Failures are the buffer's: check it once at the end.
 */

#include "base/buf.h"

#include <stdint.h>

enum { EBB_PROTO_VARINT = 0, EBB_PROTO_PREFIXED = 2 };

int ebb_proto_put_varint(ebb_buf *out, uint64_t value);
int ebb_proto_put_tag(ebb_buf *out, uint32_t field, unsigned wire_type);

/* Puts the length of what was written since start in front of it. */
int ebb_proto_put_length(ebb_buf *out, size_t start);
