/* SPDX-License-Identifier: MIT */
#include "wire/proto_json.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "wire/proto_shape.h"
#include "wire/timestamp.pb-c.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Every function here returns a new value, or NULL with err set. */

static ebb_value *made(ebb_value *value, ebb_err *err)
{
    if (value == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for a message as JSON");
    return value;
}

static ebb_value *text_to_json(const ProtobufCFieldDescriptor *field,
                               const char *text, ebb_err *err)
{
    size_t n = text != NULL ? strlen(text) : 0;

    if (n > 0 && !ebb_utf8_valid(text, n)) {
        ebb_err_set(err, EBB_PROTOCOL, "%s is not UTF-8", field->name);
        return NULL;
    }
    return made(ebb_value_string(text, n), err);
}

static ebb_value *bytes_to_json(const ProtobufCBinaryData *bytes, ebb_err *err)
{
    ebb_buf text = { 0 };
    ebb_value *value = NULL;

    if (ebb_base64_write(&text, bytes->data, bytes->len) == 0)
        value = ebb_value_string(text.bytes, text.n);
    ebb_buf_clear(&text);
    return made(value, err);
}

static ebb_value *enum_to_json(const ProtobufCFieldDescriptor *field,
                               int number, ebb_err *err)
{
    const ProtobufCEnumValue *known =
        protobuf_c_enum_descriptor_get_value(field->descriptor, number);

    return made(known != NULL ? ebb_value_text(known->name)
                              : ebb_value_int(number),
                err);
}

static ebb_value *time_to_json(const Google__Protobuf__Timestamp *time,
                               ebb_err *err)
{
    char text[EBB_PROTO_TIME_BYTES];

    if (!ebb_proto_time_write(time->seconds, time->nanos, text)) {
        ebb_err_set(err, EBB_PROTOCOL,
                    "timestamp %" PRId64 " s %d ns is out of range",
                    time->seconds, (int)time->nanos);
        return NULL;
    }
    return made(ebb_value_text(text), err);
}

static ebb_value *message_to_json(const ProtobufCMessage *message, ebb_err *err)
{
    if (message != NULL && ebb_proto_is_timestamp(message->descriptor))
        return time_to_json((const Google__Protobuf__Timestamp *)message, err);
    return ebb_proto_to_json(message, err);
}

/* 64-bit integers are strings in protobuf's JSON. */
static ebb_value *wide_to_json(const char *fmt_sign, uint64_t magnitude,
                               ebb_err *err)
{
    char text[32];

    snprintf(text, sizeof text, "%s%" PRIu64, fmt_sign, magnitude);
    return made(ebb_value_text(text), err);
}

static ebb_value *signed_to_json(int64_t number, ebb_err *err)
{
    uint64_t bits = (uint64_t)number;

    return number < 0 ? wide_to_json("-", -bits, err)
                      : wide_to_json("", bits, err);
}

/* One value that lies at p, whatever its label. */
static ebb_value *one_to_json(const ProtobufCFieldDescriptor *field,
                              const void *p, ebb_err *err)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
        return made(ebb_value_int(*(const int32_t *)p), err);
    case PROTOBUF_C_TYPE_UINT32:
        return made(ebb_value_int(*(const uint32_t *)p), err);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
        return signed_to_json(*(const int64_t *)p, err);
    case PROTOBUF_C_TYPE_UINT64:
        return wide_to_json("", *(const uint64_t *)p, err);
    case PROTOBUF_C_TYPE_BOOL:
        return made(ebb_value_bool(*(const protobuf_c_boolean *)p != 0), err);
    case PROTOBUF_C_TYPE_ENUM:
        return enum_to_json(field, *(const int *)p, err);
    case PROTOBUF_C_TYPE_STRING:
        return text_to_json(field, *(char *const *)p, err);
    case PROTOBUF_C_TYPE_BYTES:
        return bytes_to_json(p, err);
    case PROTOBUF_C_TYPE_MESSAGE:
        return message_to_json(*(ProtobufCMessage *const *)p, err);
    default:
        ebb_err_set(err, EBB_UNSUPPORTED, "%s has a type with no JSON form",
                    field->name);
        return NULL;
    }
}

static size_t size_of(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
        return sizeof(int64_t);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return sizeof(int32_t);
    }
}

/* As one_to_json of a field of a message. */
static const void *place_of(const ProtobufCMessage *message,
                            const ProtobufCFieldDescriptor *field)
{
    return (const char *)message + field->offset;
}

static int map_entry_to_json(ebb_value *object, const ProtobufCMessage *entry,
                             ebb_err *err)
{
    const ProtobufCFieldDescriptor *key = &entry->descriptor->fields[0];
    const ProtobufCFieldDescriptor *inner = &entry->descriptor->fields[1];
    const char *text;
    ebb_value *value;

    if (key->type != PROTOBUF_C_TYPE_STRING)
        return ebb_err_set(err, EBB_UNSUPPORTED,
                           "%s: only text is a key in JSON",
                           entry->descriptor->name);
    text = *(char *const *)place_of(entry, key);
    if (text != NULL && !ebb_utf8_valid(text, strlen(text)))
        return ebb_err_set(err, EBB_PROTOCOL, "%s: a key is not UTF-8",
                           entry->descriptor->name);
    value = one_to_json(inner, place_of(entry, inner), err);
    if (value == NULL)
        return -1;
    if (ebb_value_set(object, text != NULL ? text : "", value) < 0)
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for a map");
    return 0;
}

static ebb_value *repeated_to_json(const ProtobufCMessage *message,
                                   const ProtobufCFieldDescriptor *field,
                                   size_t count, ebb_err *err)
{
    const char *p = *(const char *const *)place_of(message, field);
    bool map = ebb_proto_is_map(field);
    ebb_value *all = made(map ? ebb_value_object() : ebb_value_array(), err);

    for (size_t i = 0; all != NULL && i < count; i++, p += size_of(field)) {
        int result;

        if (map) {
            result = map_entry_to_json(
                all, *(ProtobufCMessage *const *)(const void *)p, err);
        } else {
            ebb_value *one = one_to_json(field, p, err);

            result = one == NULL ? -1 : ebb_value_add(all, one);
            if (one != NULL && result < 0)
                made(NULL, err);
        }
        if (result < 0) {
            ebb_value_free(all);
            all = NULL;
        }
    }
    return all;
}

/* A field without presence is there when it is not its zero. */
static bool is_set(const ProtobufCFieldDescriptor *field, const void *p)
{
    static const char zero[8];
    const char *text;

    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        text = *(char *const *)p;
        return text != NULL && *text != '\0';
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)p)->len > 0;
    case PROTOBUF_C_TYPE_MESSAGE:
        return *(ProtobufCMessage *const *)p != NULL;
    default:
        return memcmp(p, zero, size_of(field)) != 0;
    }
}

/* How often the field is there: 0, 1, or the count of a repeated one. */
static size_t count_of(const ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field)
{
    const void *quantifier = (const char *)message + field->quantifier_offset;

    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)quantifier;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const uint32_t *)quantifier == field->id;
    return is_set(field, place_of(message, field));
}

static int field_to_json(ebb_value *object, const ProtobufCMessage *message,
                         const ProtobufCFieldDescriptor *field, ebb_err *err)
{
    size_t count = count_of(message, field);
    char name[EBB_PROTO_NAME_BYTES];
    ebb_value *value;

    if (count == 0)
        return 0;
    value = field->label == PROTOBUF_C_LABEL_REPEATED
                ? repeated_to_json(message, field, count, err)
                : one_to_json(field, place_of(message, field), err);
    if (value == NULL)
        return -1;
    ebb_proto_json_name(field->name, name);
    if (ebb_value_set(object, name, value) < 0)
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for %s", name);
    return 0;
}

ebb_value *ebb_proto_to_json(const ProtobufCMessage *message, ebb_err *err)
{
    ebb_value *object = made(ebb_value_object(), err);

    if (message == NULL) /* a oneof's message that nobody filled is empty */
        return object;
    for (unsigned i = 0; object != NULL && i < message->descriptor->n_fields;
         i++)
        if (field_to_json(object, message, &message->descriptor->fields[i],
                          err) < 0) {
            ebb_value_free(object);
            object = NULL;
        }
    return object;
}
