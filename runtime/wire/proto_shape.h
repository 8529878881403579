/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What protobuf-c's descriptors do not say and the JSON mapping must know:
 * names in JSON, which repeated message is a map, what is a Timestamp and how
 * it reads as text. For the two directions of proto_json only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#define EBB_PROTO_NAME_BYTES 64
#define EBB_PROTO_TIME_BYTES 40

/* exit_code becomes exitCode. */
void ebb_proto_json_name(const char *name, char out[EBB_PROTO_NAME_BYTES]);

/* The field that a JSON member means, by either name, or NULL. */
const ProtobufCFieldDescriptor *
ebb_proto_json_field(const ProtobufCMessageDescriptor *descriptor,
                     const char *key);

/* A repeated message …Entry of key = 1 and value = 2. */
bool ebb_proto_is_map(const ProtobufCFieldDescriptor *field);

bool ebb_proto_is_timestamp(const ProtobufCMessageDescriptor *descriptor);

/* RFC 3339 in UTC with 0, 3, 6 or 9 digits; false outside 0001 to 9999. */
bool ebb_proto_time_write(int64_t seconds, int32_t nanos,
                          char out[EBB_PROTO_TIME_BYTES]);
bool ebb_proto_time_parse(const char *text, int64_t *seconds, int32_t *nanos);
