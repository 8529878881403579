/* SPDX-License-Identifier: MIT */
/*
 * A protobuf message that is taken has one JSON form, which is read back to
 * the same message. The first byte chooses the message; the rest is tried as
 * both codecs.
 */
#include "targets.h"

#include "base/value.h"
#include "wire/filesystem.pb-c.h"
#include "wire/process.pb-c.h"
#include "wire/proto_check.h"
#include "wire/proto_json.h"

#define TYPES 6

static void check(const ProtobufCMessageDescriptor *type,
                  const ProtobufCMessage *message)
{
    ebb_err err = { 0 };
    ebb_value *once = ebb_proto_to_json(message, &err), *twice;
    ProtobufCMessage *back;

    if (once == NULL)
        return; /* a time or a number that JSON cannot say */
    back = ebb_proto_from_json(type, once, &err);
    ebb_fuzz_hold(back != NULL, "what is written can be read");
    twice = ebb_proto_to_json(back, &err);
    ebb_fuzz_hold(ebb_value_equal(once, twice), "and is the same");
    ebb_value_free(once);
    ebb_value_free(twice);
    protobuf_c_message_free_unpacked(back, NULL);
}

void ebb_fuzz_proto(const uint8_t *bytes, size_t n)
{
    static const ProtobufCMessageDescriptor *const types[TYPES] = {
        &process__start_request__descriptor,
        &process__start_response__descriptor,
        &process__send_input_request__descriptor,
        &process__list_response__descriptor,
        &filesystem__list_dir_response__descriptor,
        &filesystem__watch_dir_response__descriptor,
    };
    const ProtobufCMessageDescriptor *type;
    ebb_err err = { 0 };
    ProtobufCMessage *message;
    ebb_value *value;

    if (n == 0)
        return;
    type = types[bytes[0] % TYPES];
    message = ebb_proto_unpack(type, bytes + 1, n - 1, &err);
    if (message != NULL) {
        check(type, message);
        protobuf_c_message_free_unpacked(message, NULL);
    }
    value = ebb_value_parse((const char *)bytes + 1, n - 1, 10000, &err);
    message = value == NULL ? NULL : ebb_proto_from_json(type, value, &err);
    ebb_value_free(value);
    if (message != NULL) {
        check(type, message);
        protobuf_c_message_free_unpacked(message, NULL);
    }
}
