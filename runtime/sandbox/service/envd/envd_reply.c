/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ERROR_BYTES_MAX ((size_t)64 << 10)

static void add_text(void *context, const char *text, size_t n)
{
    ebb_buf_add(context, text, n);
}

/* A JSON string of bytes that need not be UTF-8. */
static ebb_value *text_value(const char *message)
{
    ebb_utf8 decoder;
    ebb_value *value;
    ebb_buf text;

    ebb_buf_init(&text, ERROR_BYTES_MAX);
    ebb_utf8_init(&decoder);
    ebb_utf8_add(&decoder, message, strlen(message), add_text, &text);
    ebb_utf8_finish(&decoder, add_text, &text);
    value = ebb_value_string(text.bytes ? text.bytes : "", text.n);
    ebb_buf_clear(&text);
    return value;
}

/* Go's JSON writer escapes what HTML could misread. */
static char *escape_html(const char *json, size_t *n)
{
    ebb_buf out;

    ebb_buf_init(&out, 6 * ERROR_BYTES_MAX);
    for (; *json; json++) {
        if (*json == '<' || *json == '>' || *json == '&')
            ebb_buf_printf(&out, "\\u%04x", (unsigned)*json);
        else
            ebb_buf_add_byte(&out, *json);
    }
    *n = out.n;
    return ebb_buf_take(&out);
}

/* {"code":code,"message":message}; code's ownership moves. */
static char *error_text(ebb_value *code, const char *message, size_t *n)
{
    ebb_value *body = ebb_value_object();
    char *text = NULL, *escaped = NULL;

    if (body && ebb_value_set(body, "code", code) == 0 &&
        ebb_value_set(body, "message", text_value(message)) == 0)
        text = ebb_value_write(body, EBB_WRITE_COMPACT, NULL);
    if (text)
        escaped = escape_html(text, n);
    ebb_mem_free(text);
    ebb_value_free(body);
    return escaped;
}

char *ebb_envd_error_json(const char *code, const char *message, size_t *n)
{
    return error_text(ebb_value_text(code), message, n);
}

/* Every answer but a file's says that it depends on the origin. */
static ebb_exchange *begin(ebb_envd_call *call)
{
    ebb_envd_call_answered(call);
    ebb_exchange_add_header(call->exchange, "Vary", "Origin");
    return call->exchange;
}

void ebb_envd_reply_error(ebb_envd_call *call, int status, const char *fmt, ...)
{
    ebb_exchange *exchange = begin(call);
    char *text = NULL, *message;
    size_t n = 0;
    ebb_buf body;
    va_list args;

    va_start(args, fmt);
    message = ebb_mem_alloc(ERROR_BYTES_MAX);
    if (message) {
        vsnprintf(message, ERROR_BYTES_MAX, fmt, args);
        text = error_text(ebb_value_int(status), message, &n);
    }
    va_end(args);
    ebb_buf_init(&body, 0);
    ebb_buf_add(&body, text ? text : "", n);
    ebb_buf_add_byte(&body, '\n');
    ebb_exchange_add_header(exchange, "X-Content-Type-Options", "nosniff");
    ebb_exchange_reply(exchange, status, "application/json; charset=utf-8",
                       body.bytes, body.n);
    ebb_buf_clear(&body);
    ebb_mem_free(text);
    ebb_mem_free(message);
}

void ebb_envd_reply_text(ebb_envd_call *call, int status, const char *text)
{
    ebb_exchange *exchange = begin(call);

    ebb_exchange_add_header(exchange, "X-Content-Type-Options", "nosniff");
    ebb_exchange_reply(exchange, status, "text/plain; charset=utf-8", text,
                       strlen(text));
}

void ebb_envd_reply_empty(ebb_envd_call *call, int status)
{
    ebb_exchange_reply(begin(call), status, NULL, NULL, 0);
}

void ebb_envd_reply_value(ebb_envd_call *call, int status,
                          const char *content_type, const ebb_value *value,
                          bool newline)
{
    size_t n = 0;
    char *text = value ? ebb_value_write(value, EBB_WRITE_SORTED, &n) : NULL;

    if (!text) {
        ebb_envd_reply_error(call, 500, "no memory for the answer");
        return;
    }
    if (newline) /* over the NUL at the end: the length is told apart */
        text[n++] = '\n';
    ebb_exchange_reply(begin(call), status, content_type, text, n);
    ebb_mem_free(text);
}
