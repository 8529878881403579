/* SPDX-License-Identifier: MIT */
#include "sandbox/service/interpreter/interpreter.h"

#include "base/mem.h"

void ebb_pending_del(ebb_pending *wait)
{
    ebb_pending **at = &wait->interpreter->pending;
    while (*at != wait) {
        at = &(*at)->next;
    }
    *at = wait->next;
    ebb_exchange_on_close(wait->exchange, NULL, NULL);
    ebb_exchange_set_state(wait->exchange, NULL);
    ebb_mem_free(wait);
}

/* The client did not wait. */
static void pending_closed(void *unused, ebb_exchange *exchange)
{
    ebb_pending *wait = ebb_exchange_state(exchange);
    (void)unused;
    if (wait != NULL) {
        ebb_interpreter *interpreter = wait->interpreter;
        ebb_context *context = wait->context;
        ebb_pending_del(wait);
        if (context != NULL) {
            context->on_started = NULL;
            ebb_contexts_del(interpreter, context);
        }
    }
}

ebb_pending *ebb_pending_add(ebb_interpreter *interpreter,
                             ebb_exchange *exchange)
{
    ebb_pending *wait = ebb_mem_zero(sizeof *wait);
    if (wait == NULL) {
        ebb_interpreter_reply_text(exchange, 500, "no memory for a request");
        return NULL;
    }
    wait->interpreter = interpreter;
    wait->exchange = exchange;
    wait->next = interpreter->pending;
    interpreter->pending = wait;
    ebb_exchange_set_state(exchange, wait);
    ebb_exchange_on_close(exchange, pending_closed, NULL);
    return wait;
}

ebb_pending *ebb_pending_find(const ebb_interpreter *interpreter,
                              const ebb_context *context)
{
    ebb_pending *wait = interpreter->pending;
    while (wait != NULL && wait->context != context) {
        wait = wait->next;
    }
    return wait;
}

void ebb_pending_cut(ebb_interpreter *interpreter)
{
    while (interpreter->pending != NULL) {
        ebb_pending *wait = interpreter->pending;
        ebb_exchange *exchange = wait->exchange;
        ebb_context *context = wait->context;
        ebb_pending_del(wait);
        ebb_exchange_abort(exchange);
        if (context != NULL) {
            ebb_contexts_del(interpreter, context);
        }
    }
}
