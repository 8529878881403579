/* SPDX-License-Identifier: MIT */
#include "sandbox/service/reply.h"

#include "base/mem.h"
#include "sandbox/service/sandbox.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define JSON_TYPE     "application/json; charset=utf-8"
#define MESSAGE_BYTES 1024

static void reply_out_of_memory(ebb_exchange *exchange)
{
    static const char body[] = "{\"code\":500,\"message\":\"out of memory\"}";

    ebb_exchange_reply(exchange, 500, JSON_TYPE, body, sizeof body - 1);
}

/* The message may hold bytes of the request that were cut in a character. */
static ebb_value *text_value(const char *text)
{
    ebb_value *value = ebb_value_text(text);

    return value != NULL ? value : ebb_value_text("the request is not UTF-8");
}

static void reply_message(ebb_exchange *exchange, int status,
                          const char *error_code, const char *message)
{
    ebb_value *body = ebb_value_object();

    if (body != NULL &&
        (ebb_value_set(body, "code", ebb_value_int(status)) != 0 ||
         ebb_value_set(body, "message", text_value(message)) != 0 ||
         (error_code != NULL &&
          ebb_value_set(body, "error_code", ebb_value_text(error_code)) !=
              0))) {
        ebb_value_free(body);
        body = NULL;
    }
    ebb_service_reply_take(exchange, status, body);
}

void ebb_service_reply_error(ebb_exchange *exchange, int status,
                             const char *fmt, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    reply_message(exchange, status, NULL, message);
}

void ebb_service_reply_error_code(ebb_exchange *exchange, int status,
                                  const char *error_code, const char *fmt, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    reply_message(exchange, status, error_code, message);
}

static int status_of(ebb_code code)
{
    switch (code) {
    case EBB_INVALID_INPUT:
    case EBB_PROTOCOL:
    case EBB_NOT_UTF8:
        return 400;
    case EBB_NOT_FOUND:
    case EBB_FILE_NOT_FOUND:
        return 404;
    case EBB_CONFLICT:
        return 409;
    case EBB_LIMIT_EXCEEDED:
    case EBB_RATE_LIMITED:
        return 429;
    case EBB_UNSUPPORTED:
        return 501;
    default:
        return 500;
    }
}

void ebb_service_reply_err(ebb_exchange *exchange, const ebb_err *err)
{
    reply_message(exchange, status_of(err->code), NULL, err->msg);
}

void ebb_service_reply_json(ebb_exchange *exchange, int status,
                            const ebb_value *value)
{
    size_t n = 0;
    char *text = ebb_value_write(value, EBB_WRITE_COMPACT, &n);

    if (text == NULL)
        reply_out_of_memory(exchange);
    else
        ebb_exchange_reply(exchange, status, JSON_TYPE, text, n);
    ebb_mem_free(text);
}

void ebb_service_reply_take(ebb_exchange *exchange, int status,
                            ebb_value *value)
{
    if (value == NULL)
        reply_out_of_memory(exchange);
    else
        ebb_service_reply_json(exchange, status, value);
    ebb_value_free(value);
}

void ebb_service_reply_text(ebb_exchange *exchange, int status,
                            const char *text)
{
    ebb_exchange_reply(exchange, status, "text/plain; charset=utf-8", text,
                       strlen(text));
}

void ebb_service_reply_empty(ebb_exchange *exchange, int status)
{
    ebb_exchange_reply(exchange, status, NULL, NULL, 0);
}
