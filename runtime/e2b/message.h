/* SPDX-License-Identifier: MIT */
#pragma once

/* What packing generated protobuf messages needs everywhere. */

#include "base/buf.h"

#include <protobuf-c/protobuf-c.h>

/* Appends the message's bytes; -1 as ebb_buf_add. */
int ebb_e2b_message_write(ebb_buf *out, const ProtobufCMessage *message);

/* Generated messages take char * also where packing only reads. */
char *ebb_e2b_message_text(const char *text);
