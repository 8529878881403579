/* SPDX-License-Identifier: MIT */
#include "wire/proto_check.h"

#include "wire/proto_read.h"

int ebb_proto_check(const ProtobufCMessageDescriptor *descriptor,
                    const void *bytes, size_t n, ebb_err *err)
{
    ebb_proto_reader reader;
    ebb_proto_field any;
    int more;

    ebb_proto_reader_init(&reader, descriptor, bytes, n);
    do
        more = ebb_proto_next(&reader, &any, err);
    while (more > 0);
    return more;
}

ProtobufCMessage *ebb_proto_unpack(const ProtobufCMessageDescriptor *descriptor,
                                   const void *bytes, size_t n, ebb_err *err)
{
    ProtobufCMessage *message;

    if (ebb_proto_check(descriptor, bytes, n, err) < 0)
        return NULL;
    message = protobuf_c_message_unpack(descriptor, NULL, n, bytes);
    if (message == NULL)
        ebb_err_set(err, EBB_PROTOCOL,
                    "%s: the protobuf bytes cannot be unpacked",
                    descriptor->name);
    return message;
}
