/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd_rpc.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STREAM_IDLE_MS 640000 /* as a real envd's connections */

static const char stream_types[] =
    "application/connect+json, application/connect+json; charset=utf-8, "
    "application/connect+proto";
static const char unary_types[] =
    "application/json, application/json; charset=utf-8, application/proto";

static bool is_stream(const ebb_envd_rpc *rpc)
{
    return rpc->method->kind != EBB_ENVD_UNARY;
}

ProtobufCMessage *ebb_envd_rpc_take(ebb_envd_call *call)
{
    ProtobufCMessage *request = call->rpc->request;

    call->rpc->request = NULL;
    return request;
}

static void drop_request(ebb_envd_rpc *rpc)
{
    if (rpc->request)
        protobuf_c_message_free_unpacked(rpc->request, NULL);
    rpc->request = NULL;
}

void ebb_envd_rpc_free(ebb_envd_rpc *rpc)
{
    if (!rpc)
        return;
    drop_request(rpc);
    ebb_connect_reader_clear(&rpc->reader);
    ebb_mem_free(rpc);
}

/* Fails the call for what was wrong with its request. */
static void refuse(ebb_envd_call *call, const ebb_err *err)
{
    ebb_connect_code code = call->rpc->refused;

    if (code == EBB_CONNECT_OK)
        code = err->code == EBB_LIMIT_EXCEEDED ? EBB_CONNECT_RESOURCE_EXHAUSTED
                                               : EBB_CONNECT_INVALID_ARGUMENT;
    ebb_envd_fail(call, code, "%s", err->msg);
}

/* Decodes one message into rpc->request. */
static int read_message(ebb_envd_call *call, bool compressed, const char *bytes,
                        size_t n, ebb_err *err)
{
    ebb_envd_rpc *rpc = call->rpc;
    ebb_buf plain;
    int rc = 0;

    ebb_buf_init(&plain, EBB_ENVD_MESSAGE_BYTES_MAX);
    if (compressed) {
        rc = ebb_envd_inflate(bytes, n, &plain, err);
        bytes = plain.bytes ? plain.bytes : "";
        n = plain.n;
    }
    drop_request(rpc);
    if (rc == 0) {
        rpc->request = ebb_envd_decode(rpc, bytes, n, err);
        if (!rpc->request)
            rc = ebb_err_wrap(err, "unmarshal message");
    }
    ebb_buf_clear(&plain);
    return rc;
}

static int refuse_envelope(ebb_envd_rpc *rpc, ebb_connect_code code,
                           const char *why, ebb_err *err)
{
    rpc->refused = code;
    return ebb_err_set(err, EBB_PROTOCOL, "%s", why);
}

static int on_envelope(void *context, unsigned flags, const char *payload,
                       size_t n, ebb_err *err)
{
    ebb_envd_call *call = context;
    ebb_envd_rpc *rpc = call->rpc;

    if (flags & ~(EBB_CONNECT_COMPRESSED | EBB_CONNECT_END))
        return refuse_envelope(rpc, EBB_CONNECT_INTERNAL,
                               "protocol error: invalid envelope flags", err);
    if (flags & EBB_CONNECT_END)
        return 0; /* clients need none, and are forgiven one */
    if ((flags & EBB_CONNECT_COMPRESSED) && !rpc->inflate)
        return refuse_envelope(rpc, EBB_CONNECT_INTERNAL,
                               "protocol error: sent compressed message "
                               "without compression support",
                               err);
    if (rpc->method->kind == EBB_ENVD_SERVER_STREAM && rpc->messages > 0)
        return refuse_envelope(rpc, EBB_CONNECT_UNIMPLEMENTED,
                               "unary request has multiple messages", err);
    rpc->messages++;
    if (read_message(call, flags & EBB_CONNECT_COMPRESSED, payload, n, err) !=
        0)
        return -1;
    if (rpc->method->kind == EBB_ENVD_CLIENT_STREAM) {
        if (ebb_envd_call_open(call))
            rpc->method->handle(call, rpc->request);
    }
    return 0;
}

/* The body of a server stream is whole: exactly one message must be in it. */
static int read_envelopes(ebb_envd_call *call, ebb_err *err)
{
    ebb_envd_rpc *rpc = call->rpc;
    const ebb_buf *body = ebb_exchange_body(call->exchange);

    if (body->n > 0 && body->bytes[0] == '{')
        return ebb_err_set(err, EBB_PROTOCOL,
                           "protocol error: the message is not in an "
                           "envelope (one byte of flags, four of length)");
    if (body->n > 0 &&
        ebb_connect_add(&rpc->reader, body->bytes, body->n, err) != 0)
        return -1;
    if (ebb_connect_finish(&rpc->reader, err) != 0)
        return ebb_err_wrap(err, "protocol error");
    if (rpc->messages == 0)
        return refuse_envelope(rpc, EBB_CONNECT_UNIMPLEMENTED,
                               "unary request has zero messages", err);
    return 0;
}

/*
 * The client has ended its side, which cancels a stream. Asked for only when
 * its request is whole: before, the rest may still be in the socket.
 */
static void on_hangup(void *context, ebb_exchange *exchange)
{
    ebb_envd_call *call = context;

    (void)exchange;
    if (!ebb_envd_call_open(call))
        return;
    ebb_envd_call_cancel(call);
    ebb_envd_fail(call, EBB_CONNECT_CANCELED, "context canceled");
}

static void on_whole_body(void *context, ebb_exchange *exchange)
{
    ebb_envd_call *call = context;
    ebb_envd_rpc *rpc = call->rpc;
    const ebb_buf *body;
    ebb_err err;
    int rc;

    if (!ebb_envd_call_open(call))
        return;
    if (ebb_exchange_too_long(exchange)) {
        ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED,
                      "message is larger than configured max %zu",
                      EBB_ENVD_MESSAGE_BYTES_MAX);
        return;
    }
    body = ebb_exchange_body(exchange);
    if (is_stream(rpc))
        rc = read_envelopes(call, &err);
    else
        rc = read_message(call, rpc->inflate, body->bytes ? body->bytes : "",
                          body->n, &err);
    if (rc != 0) {
        refuse(call, &err);
        return;
    }
    if (is_stream(rpc))
        ebb_exchange_on_hangup(exchange, on_hangup, call);
    rpc->method->handle(call, rpc->request);
}

static int on_piece(void *context, ebb_exchange *exchange, const char *bytes,
                    size_t n)
{
    ebb_envd_call *call = context;
    ebb_err err;

    (void)exchange;
    if (!ebb_envd_call_open(call))
        return -1;
    if (ebb_connect_add(&call->rpc->reader, bytes, n, &err) == 0)
        return 0;
    ebb_envd_call_cancel(call);
    refuse(call, &err);
    return -1;
}

static void on_pieces_end(void *context, ebb_exchange *exchange)
{
    ebb_envd_call *call = context;
    ebb_err err;

    if (!ebb_envd_call_open(call))
        return;
    if (ebb_connect_finish(&call->rpc->reader, &err) != 0) {
        ebb_envd_call_cancel(call);
        refuse(call, &err);
        return;
    }
    ebb_exchange_on_hangup(exchange, on_hangup, call);
    call->rpc->method->handle(call, NULL);
}

/* ---- heads ---- */

static int read_timeout(ebb_envd_call *call, ebb_err *err)
{
    const char *text =
        ebb_exchange_header(call->exchange, "Connect-Timeout-Ms");
    char *end;

    if (!text || !*text)
        return 0;
    if (strlen(text) > 10)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "parse timeout: \"%s\" has >10 digits", text);
    call->rpc->timeout_ms = strtoll(text, &end, 10);
    if (*end || isspace((unsigned char)*text))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "parse timeout: strconv.ParseInt: parsing \"%s\": "
                           "invalid syntax",
                           text);
    call->rpc->bound = true;
    return 0;
}

static int read_encoding(ebb_envd_call *call, ebb_err *err)
{
    const char *given = ebb_exchange_header(
        call->exchange,
        is_stream(call->rpc) ? "Connect-Content-Encoding" : "Content-Encoding");

    if (!given || !*given || strcasecmp(given, "identity") == 0)
        return 0;
    if (strcasecmp(given, "gzip") != 0) {
        call->rpc->refused = EBB_CONNECT_UNIMPLEMENTED;
        return ebb_err_set(
            err, EBB_UNSUPPORTED,
            "unknown compression \"%s\": supported encodings are gzip", given);
    }
    call->rpc->inflate = true;
    return 0;
}

static int read_heads(ebb_envd_call *call, ebb_err *err)
{
    const char *version =
        ebb_exchange_header(call->exchange, "Connect-Protocol-Version");

    if (version && strcmp(version, "1") != 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "Connect-Protocol-Version must be \"1\": got "
                           "\"%s\"",
                           version);
    if (read_timeout(call, err) != 0)
        return -1;
    return read_encoding(call, err);
}

static void refuse_type(ebb_envd_call *call, bool stream)
{
    ebb_exchange_add_header(call->exchange, "Accept-Post",
                            stream ? stream_types : unary_types);
    ebb_envd_reply_empty(call, 415);
}

/* A client's stream may have nothing to say for a while. */
static void receive_pieces(ebb_envd_call *call)
{
    ebb_exchange_set_idle(call->exchange, STREAM_IDLE_MS);
    ebb_exchange_receive(call->exchange, on_piece, on_pieces_end, call);
}

void ebb_envd_rpc_start(ebb_envd_call *call, const ebb_envd_method *method)
{
    bool stream = method->kind != EBB_ENVD_UNARY;
    ebb_envd_rpc *rpc = ebb_mem_zero(sizeof *rpc);
    ebb_err err;

    if (!rpc) {
        ebb_envd_reply_empty(call, 503);
        return;
    }
    call->rpc = rpc;
    rpc->method = method;
    ebb_connect_reader_init(&rpc->reader, EBB_ENVD_MESSAGE_BYTES_MAX,
                            on_envelope, call);
    if (!ebb_envd_content_type(
            ebb_exchange_header(call->exchange, "Content-Type"), stream,
            rpc->content_type, sizeof rpc->content_type, &rpc->binary))
        refuse_type(call, stream);
    else if (read_heads(call, &err) != 0)
        refuse(call, &err);
    else if (!method->request)
        ebb_envd_fail(call, EBB_CONNECT_UNIMPLEMENTED,
                      "the local service does not offer %s", method->path);
    else if (method->kind == EBB_ENVD_CLIENT_STREAM)
        receive_pieces(call);
    else
        ebb_exchange_collect(call->exchange,
                             EBB_ENVD_MESSAGE_BYTES_MAX +
                                 2 * (size_t)EBB_CONNECT_HEAD_BYTES,
                             on_whole_body, call);
}
