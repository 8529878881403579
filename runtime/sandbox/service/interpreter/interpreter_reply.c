/* SPDX-License-Identifier: MIT */
#include "sandbox/service/interpreter/interpreter.h"

#include <stdio.h>
#include <string.h>

void ebb_interpreter_reply_text(ebb_exchange *exchange, int status,
                                const char *text)
{
    ebb_exchange_reply(exchange, status, "text/plain; charset=utf-8", text,
                       strlen(text));
}

void ebb_interpreter_reply_detail(ebb_exchange *exchange, int status,
                                  const char *text)
{
    char body[128];
    snprintf(body, sizeof body, "{\"detail\":\"%s\"}", text);
    ebb_exchange_reply(exchange, status, "application/json", body,
                       strlen(body));
}

/* {"detail": [{"type", "loc": ["body", field], "msg"}]}, as FastAPI says. */
void ebb_interpreter_reply_invalid(ebb_exchange *exchange, const char *field,
                                   const char *message)
{
    ebb_value *loc = ebb_value_array();
    ebb_value *item = ebb_value_object();
    ebb_value *detail = ebb_value_array();
    ebb_value *answer = ebb_value_object();
    int failed = ebb_value_add(loc, ebb_value_text("body"));
    failed |= ebb_value_add(loc, ebb_value_text(field));
    failed |= ebb_value_set(item, "type", ebb_value_text("value_error"));
    failed |= ebb_value_set(item, "loc", loc);
    failed |= ebb_value_set(item, "msg", ebb_value_text(message));
    failed |= ebb_value_add(detail, item);
    failed |= ebb_value_set(answer, "detail", detail);
    if (failed != 0) {
        ebb_interpreter_reply_text(exchange, 422, message);
    } else {
        ebb_service_reply_json(exchange, 422, answer);
    }
    ebb_value_free(answer);
}

const char *ebb_interpreter_member(const ebb_value *body, const char *key,
                                   const char *otherwise)
{
    const ebb_value *member = ebb_value_find(body, key);
    size_t n;
    const char *text = ebb_value_get_string(member, &n);
    if (ebb_value_type(member) == EBB_NULL) {
        return otherwise;
    }
    return text != NULL && strlen(text) == n ? text : NULL;
}

void ebb_interpreter_reply_unknown(ebb_exchange *exchange, const char *name)
{
    char text[256];
    snprintf(text, sizeof text,
             "no kernel for the language '%.64s'; there are %s", name,
             EBB_LANGUAGE_NAMES);
    ebb_interpreter_reply_text(exchange, 500, text);
}
