/* SPDX-License-Identifier: MIT */
#include "wire/proto_check.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
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

typedef struct walk {
    const unsigned char *p, *end;
    size_t *memory; /* of the whole message */
    int depth;
    ebb_err *err;
} walk;

/* Up to ten bytes, seven bits each. */
static bool varint(walk *w, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70 && w->p < w->end; shift += 7) {
        unsigned char byte = *w->p++;

        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static int cut(const walk *w, const ProtobufCMessageDescriptor *descriptor)
{
    return ebb_err_set(w->err, EBB_PROTOCOL,
                       "%s: the protobuf bytes are damaged or cut",
                       descriptor->name);
}

static int check_text(const walk *w, const ProtobufCFieldDescriptor *field,
                      const ProtobufCMessageDescriptor *descriptor, size_t n)
{
    if (!ebb_utf8_valid((const char *)w->p, n))
        return ebb_err_set(w->err, EBB_PROTOCOL, "%s.%s is not UTF-8",
                           descriptor->name, field->name);
    if (memchr(w->p, '\0', n) != NULL)
        return ebb_err_set(w->err, EBB_PROTOCOL, "%s.%s holds a NUL",
                           descriptor->name, field->name);
    return 0;
}

static int check_message(walk *w, const ProtobufCMessageDescriptor *descriptor);

/* A field with a length: text, bytes, a message, or one that is not known. */
static int check_prefixed(walk *w, const ProtobufCFieldDescriptor *field,
                          const ProtobufCMessageDescriptor *descriptor)
{
    uint64_t n;
    int result = 0;

    if (!varint(w, &n) || n > (size_t)(w->end - w->p))
        return cut(w, descriptor);
    *w->memory += MALLOC_BYTES;
    if (field != NULL && field->type == PROTOBUF_C_TYPE_STRING) {
        result = check_text(w, field, descriptor, (size_t)n);
    } else if (field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessageDescriptor *inner = field->descriptor;
        walk sub = *w;

        sub.end = w->p + n;
        sub.depth++;
        *w->memory += inner->sizeof_message;
        result = check_message(&sub, inner);
    }
    w->p += n;
    return result;
}

/*
 * protobuf-c reads a bool from any wire type. A list of scalars may also come
 * packed, which is a field with a length.
 */
static bool fits(const ProtobufCFieldDescriptor *field, unsigned wire_type)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return wire_type == PREFIXED;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        if (wire_type == FIXED32)
            return true;
        break;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        if (wire_type == FIXED64)
            return true;
        break;
    default:
        if (wire_type == VARINT)
            return true;
    }
    return wire_type == PREFIXED && field->label == PROTOBUF_C_LABEL_REPEATED;
}

static int check_field(walk *w, const ProtobufCMessageDescriptor *descriptor)
{
    const ProtobufCFieldDescriptor *field;
    uint64_t tag, value;
    size_t fixed;

    if (!varint(w, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return cut(w, descriptor);
    *w->memory += FIELD_BYTES;
    field = protobuf_c_message_descriptor_get_field(descriptor,
                                                    (unsigned)(tag >> 3));
    if (field != NULL && !fits(field, tag & 7))
        return ebb_err_set(w->err, EBB_PROTOCOL,
                           "%s.%s has another type on the wire",
                           descriptor->name, field->name);
    switch (tag & 7) {
    case VARINT:
        return varint(w, &value) ? 0 : cut(w, descriptor);
    case PREFIXED:
        return check_prefixed(w, field, descriptor);
    case FIXED64:
    case FIXED32:
        fixed = (tag & 7) == FIXED64 ? 8 : 4;
        if ((size_t)(w->end - w->p) < fixed)
            return cut(w, descriptor);
        w->p += fixed;
        return 0;
    default: /* groups, which proto3 does not have */
        return cut(w, descriptor);
    }
}

static int check_message(walk *w, const ProtobufCMessageDescriptor *descriptor)
{
    if (w->depth > DEPTH_MAX)
        return ebb_err_set(w->err, EBB_PROTOCOL,
                           "%s: messages nest deeper than %d", descriptor->name,
                           DEPTH_MAX);
    while (w->p < w->end) {
        if (check_field(w, descriptor) < 0)
            return -1;
        if (*w->memory > MEMORY_MAX)
            return ebb_err_set(w->err, EBB_PROTOCOL,
                               "%s: too many fields for one message",
                               descriptor->name);
    }
    return 0;
}

int ebb_proto_check(const ProtobufCMessageDescriptor *descriptor,
                    const void *bytes, size_t n, ebb_err *err)
{
    static const unsigned char none;
    const unsigned char *p = n > 0 ? bytes : &none;
    size_t memory = 0;
    walk w = { .p = p, .end = p + n, .memory = &memory, .err = err };

    return check_message(&w, descriptor);
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
