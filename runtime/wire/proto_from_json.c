/* SPDX-License-Identifier: MIT */
#include "wire/proto_json.h"

#include "base/base64.h"
#include "wire/proto_check.h"
#include "wire/proto_put.h"
#include "wire/proto_shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * JSON is first written as protobuf bytes, which protobuf-c then unpacks: one
 * module builds messages, and what it builds it can free.
 */
#define DEPTH_MAX  32
#define FIELDS_MAX 64
#define PATH_BYTES 160

typedef struct reader {
    ebb_buf out;
    char path[PATH_BYTES]; /* of the member being read, for messages */
    int depth;
    ebb_err *err;
} reader;

EBB_PRINTF(2, 3)
static int refuse(reader *r, const char *fmt, ...)
{
    char why[120];
    va_list args;

    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return ebb_err_set(r->err, EBB_PROTOCOL, "%s: %s",
                       r->path[0] != '\0' ? r->path : "the message", why);
}

/* Goes down a step in the path; returns where the path ended before. */
EBB_PRINTF(2, 3)
static size_t enter(reader *r, const char *fmt, ...)
{
    size_t before = strlen(r->path);
    va_list args;

    va_start(args, fmt);
    vsnprintf(r->path + before, sizeof r->path - before, fmt, args);
    va_end(args);
    return before;
}

static void leave(reader *r, size_t before)
{
    r->path[before] = '\0';
}

static bool in_range(ProtobufCType type, int64_t number)
{
    switch (type) {
    case PROTOBUF_C_TYPE_UINT32:
        return number >= 0 && number <= UINT32_MAX;
    case PROTOBUF_C_TYPE_UINT64:
        return number >= 0;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
        return true;
    default:
        return number >= INT32_MIN && number <= INT32_MAX;
    }
}

/* An integer, also written as 1.0 or 1e3. */
static bool whole_number(const ebb_value *value, int64_t *number)
{
    double d = ebb_value_get_float(value);

    *number = ebb_value_get_int(value);
    if (ebb_value_type(value) == EBB_INT)
        return true;
    if (ebb_value_type(value) != EBB_FLOAT || d < -0x1p63 || d >= 0x1p63)
        return false;
    *number = (int64_t)d;
    return (double)*number == d;
}

/* An integer in quotes: exactly a JSON number, no blanks around it. */
static bool quoted_number(const char *text, size_t n, int64_t *number)
{
    ebb_value *value;
    ebb_err ignored;
    bool ok;

    if (n == 0 || (text[0] != '-' && (text[0] < '0' || text[0] > '9')) ||
        text[n - 1] < '0' || text[n - 1] > '9')
        return false;
    value = ebb_value_parse(text, n, 1, &ignored);
    ok = value != NULL && whole_number(value, number);
    ebb_value_free(value);
    return ok;
}

static int put_number(reader *r, const ProtobufCFieldDescriptor *field,
                      const ebb_value *value)
{
    size_t n;
    const char *text = ebb_value_get_string(value, &n);
    int64_t number;

    if (text != NULL ? !quoted_number(text, n, &number)
                     : !whole_number(value, &number))
        return refuse(r, "expected an integer, got a %s",
                      ebb_type_name(ebb_value_type(value)));
    if (!in_range(field->type, number))
        return refuse(r, "the number is out of range");
    ebb_proto_put_tag(&r->out, field->id, EBB_PROTO_VARINT);
    if (field->type == PROTOBUF_C_TYPE_SINT32 ||
        field->type == PROTOBUF_C_TYPE_SINT64) /* zigzag */
        ebb_proto_put_varint(&r->out, (uint64_t)number << 1 ^
                                          (number < 0 ? UINT64_MAX : 0));
    else
        ebb_proto_put_varint(&r->out, (uint64_t)number);
    return 0;
}

static int put_bool(reader *r, const ProtobufCFieldDescriptor *field,
                    const ebb_value *value)
{
    if (ebb_value_type(value) != EBB_BOOL)
        return refuse(r, "expected true or false, got a %s",
                      ebb_type_name(ebb_value_type(value)));
    ebb_proto_put_tag(&r->out, field->id, EBB_PROTO_VARINT);
    ebb_proto_put_varint(&r->out, ebb_value_get_bool(value));
    return 0;
}

static int put_enum(reader *r, const ProtobufCFieldDescriptor *field,
                    const ebb_value *value)
{
    const char *name = ebb_value_get_string(value, NULL);
    const ProtobufCEnumValue *known;
    int64_t number = 0;

    if (name != NULL) {
        known = protobuf_c_enum_descriptor_get_value_by_name(field->descriptor,
                                                             name);
        number = known != NULL ? known->value : 0;
    } else if (!whole_number(value, &number) ||
               !in_range(PROTOBUF_C_TYPE_INT32, number)) {
        return refuse(r, "expected the name of a value, got a %s",
                      ebb_type_name(ebb_value_type(value)));
    }
    ebb_proto_put_tag(&r->out, field->id, EBB_PROTO_VARINT);
    ebb_proto_put_varint(&r->out, (uint64_t)number);
    return 0;
}

static int put_text(reader *r, const ProtobufCFieldDescriptor *field,
                    const char *text, size_t n)
{
    if (memchr(text, '\0', n) != NULL)
        return refuse(r, "text may not hold a NUL");
    ebb_proto_put_tag(&r->out, field->id, EBB_PROTO_PREFIXED);
    ebb_proto_put_varint(&r->out, n);
    return ebb_buf_add(&r->out, text, n);
}

static int put_bytes(reader *r, const ProtobufCFieldDescriptor *field,
                     const char *text, size_t n)
{
    size_t start;

    ebb_proto_put_tag(&r->out, field->id, EBB_PROTO_PREFIXED);
    start = r->out.n;
    if (ebb_base64_parse(&r->out, text, n, false) < 0 && !r->out.failed)
        return refuse(r, "the text is not base64");
    return ebb_proto_put_length(&r->out, start);
}

static int put_string_or_bytes(reader *r, const ProtobufCFieldDescriptor *field,
                               const ebb_value *value)
{
    size_t n;
    const char *text = ebb_value_get_string(value, &n);

    if (text == NULL)
        return refuse(r, "expected a string, got a %s",
                      ebb_type_name(ebb_value_type(value)));
    return field->type == PROTOBUF_C_TYPE_BYTES ? put_bytes(r, field, text, n)
                                                : put_text(r, field, text, n);
}

static int put_fields(reader *r, const ProtobufCMessageDescriptor *descriptor,
                      const ebb_value *value);

/* The two fields of a Timestamp, as varints. */
static int put_time(reader *r, const ebb_value *value)
{
    const char *text = ebb_value_get_string(value, NULL);
    int64_t seconds;
    int32_t nanos;

    if (text == NULL || !ebb_proto_time_parse(text, &seconds, &nanos))
        return refuse(r, "expected a time such as 2026-01-31T12:00:00.5Z");
    ebb_proto_put_tag(&r->out, 1, EBB_PROTO_VARINT);
    ebb_proto_put_varint(&r->out, (uint64_t)seconds);
    ebb_proto_put_tag(&r->out, 2, EBB_PROTO_VARINT);
    ebb_proto_put_varint(&r->out, (uint64_t)nanos);
    return 0;
}

static int put_message(reader *r, const ProtobufCFieldDescriptor *field,
                       const ebb_value *value)
{
    const ProtobufCMessageDescriptor *inner = field->descriptor;
    size_t start;
    int result;

    ebb_proto_put_tag(&r->out, field->id, EBB_PROTO_PREFIXED);
    start = r->out.n;
    result = ebb_proto_is_timestamp(inner) ? put_time(r, value)
                                           : put_fields(r, inner, value);
    return result < 0 ? -1 : ebb_proto_put_length(&r->out, start);
}

static int put_one(reader *r, const ProtobufCFieldDescriptor *field,
                   const ebb_value *value)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
        return put_number(r, field, value);
    case PROTOBUF_C_TYPE_BOOL:
        return put_bool(r, field, value);
    case PROTOBUF_C_TYPE_ENUM:
        return put_enum(r, field, value);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return put_string_or_bytes(r, field, value);
    case PROTOBUF_C_TYPE_MESSAGE:
        return put_message(r, field, value);
    default:
        return refuse(r, "the field has a type with no JSON form");
    }
}

static int put_map(reader *r, const ProtobufCFieldDescriptor *field,
                   const ebb_value *value)
{
    const ProtobufCMessageDescriptor *entry = field->descriptor;
    ebb_value *member;
    void *place = NULL;
    const char *key;

    if (ebb_value_type(value) != EBB_OBJECT ||
        entry->fields[0].type != PROTOBUF_C_TYPE_STRING)
        return refuse(r, "expected an object, got a %s",
                      ebb_type_name(ebb_value_type(value)));
    while (ebb_value_next(value, &place, &key, &member)) {
        size_t before = enter(r, ".%s", key), start;

        ebb_proto_put_tag(&r->out, field->id, EBB_PROTO_PREFIXED);
        start = r->out.n;
        if (put_text(r, &entry->fields[0], key, strlen(key)) < 0 ||
            put_one(r, &entry->fields[1], member) < 0 ||
            ebb_proto_put_length(&r->out, start) < 0)
            return -1;
        leave(r, before);
    }
    return 0;
}

static int put_array(reader *r, const ProtobufCFieldDescriptor *field,
                     const ebb_value *value)
{
    if (ebb_value_type(value) != EBB_ARRAY)
        return refuse(r, "expected an array, got a %s",
                      ebb_type_name(ebb_value_type(value)));
    for (size_t i = 0; i < ebb_value_size(value); i++) {
        size_t before = enter(r, "[%zu]", i);

        if (put_one(r, field, ebb_value_at(value, i)) < 0)
            return -1;
        leave(r, before);
    }
    return 0;
}

static int put_member(reader *r, const ProtobufCFieldDescriptor *field,
                      const ebb_value *member)
{
    if (ebb_proto_is_map(field))
        return put_map(r, field, member);
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return put_array(r, field, member);
    return put_one(r, field, member);
}

/* What one message has seen, by index of the field. */
typedef struct seen {
    uint64_t names; /* also of members that are null */
    uint64_t filled;
} seen;

/* Refuses a field named twice, and the second member of a oneof. */
static int note(reader *r, const ProtobufCMessageDescriptor *descriptor,
                const ProtobufCFieldDescriptor *field, bool null, seen *s)
{
    size_t index = (size_t)(field - descriptor->fields);
    uint64_t bit = UINT64_C(1) << index;

    if (s->names & bit)
        return refuse(r, "the member is there twice");
    s->names |= bit;
    if (null)
        return 0;
    for (size_t i = 0; i < descriptor->n_fields; i++)
        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
            (s->filled >> i & 1) &&
            (descriptor->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
            descriptor->fields[i].quantifier_offset == field->quantifier_offset)
            return refuse(r, "only one of this and %s may be there",
                          descriptor->fields[i].name);
    s->filled |= bit;
    return 0;
}

static int put_fields(reader *r, const ProtobufCMessageDescriptor *descriptor,
                      const ebb_value *value)
{
    ebb_value *member;
    void *place = NULL;
    const char *key;
    seen s = { 0 };

    if (ebb_value_type(value) != EBB_OBJECT)
        return refuse(r, "expected an object, got a %s",
                      ebb_type_name(ebb_value_type(value)));
    if (++r->depth > DEPTH_MAX || descriptor->n_fields > FIELDS_MAX)
        return refuse(r, "messages nest too deep");
    while (ebb_value_next(value, &place, &key, &member)) {
        const ProtobufCFieldDescriptor *field =
            ebb_proto_json_field(descriptor, key);
        bool null = ebb_value_type(member) == EBB_NULL;
        size_t before;

        if (field == NULL)
            continue;
        before = enter(r, r->path[0] != '\0' ? ".%s" : "%s", key);
        if (note(r, descriptor, field, null, &s) < 0 ||
            (!null && put_member(r, field, member) < 0))
            return -1;
        leave(r, before);
    }
    r->depth--;
    return 0;
}

ProtobufCMessage *ebb_proto_from_json(
    const ProtobufCMessageDescriptor *descriptor, const ebb_value *value,
    ebb_err *err)
{
    reader r = { .err = err };
    ProtobufCMessage *message = NULL;
    int result = put_fields(&r, descriptor, value);

    if (ebb_buf_check(&r.out, descriptor->name, err) == 0 && result == 0)
        message = ebb_proto_unpack(descriptor, r.out.bytes, r.out.n, err);
    ebb_buf_clear(&r.out);
    return message;
}
