/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd_rpc.h"

#include "base/mem.h"
#include "net/gzip.h"
#include "wire/proto_check.h"
#include "wire/proto_json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * A message of 4 MiB may hold many small values; an object in a tree costs up
 * to 220 bytes with its key, another value less.
 */
#define VALUES_MAX 200000u

ProtobufCMessage *ebb_envd_decode(const ebb_envd_rpc *rpc, const char *bytes,
                                  size_t n, ebb_err *err)
{
    const ProtobufCMessageDescriptor *type = rpc->method->request;
    ProtobufCMessage *message = NULL;
    ebb_value *value;

    if (rpc->binary)
        return ebb_proto_unpack(type, bytes, n, err);
    if (n == 0 && rpc->method->kind == EBB_ENVD_UNARY) {
        ebb_err_set(err, EBB_PROTOCOL,
                    "zero-length payload is not a valid JSON object");
        return NULL;
    }
    /* An envelope of no bytes is the empty message, in JSON too. */
    value = n == 0 ? ebb_value_object()
                   : ebb_value_parse(bytes, n, VALUES_MAX, err);
    if (value)
        message = ebb_proto_from_json(type, value, err);
    ebb_value_free(value);
    return message;
}

static int encode_json(const ProtobufCMessage *message, ebb_buf *out,
                       ebb_err *err)
{
    ebb_value *value = ebb_proto_to_json(message, err);
    size_t n = 0;
    char *text;

    if (!value)
        return -1;
    text = ebb_value_write(value, EBB_WRITE_COMPACT, &n);
    ebb_value_free(value);
    if (text)
        ebb_buf_add(out, text, n);
    else
        out->failed = true;
    ebb_mem_free(text);
    return ebb_buf_check(out, "an answer", err);
}

int ebb_envd_encode(const ebb_envd_rpc *rpc, const ProtobufCMessage *message,
                    ebb_buf *out, ebb_err *err)
{
    size_t n;
    char *room;

    if (!rpc->binary)
        return encode_json(message, out, err);
    n = protobuf_c_message_get_packed_size(message);
    room = ebb_buf_reserve(out, n);
    if (!room)
        return ebb_buf_check(out, "an answer", err);
    protobuf_c_message_pack(message, (uint8_t *)room);
    ebb_buf_grew(out, n);
    return 0;
}

void ebb_envd_list_add(const ebb_envd_rpc *rpc, ebb_buf *out,
                       const ebb_buf *entry)
{
    size_t n = entry->n;

    if (rpc->binary) {
        ebb_buf_add_byte(out, 1 << 3 | 2); /* field 1, length-delimited */
        for (; n > 0x7f; n >>= 7)
            ebb_buf_add_byte(out, (char)(n | 0x80));
        ebb_buf_add_byte(out, (char)n);
    } else {
        ebb_buf_add_text(out, out->n == 0 ? "{\"entries\":[" : ",");
    }
    ebb_buf_add(out, entry->bytes, entry->n);
}

void ebb_envd_list_end(const ebb_envd_rpc *rpc, ebb_buf *out)
{
    if (!rpc->binary)
        ebb_buf_add_text(out, out->n == 0 ? "{}" : "]}");
}

static int add_inflated(void *context, const char *bytes, size_t n)
{
    return ebb_buf_add(context, bytes, n);
}

int ebb_envd_inflate(const char *bytes, size_t n, ebb_buf *out, ebb_err *err)
{
    ebb_gunzip *gunzip = ebb_gunzip_new(EBB_ENVD_MESSAGE_BYTES_MAX, err);
    int rc = -1;

    if (!gunzip)
        return -1;
    if (ebb_gunzip_add(gunzip, bytes, n, add_inflated, out, err) == 0 &&
        ebb_gunzip_finish(gunzip, err) == 0)
        rc = ebb_buf_check(out, "a compressed message", err);
    ebb_gunzip_free(gunzip);
    return rc;
}

/* Whether what follows the media type is nothing, or charset=utf-8. */
static bool read_charset(const char *rest, bool *utf8)
{
    rest += strspn(rest, " \t");
    *utf8 = false;
    if (!*rest)
        return true;
    if (*rest != ';')
        return false;
    rest++;
    rest += strspn(rest, " \t");
    *utf8 = strcasecmp(rest, "charset=utf-8") == 0 ||
            strcasecmp(rest, "charset=\"utf-8\"") == 0;
    return *utf8;
}

bool ebb_envd_content_type(const char *given, bool stream, char *out,
                           size_t room, bool *binary)
{
    const char *prefix = stream ? "application/connect+" : "application/";
    const char *codec;
    bool utf8;

    if (!given || strncasecmp(given, prefix, strlen(prefix)) != 0)
        return false;
    codec = given + strlen(prefix);
    *binary = strncasecmp(codec, "proto", 5) == 0;
    if (!*binary && strncasecmp(codec, "json", 4) != 0)
        return false;
    if (!read_charset(codec + (*binary ? 5 : 4), &utf8) || (utf8 && *binary))
        return false;
    snprintf(out, room, "%s%s%s", prefix, *binary ? "proto" : "json",
             utf8 ? "; charset=utf-8" : "");
    return true;
}
