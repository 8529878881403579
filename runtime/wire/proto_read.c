/* SPDX-License-Identifier: MIT */
#include "wire/proto_read.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Ours nest five deep; a descriptor that contains itself stops here. */
#define DEPTH_MAX 32

/*
 * Two bytes can ask for a whole message: what unpacking would allocate beyond
 * the text and bytes themselves is added up, and bounded.
 */
#define MEMORY_MAX   (64u << 20)
#define FIELD_BYTES  48u /* protobuf-c's own list of fields */
#define MALLOC_BYTES 32u

enum { VARINT = 0, FIXED64 = 1, PREFIXED = 2, FIXED32 = 5 };

/* Up to ten bytes, seven bits each. */
static bool long_varint(ebb_proto_reader *r, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70 && r->at < r->end; shift += 7) {
        unsigned char byte = *r->at++;

        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Most have one byte. */
static inline bool varint(ebb_proto_reader *r, uint64_t *value)
{
    if (r->at == r->end || *r->at >= 0x80)
        return long_varint(r, value);
    *value = *r->at++;
    return true;
}

/* Little-endian. */
static bool fixed(ebb_proto_reader *r, size_t n, uint64_t *value)
{
    if ((size_t)(r->end - r->at) < n)
        return false;
    for (size_t i = 0; i < n; i++)
        *value |= (uint64_t)r->at[i] << (8 * i);
    r->at += n;
    return true;
}

static bool prefixed(ebb_proto_reader *r, ebb_proto_field *field)
{
    uint64_t n;

    if (!varint(r, &n) || n > (size_t)(r->end - r->at))
        return false;
    field->bytes = (const char *)r->at;
    field->n = (size_t)n;
    r->at += n;
    return true;
}

/* What follows the tag. */
static bool contents(ebb_proto_reader *r, unsigned wire_type,
                     ebb_proto_field *field)
{
    switch (wire_type) {
    case VARINT:
        return varint(r, &field->value);
    case PREFIXED:
        return prefixed(r, field);
    case FIXED64:
        return fixed(r, 8, &field->value);
    case FIXED32:
        return fixed(r, 4, &field->value);
    default: /* groups, which proto3 does not have */
        return false;
    }
}

/* Most messages number their fields without gaps. */
static const ProtobufCFieldDescriptor *find(
    const ProtobufCMessageDescriptor *descriptor, unsigned number)
{
    if (number <= descriptor->n_fields &&
        descriptor->fields[number - 1].id == number)
        return &descriptor->fields[number - 1];
    return protobuf_c_message_descriptor_get_field(descriptor, number);
}

/*
 * protobuf-c reads a bool from any wire type. A list of scalars may also come
 * packed, which is a field with a length.
 */
static bool fits(const ProtobufCFieldDescriptor *field, unsigned wire_type)
{
    static const unsigned char wanted[] = {
        [PROTOBUF_C_TYPE_FIXED32] = FIXED32,
        [PROTOBUF_C_TYPE_SFIXED32] = FIXED32,
        [PROTOBUF_C_TYPE_FLOAT] = FIXED32,
        [PROTOBUF_C_TYPE_FIXED64] = FIXED64,
        [PROTOBUF_C_TYPE_SFIXED64] = FIXED64,
        [PROTOBUF_C_TYPE_DOUBLE] = FIXED64,
        [PROTOBUF_C_TYPE_STRING] = PREFIXED,
        [PROTOBUF_C_TYPE_BYTES] = PREFIXED,
        [PROTOBUF_C_TYPE_MESSAGE] = PREFIXED, /* the last; others VARINT */
    };

    return wire_type == wanted[field->type] ||
           (wire_type == PREFIXED && field->label == PROTOBUF_C_LABEL_REPEATED);
}

static int cut(const ebb_proto_reader *r, ebb_err *err)
{
    return ebb_err_set(err, EBB_PROTOCOL,
                       "%s: the protobuf bytes are damaged or cut",
                       r->descriptor->name);
}

static int check_text(const ebb_proto_reader *r,
                      const ProtobufCFieldDescriptor *known,
                      const ebb_proto_field *field, ebb_err *err)
{
    if (ebb_utf8_is_plain(field->bytes, field->n))
        return 0;
    if (!ebb_utf8_valid(field->bytes, field->n))
        return ebb_err_set(err, EBB_PROTOCOL, "%s.%s is not UTF-8",
                           r->descriptor->name, known->name);
    if (memchr(field->bytes, '\0', field->n) != NULL)
        return ebb_err_set(err, EBB_PROTOCOL, "%s.%s holds a NUL",
                           r->descriptor->name, known->name);
    return 0;
}

static int check_message(ebb_proto_reader *outer,
                         const ProtobufCMessageDescriptor *descriptor,
                         const ebb_proto_field *field, ebb_err *err)
{
    ebb_proto_reader inner;
    ebb_proto_field any;
    int more;

    if (outer->depth == DEPTH_MAX)
        return ebb_err_set(err, EBB_PROTOCOL,
                           "%s: messages nest deeper than %d", descriptor->name,
                           DEPTH_MAX);
    ebb_proto_reader_init(&inner, descriptor, field->bytes, field->n);
    inner.depth = outer->depth + 1;
    inner.memory = outer->memory + descriptor->sizeof_message;
    do
        more = ebb_proto_next(&inner, &any, err);
    while (more > 0);
    outer->memory = inner.memory;
    return more;
}

/* A field with a length: text, bytes, a message, or one that is not known. */
static int check_prefixed(ebb_proto_reader *r,
                          const ProtobufCFieldDescriptor *known,
                          const ebb_proto_field *field, ebb_err *err)
{
    r->memory += MALLOC_BYTES;
    if (known != NULL && known->type == PROTOBUF_C_TYPE_STRING)
        return check_text(r, known, field, err);
    if (known != NULL && known->type == PROTOBUF_C_TYPE_MESSAGE)
        return check_message(r, known->descriptor, field, err);
    return 0;
}

void ebb_proto_reader_init(ebb_proto_reader *reader,
                           const ProtobufCMessageDescriptor *descriptor,
                           const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    *reader = (ebb_proto_reader){ .descriptor = descriptor,
                                  .at = at,
                                  .end = n > 0 ? at + n : at };
}

int ebb_proto_next(ebb_proto_reader *reader, ebb_proto_field *field,
                   ebb_err *err)
{
    const ProtobufCFieldDescriptor *known;
    uint64_t tag;

    if (reader->at == reader->end)
        return 0;
    if (!varint(reader, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return cut(reader, err);
    *field = (ebb_proto_field){ .number = (unsigned)(tag >> 3) };
    known = find(reader->descriptor, field->number);
    if (known != NULL && !fits(known, tag & 7))
        return ebb_err_set(err, EBB_PROTOCOL,
                           "%s.%s has another type on the wire",
                           reader->descriptor->name, known->name);
    if (!contents(reader, tag & 7, field))
        return cut(reader, err);
    reader->memory += FIELD_BYTES;
    if (field->bytes != NULL && check_prefixed(reader, known, field, err) < 0)
        return -1;
    if (reader->memory > MEMORY_MAX)
        return ebb_err_set(err, EBB_PROTOCOL,
                           "%s: too many fields for one message",
                           reader->descriptor->name);
    return 1;
}
