/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The JSON mapping of protobuf messages (protobuf.dev/programming-guides/json)
 * driven by protobuf-c's descriptors: one mapping for every message, nothing
 * written by hand per message. Writing uses lowerCamelCase and leaves
 * defaults out; reading also takes snake_case, numbers as strings, enums as
 * integers, null as absent, either base64 alphabet, and ignores unknown
 * members. An unknown enum name is 0, as the real envd reads it. Duplicate
 * members and two members of one oneof are refused.
 *
 * It knows the types that envd's messages use; floats, fixed-width integers
 * and uint64 beyond int64 are refused. Known by shape or name: map entries (a
 * repeated message named …Entry with key and value), google.protobuf.Timestamp,
 * and a oneof of one member, which stands for proto3's optional.
 */

#include "base/err.h"
#include "base/value.h"

#include <protobuf-c/protobuf-c.h>

/* A new value, or NULL (EBB_NO_MEMORY; EBB_PROTOCOL: a string not UTF-8). */
ebb_value *ebb_proto_to_json(const ProtobufCMessage *message, ebb_err *err);

/*
 * A new message, or NULL with EBB_PROTOCOL naming the path of the member.
 * Freed with protobuf_c_message_free_unpacked(message, NULL).
 */
ProtobufCMessage *
ebb_proto_from_json(const ProtobufCMessageDescriptor *descriptor,
                    const ebb_value *value, ebb_err *err);
