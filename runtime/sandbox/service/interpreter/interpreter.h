/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the files of the interpreter's routes share: the interpreter of one
 * sandbox, its contexts, the exchanges that wait, and the shapes of answers.
 * Nobody else includes it; the interface is in sandbox.h.
 */

#include "base/err.h"
#include "base/value.h"
#include "net/http_server.h"
#include "sandbox/service/interpreter/context.h"
#include "sandbox/service/sandbox.h"

#define EBB_INTERPRETER_HOME "/home/user"

/*
 * An exchange that cannot be answered yet; its state points here. When its
 * client leaves, the context that was made for it goes, too.
 */
typedef struct ebb_pending {
    struct ebb_pending *next;
    ebb_interpreter *interpreter;
    ebb_exchange *exchange;
    ebb_context *context; /* whose start is waited for; NULL: the body is */
} ebb_pending;

struct ebb_interpreter {
    ebb_sandbox *sandbox;
    ebb_context *contexts; /* owned, in the order they were made */
    unsigned contexts_count;
    ebb_pending *pending;
};

/* NULL: no memory, and the exchange has been answered so. */
ebb_pending *ebb_pending_add(ebb_interpreter *interpreter,
                             ebb_exchange *exchange);
void ebb_pending_del(ebb_pending *wait);
ebb_pending *ebb_pending_find(const ebb_interpreter *interpreter,
                              const ebb_context *context);
/* Cuts them all. */
void ebb_pending_cut(ebb_interpreter *interpreter);

ebb_context *ebb_contexts_find(const ebb_interpreter *interpreter,
                               const char *id);
/* The default context of a language, made when it is first asked for. */
ebb_context *ebb_contexts_default(ebb_interpreter *interpreter,
                                  const ebb_language *language, ebb_err *err);
void ebb_contexts_del(ebb_interpreter *interpreter, ebb_context *context);

/* GET and POST /contexts; DELETE /contexts/{id}, POST …/restart. */
void ebb_contexts_list(ebb_interpreter *interpreter, ebb_exchange *exchange);
void ebb_contexts_create(ebb_interpreter *interpreter, ebb_exchange *exchange,
                         const ebb_value *body);
void ebb_contexts_change(ebb_interpreter *interpreter, ebb_exchange *exchange,
                         const char *rest);

/* A string member, or otherwise when absent or null; NULL: not a string. */
const char *ebb_interpreter_member(const ebb_value *body, const char *key,
                                   const char *otherwise);

void ebb_interpreter_reply_text(ebb_exchange *exchange, int status,
                                const char *text);
/* {"detail": text} */
void ebb_interpreter_reply_detail(ebb_exchange *exchange, int status,
                                  const char *text);
/* 422 */
void ebb_interpreter_reply_invalid(ebb_exchange *exchange, const char *field,
                                   const char *message);
/* 500: no language of this name. */
void ebb_interpreter_reply_unknown(ebb_exchange *exchange, const char *name);
