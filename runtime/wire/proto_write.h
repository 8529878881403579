/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Packing of generated messages into a buffer. It checks nothing: what a
 * program sends is its own.
 */

#include "base/buf.h"

#include <protobuf-c/protobuf-c.h>

/* Appends the message's bytes; -1 as ebb_buf_add. */
int ebb_proto_write(ebb_buf *out, const ProtobufCMessage *message);

/* Generated messages take char * also where packing only reads. */
char *ebb_proto_text(const char *text);
