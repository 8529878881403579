/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd_rpc.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

#define MESSAGE_TEXT_BYTES 4096u

/* Answers are in memory once: a listing is the longest. */
#define ANSWER_BYTES_MAX ((size_t)64 << 20)

static bool is_stream(const ebb_envd_rpc *rpc)
{
    return rpc->method->kind != EBB_ENVD_UNARY;
}

static void add_heads(ebb_envd_call *call, bool stream)
{
    ebb_exchange_add_header(
        call->exchange, stream ? "Connect-Accept-Encoding" : "Accept-Encoding",
        "gzip");
    ebb_exchange_add_header(call->exchange, "Vary", "Origin");
}

static void begin_stream(ebb_envd_call *call)
{
    if (call->rpc->begun)
        return;
    call->rpc->begun = true;
    add_heads(call, true);
    ebb_exchange_begin(call->exchange, 200, call->rpc->content_type, -1);
}

static void end_stream(ebb_envd_call *call, const char *payload, size_t n)
{
    ebb_buf frame;

    begin_stream(call);
    ebb_buf_init(&frame, 0);
    ebb_connect_write(&frame, EBB_CONNECT_END, payload, n);
    ebb_envd_call_answered(call);
    if (frame.failed) {
        ebb_exchange_abort(call->exchange);
    } else {
        ebb_exchange_write(call->exchange, frame.bytes, frame.n);
        ebb_exchange_end(call->exchange);
    }
    ebb_buf_clear(&frame);
}

void ebb_envd_rpc_reply_error(ebb_envd_call *call, ebb_connect_code code,
                              const char *message)
{
    size_t n = 0;
    char *text = ebb_envd_error_json(ebb_connect_code_name(code), message, &n);

    ebb_envd_call_answered(call);
    ebb_exchange_add_header(call->exchange, "Vary", "Origin");
    ebb_exchange_reply(call->exchange, ebb_connect_code_status(code),
                       "application/json", text ? text : "", n);
    ebb_mem_free(text);
}

/* {"error":error} into out. */
static void write_end(ebb_buf *out, ebb_connect_code code, const char *message)
{
    size_t n = 0;
    char *error = ebb_envd_error_json(ebb_connect_code_name(code), message, &n);

    if (error)
        ebb_buf_printf(out, "{\"error\":%s}", error);
    else
        ebb_buf_add_text(out, "{\"error\":{\"code\":\"internal\"}}");
    ebb_mem_free(error);
}

void ebb_envd_rpc_refuse_user(ebb_envd_call *call, const char *content_type,
                              const char *message)
{
    ebb_buf payload, frame;

    ebb_buf_init(&payload, 0);
    ebb_buf_init(&frame, 0);
    write_end(&payload, EBB_CONNECT_UNAUTHENTICATED, message);
    ebb_connect_write(&frame, EBB_CONNECT_END, payload.bytes, payload.n);
    ebb_envd_call_answered(call);
    ebb_exchange_add_header(call->exchange, "Vary", "Origin");
    ebb_exchange_reply(call->exchange, 200, content_type, frame.bytes, frame.n);
    ebb_buf_clear(&payload);
    ebb_buf_clear(&frame);
}

void ebb_envd_fail(ebb_envd_call *call, ebb_connect_code code, const char *fmt,
                   ...)
{
    char message[MESSAGE_TEXT_BYTES];
    ebb_buf payload;
    va_list args;

    if (!ebb_envd_call_open(call))
        return;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (!is_stream(call->rpc)) {
        ebb_exchange_add_header(call->exchange, "Accept-Encoding", "gzip");
        ebb_envd_rpc_reply_error(call, code, message);
        return;
    }
    ebb_buf_init(&payload, 0);
    write_end(&payload, code, message);
    end_stream(call, payload.bytes ? payload.bytes : "{}", payload.n);
    ebb_buf_clear(&payload);
}

void ebb_envd_end(ebb_envd_call *call)
{
    if (ebb_envd_call_open(call))
        end_stream(call, "{}", 2);
}

void ebb_envd_answer_bytes(ebb_envd_call *call, const char *bytes, size_t n)
{
    if (!ebb_envd_call_open(call))
        return;
    add_heads(call, false);
    ebb_envd_call_answered(call);
    ebb_exchange_reply(call->exchange, 200, call->rpc->content_type, bytes, n);
}

void ebb_envd_answer(ebb_envd_call *call, const ProtobufCMessage *message)
{
    ebb_buf out;
    ebb_err err;

    if (!ebb_envd_call_open(call))
        return;
    ebb_buf_init(&out, ANSWER_BYTES_MAX);
    if (ebb_envd_encode(call->rpc, message, &out, &err) == 0)
        ebb_envd_answer_bytes(call, out.bytes ? out.bytes : "", out.n);
    else
        ebb_envd_fail(call, EBB_CONNECT_INTERNAL, "marshal message: %s",
                      err.msg);
    ebb_buf_clear(&out);
}

void ebb_envd_send_frame(ebb_envd_call *call, const void *bytes, size_t n)
{
    if (!ebb_envd_call_open(call))
        return;
    begin_stream(call);
    ebb_exchange_write(call->exchange, bytes, n);
}

bool ebb_envd_send(ebb_envd_call *call, const ProtobufCMessage *message)
{
    ebb_buf payload, frame;
    ebb_err err;
    int rc;

    if (!ebb_envd_call_open(call))
        return false;
    ebb_buf_init(&payload, ANSWER_BYTES_MAX);
    ebb_buf_init(&frame, ANSWER_BYTES_MAX);
    rc = ebb_envd_encode(call->rpc, message, &payload, &err);
    if (rc == 0)
        ebb_connect_write(&frame, 0, payload.bytes, payload.n);
    if (rc == 0)
        rc = ebb_buf_check(&frame, "an event", &err);
    if (rc == 0) {
        ebb_envd_send_frame(call, frame.bytes, frame.n);
    } else {
        ebb_envd_call_cancel(call);
        ebb_envd_fail(call, EBB_CONNECT_INTERNAL, "marshal message: %s",
                      err.msg);
    }
    ebb_buf_clear(&payload);
    ebb_buf_clear(&frame);
    return rc == 0;
}
