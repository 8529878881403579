/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Checks raw protobuf bytes by descriptor before they are unpacked: every
 * string must be UTF-8 without NUL (protobuf-c accepts both), nesting is
 * bounded.
 */

#include "base/err.h"

#include <protobuf-c/protobuf-c.h>

int ebb_proto_check(const ProtobufCMessageDescriptor *descriptor,
                    const void *bytes, size_t n, ebb_err *err);

/*
 * ebb_proto_check, then protobuf_c_message_unpack. NULL with EBB_PROTOCOL if
 * the bytes are no such message. Freed with
 * protobuf_c_message_free_unpacked(message, NULL).
 */
ProtobufCMessage *
ebb_proto_unpack(const ProtobufCMessageDescriptor *descriptor,
                 const void *bytes, size_t n, ebb_err *err);
