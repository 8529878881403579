/* SPDX-License-Identifier: MIT */
/*
 * The routes of the code interpreter, port 49999 of a sandbox. The contexts
 * and what happens in them are context.c's.
 *
 * The real server checks no token; ours refuses one that is wrong, with 401
 * before anything runs, because a client whose token belongs to an earlier
 * life of the sandbox can then connect again. A request without a token is
 * served, as there.
 */
#include "sandbox/service/interpreter/interpreter.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"

#define BODY_BYTES_MAX  (16u * 1024 * 1024)
#define BODY_VALUES_MAX 100000

/* ---- POST /execute ---- */

/* The context to run in, or NULL when the exchange has been answered. */
static ebb_context *choose_context(ebb_interpreter *interpreter,
                                   ebb_exchange *exchange,
                                   const ebb_value *body)
{
    const char *id = ebb_interpreter_member(body, "context_id", "");
    const char *name = ebb_interpreter_member(body, "language", "");
    const ebb_language *language;
    ebb_context *context;
    ebb_err err;
    char text[128];
    if (id == NULL || name == NULL) {
        ebb_interpreter_reply_invalid(exchange,
                                      id == NULL ? "context_id" : "language",
                                      "Input should be a valid string");
        return NULL;
    }
    if (*id != '\0' && *name != '\0') {
        ebb_interpreter_reply_text(
            exchange, 400,
            "Only one of context_id or language can be provided");
        return NULL;
    }
    if (*id != '\0') {
        context = ebb_contexts_find(interpreter, id);
        if (context == NULL) {
            snprintf(text, sizeof text, "Context %.64s not found", id);
            ebb_interpreter_reply_text(exchange, 404, text);
        }
        return context;
    }
    language = ebb_language_find(*name != '\0' ? name : "python");
    if (language == NULL) {
        ebb_interpreter_reply_unknown(exchange, name);
        return NULL;
    }
    context = ebb_contexts_default(interpreter, language, &err);
    if (context == NULL) {
        ebb_interpreter_reply_text(exchange, 500, err.msg);
    }
    return context;
}

static void execute(ebb_interpreter *interpreter, ebb_exchange *exchange,
                    const ebb_value *body)
{
    const ebb_value *code = ebb_value_find(body, "code");
    const ebb_value *env = ebb_value_find(body, "env_vars");
    ebb_context *context;
    const char *refusal;
    ebb_err err;
    if (ebb_value_type(code) != EBB_STRING) {
        ebb_interpreter_reply_invalid(
            exchange, "code",
            code == NULL ? "Field required" : "Input should be a valid string");
        return;
    }
    if (ebb_value_type(env) == EBB_NULL) {
        env = NULL;
    } else if (ebb_value_type(env) != EBB_OBJECT) {
        ebb_interpreter_reply_invalid(exchange, "env_vars",
                                      "Input should be a valid dictionary");
        return;
    }
    context = choose_context(interpreter, exchange, body);
    if (context == NULL) {
        return;
    }
    refusal = ebb_language_refuses(context->language, code, env);
    if (refusal != NULL) {
        ebb_interpreter_reply_invalid(exchange, "code", refusal);
    } else if (ebb_context_execute(context, exchange, code, env, &err) != 0) {
        ebb_interpreter_reply_text(
            exchange, err.code == EBB_RATE_LIMITED ? 429 : 500, err.msg);
    }
}

/* ---- routes ---- */

/* The body of /execute or /contexts is there. */
static void body_ended(void *unused, ebb_exchange *exchange)
{
    ebb_pending *wait = ebb_exchange_state(exchange);
    (void)unused;
    if (wait == NULL) {
        return;
    }
    ebb_interpreter *interpreter = wait->interpreter;
    const ebb_buf *bytes = ebb_exchange_body(exchange);
    bool is_execute = strcmp(ebb_exchange_path(exchange), "/execute") == 0;
    ebb_value *body = NULL;
    ebb_err err = { 0 };
    ebb_pending_del(wait);
    if (ebb_exchange_too_long(exchange)) {
        ebb_interpreter_reply_text(exchange, 413,
                                   "the request is longer than 16 MiB");
        return;
    }
    if (bytes != NULL && bytes->n > 0) {
        body = ebb_value_parse(bytes->bytes, bytes->n, BODY_VALUES_MAX, &err);
    } else if (!is_execute) {
        body = ebb_value_object();
    }
    if (ebb_value_type(body) != EBB_OBJECT) {
        ebb_interpreter_reply_invalid(
            exchange, "body", err.msg[0] != '\0' ? err.msg : "Field required");
    } else if (is_execute) {
        execute(interpreter, exchange, body);
    } else {
        ebb_contexts_create(interpreter, exchange, body);
    }
    ebb_value_free(body);
}

static bool token_is_wrong(const ebb_interpreter *interpreter,
                           const ebb_exchange *exchange)
{
    const char *expected = interpreter->sandbox->token;
    const char *token = ebb_exchange_header(exchange, "X-Access-Token");
    return *expected != '\0' && token != NULL &&
           !ebb_digest_equal(token, expected);
}

void ebb_interpreter_request(ebb_interpreter *interpreter,
                             ebb_exchange *exchange)
{
    const char *method = ebb_exchange_method(exchange);
    const char *path = ebb_exchange_path(exchange);
    bool get = strcmp(method, "GET") == 0;
    bool post = strcmp(method, "POST") == 0;
    if (get && strcmp(path, "/health") == 0) {
        ebb_exchange_reply(exchange, 200, "application/json", "\"OK\"", 4);
    } else if (get && strcmp(path, "/contexts") == 0) {
        ebb_contexts_list(interpreter, exchange);
    } else if (post && strcmp(path, "/execute") == 0 &&
               token_is_wrong(interpreter, exchange)) {
        ebb_interpreter_reply_text(exchange, 401,
                                   "the X-Access-Token is not this sandbox's");
    } else if (post && (strcmp(path, "/execute") == 0 ||
                        strcmp(path, "/contexts") == 0)) {
        if (ebb_pending_add(interpreter, exchange) != NULL) {
            ebb_exchange_collect(exchange, BODY_BYTES_MAX, body_ended, NULL);
        }
    } else if (strncmp(path, "/contexts/", 10) == 0) {
        ebb_contexts_change(interpreter, exchange, path + 10);
    } else {
        ebb_interpreter_reply_detail(exchange, 404, "Not Found");
    }
}

/* ---- life ---- */

ebb_interpreter *ebb_interpreter_new(ebb_sandbox *sandbox, ebb_err *err)
{
    ebb_interpreter *interpreter = ebb_mem_zero(sizeof *interpreter);
    if (interpreter == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for an interpreter");
        return NULL;
    }
    interpreter->sandbox = sandbox;
    return interpreter;
}

void ebb_interpreter_cancel(ebb_interpreter *interpreter)
{
    if (interpreter == NULL) {
        return;
    }
    ebb_pending_cut(interpreter);
    for (ebb_context *c = interpreter->contexts; c != NULL; c = c->next) {
        ebb_context_cut(c);
    }
}

void ebb_interpreter_free(ebb_interpreter *interpreter)
{
    if (interpreter == NULL) {
        return;
    }
    ebb_pending_cut(interpreter);
    while (interpreter->contexts != NULL) {
        ebb_contexts_del(interpreter, interpreter->contexts);
    }
    ebb_mem_free(interpreter);
}

bool ebb_interpreter_exited(ebb_interpreter *interpreter, uint32_t pid,
                            int status)
{
    for (ebb_context *c = interpreter->contexts; c != NULL; c = c->next) {
        if (ebb_context_exited(c, pid, status)) {
            return true; /* c may be gone */
        }
    }
    return false;
}
