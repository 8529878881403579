/* SPDX-License-Identifier: MIT */
#include "sandbox/service/interpreter/interpreter.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define CONTEXTS_MAX 50u

ebb_context *ebb_contexts_find(const ebb_interpreter *interpreter,
                               const char *id)
{
    ebb_context *context = interpreter->contexts;
    while (context != NULL && strcmp(context->id, id) != 0) {
        context = context->next;
    }
    return context;
}

static void reply_null(ebb_exchange *exchange)
{
    ebb_exchange_reply(exchange, 200, "application/json", "null", 4);
}

static ebb_context *add_context(ebb_interpreter *interpreter,
                                const ebb_language *language, const char *cwd,
                                ebb_err *err)
{
    ebb_context *context;
    ebb_context **at = &interpreter->contexts;
    if (interpreter->contexts_count >= CONTEXTS_MAX) {
        ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                    "a sandbox has at most %u contexts", CONTEXTS_MAX);
        return NULL;
    }
    context = ebb_context_new(interpreter->sandbox, language, cwd, err);
    if (context != NULL) {
        while (*at != NULL) {
            at = &(*at)->next;
        }
        *at = context;
        interpreter->contexts_count++;
    }
    return context;
}

void ebb_contexts_del(ebb_interpreter *interpreter, ebb_context *context)
{
    ebb_context **at = &interpreter->contexts;
    while (*at != context) {
        at = &(*at)->next;
    }
    *at = context->next;
    interpreter->contexts_count--;
    ebb_context_free(context);
}

ebb_context *ebb_contexts_default(ebb_interpreter *interpreter,
                                  const ebb_language *language, ebb_err *err)
{
    ebb_context *context = interpreter->contexts;
    while (context != NULL &&
           !(context->is_default && context->language == language)) {
        context = context->next;
    }
    if (context == NULL) {
        context = add_context(interpreter, language, EBB_INTERPRETER_HOME, err);
        if (context != NULL) {
            context->is_default = true;
        }
    }
    return context;
}

/* {"id", "language", "cwd"}; NULL: no memory. */
static ebb_value *describe(const ebb_context *context)
{
    ebb_value *value = ebb_value_object();
    int failed = ebb_value_set(value, "id", ebb_value_text(context->id));
    failed |= ebb_value_set(value, "language",
                            ebb_value_text(context->language->name));
    failed |= ebb_value_set(value, "cwd", ebb_value_text(context->cwd));
    if (failed != 0) {
        ebb_value_free(value);
        return NULL;
    }
    return value;
}

static void reply_value(ebb_exchange *exchange, ebb_value *value)
{
    if (value == NULL) {
        ebb_interpreter_reply_text(exchange, 500, "no memory for an answer");
    } else {
        ebb_service_reply_json(exchange, 200, value);
    }
    ebb_value_free(value);
}

void ebb_contexts_list(ebb_interpreter *interpreter, ebb_exchange *exchange)
{
    ebb_err err;
    ebb_value *list = ebb_value_array();
    int failed = 0;
    ebb_contexts_default(interpreter, ebb_language_find("python"), &err);
    ebb_contexts_default(interpreter, ebb_language_find("javascript"), &err);
    for (ebb_context *c = interpreter->contexts; c != NULL; c = c->next) {
        failed |= ebb_value_add(list, describe(c));
    }
    if (failed != 0) {
        ebb_value_free(list);
        list = NULL;
    }
    reply_value(exchange, list);
}

/* The kernel of a context that POST /contexts made has started, or not. */
static void context_started(void *owner, ebb_context *context,
                            const ebb_err *err)
{
    ebb_interpreter *interpreter = owner;
    ebb_pending *wait = ebb_pending_find(interpreter, context);
    if (wait == NULL) {
        return;
    }
    ebb_exchange *exchange = wait->exchange;
    ebb_pending_del(wait);
    if (err == NULL) {
        reply_value(exchange, describe(context));
    } else {
        ebb_interpreter_reply_text(exchange, 500, err->msg);
        ebb_contexts_del(interpreter, context);
    }
}

void ebb_contexts_create(ebb_interpreter *interpreter, ebb_exchange *exchange,
                         const ebb_value *body)
{
    const char *name = ebb_interpreter_member(body, "language", "python");
    const char *cwd = ebb_interpreter_member(body, "cwd", EBB_INTERPRETER_HOME);
    const ebb_language *language = name ? ebb_language_find(name) : NULL;
    ebb_context *context;
    ebb_pending *wait;
    ebb_err err;
    char *path;
    if (name == NULL || cwd == NULL) {
        ebb_interpreter_reply_invalid(exchange,
                                      name == NULL ? "language" : "cwd",
                                      "Input should be a valid string");
        return;
    }
    if (language == NULL) {
        ebb_interpreter_reply_unknown(exchange, name);
        return;
    }
    path = ebb_mem_printf("%s%s", *cwd == '/' ? "" : EBB_INTERPRETER_HOME "/",
                          cwd);
    context =
        path != NULL ? add_context(interpreter, language, path, &err) : NULL;
    ebb_mem_free(path);
    if (context == NULL) {
        ebb_interpreter_reply_text(exchange, 500,
                                   path != NULL ? err.msg : "no memory");
        return;
    }
    wait = ebb_pending_add(interpreter, exchange);
    if (wait == NULL) {
        ebb_contexts_del(interpreter, context);
        return;
    }
    wait->context = context;
    context->on_started = context_started;
    context->owner = interpreter;
    ebb_context_start(context);
}

/* /contexts/{id} and /contexts/{id}/restart. */
void ebb_contexts_change(ebb_interpreter *interpreter, ebb_exchange *exchange,
                         const char *rest)
{
    const char *method = ebb_exchange_method(exchange);
    size_t n = strcspn(rest, "/");
    bool restart = strcmp(rest + n, "/restart") == 0;
    char id[64];
    char text[128];
    snprintf(id, sizeof id, "%.*s", (int)(n < 63 ? n : 63), rest);
    ebb_context *context = ebb_contexts_find(interpreter, id);
    if (!restart && rest[n] != '\0') {
        ebb_interpreter_reply_detail(exchange, 404, "Not Found");
    } else if (strcmp(method, restart ? "POST" : "DELETE") != 0) {
        ebb_interpreter_reply_detail(exchange, 405, "Method Not Allowed");
    } else if (context == NULL ||
               ebb_pending_find(interpreter, context) != NULL) {
        snprintf(text, sizeof text, "Context %s not found", id);
        ebb_interpreter_reply_text(exchange, 404, text);
    } else if (restart) {
        ebb_context_reset(context, "ContextRestarting",
                          "Context was restarted");
        reply_null(exchange);
    } else {
        ebb_context_reset(context, "ExecutionAborted", "Context was removed");
        ebb_contexts_del(interpreter, context);
        reply_null(exchange);
    }
}
