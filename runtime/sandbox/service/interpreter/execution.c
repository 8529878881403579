/* SPDX-License-Identifier: MIT */
#include "sandbox/service/interpreter/execution.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/service/interpreter/result.h"

#define LINE_BYTES_MAX (96u * 1024 * 1024) /* a message, all of it escaped */

struct ebb_execution {
    ebb_execution *next;
    ebb_execution_config config; /* exchange NULL: over, or the client left */
    ebb_value *code, *env;
    bool begun; /* the answer's head is out */
    bool full;
    ebb_utf8 decoders[2];
    ebb_buf text; /* decoded, for one line */
    ebb_buf line;
    ebb_loop_timer *silence;
};

/* No callback of the exchange comes any more. */
static ebb_exchange *detach(ebb_execution *execution)
{
    ebb_exchange *exchange = execution->config.exchange;
    execution->config.exchange = NULL;
    if (execution->silence != NULL) {
        ebb_loop_timer_cancel(execution->silence);
    }
    if (exchange != NULL) {
        ebb_exchange_on_close(exchange, NULL, NULL);
        ebb_exchange_on_hangup(exchange, NULL, NULL);
        ebb_exchange_on_drain(exchange, NULL, NULL);
    }
    return exchange;
}

static void set_full(ebb_execution *execution, bool full)
{
    if (execution->full != full) {
        execution->full = full;
        execution->config.on_full(execution->config.context, execution, full);
    }
}

/* The exchange is gone. May free the execution. */
static void leave(ebb_execution *execution)
{
    detach(execution);
    set_full(execution, false);
    execution->config.on_leave(execution->config.context, execution);
}

static void closed(void *context, ebb_exchange *exchange)
{
    (void)exchange;
    leave(context);
}

/* Only the client's half is closed: ours has to be cut. */
static void hung_up(void *context, ebb_exchange *exchange)
{
    detach(context);
    ebb_exchange_abort(exchange);
    leave(context);
}

static void drained(void *context, ebb_exchange *exchange)
{
    (void)exchange;
    set_full(context, false);
}

/* Sends the lines that were added to line. */
static void flush(ebb_execution *execution)
{
    ebb_exchange *exchange = execution->config.exchange;
    if (exchange == NULL) {
        ebb_buf_clear(&execution->line);
        return;
    }
    if (!execution->begun) {
        execution->begun = true;
        ebb_exchange_begin(exchange, 200, NULL, -1);
    }
    if (execution->line.failed ||
        ebb_exchange_write(exchange, execution->line.bytes,
                           execution->line.n) != 0) {
        /* A line is missing: the client must not take the rest for all. */
        ebb_buf_clear(&execution->line);
        ebb_exchange_abort(detach(execution));
        leave(execution);
        return;
    }
    ebb_buf_clear(&execution->line);
    ebb_loop_timer_start(execution->silence, EBB_EXECUTION_KEEPALIVE_MS);
    if (ebb_exchange_unsent(exchange) > EBB_EXECUTION_UNSENT_BYTES_MAX) {
        set_full(execution, true);
    }
}

static void keep_alive(void *context)
{
    ebb_execution *execution = context;
    ebb_result_add_mark(&execution->line, "keepalive");
    flush(execution);
}

ebb_execution *ebb_execution_new(const ebb_execution_config *config,
                                 ebb_err *err)
{
    ebb_execution *execution = ebb_mem_zero(sizeof *execution);
    if (execution != NULL) {
        execution->code = ebb_value_copy(config->code);
        execution->env =
            config->env != NULL ? ebb_value_copy(config->env) : NULL;
        execution->silence =
            ebb_loop_timer_new(config->loop, keep_alive, execution);
    }
    if (execution == NULL || execution->code == NULL ||
        execution->silence == NULL ||
        (config->env != NULL && execution->env == NULL)) {
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for an execution");
        ebb_execution_free(execution);
        return NULL;
    }
    execution->config = *config;
    ebb_buf_init(&execution->text, 0);
    ebb_buf_init(&execution->line, LINE_BYTES_MAX);
    ebb_utf8_init(&execution->decoders[0]);
    ebb_utf8_init(&execution->decoders[1]);
    ebb_exchange_on_close(config->exchange, closed, execution);
    ebb_exchange_on_hangup(config->exchange, hung_up, execution);
    ebb_exchange_on_drain(config->exchange, drained, execution);
    ebb_loop_timer_start(execution->silence, EBB_EXECUTION_KEEPALIVE_MS);
    return execution;
}

void ebb_execution_free(ebb_execution *execution)
{
    if (execution == NULL) {
        return;
    }
    ebb_execution_cut(execution);
    ebb_loop_timer_free(execution->silence);
    ebb_value_free(execution->code);
    ebb_value_free(execution->env);
    ebb_buf_clear(&execution->text);
    ebb_buf_clear(&execution->line);
    ebb_mem_free(execution);
}

const ebb_value *ebb_execution_code(const ebb_execution *execution)
{
    return execution->code;
}

const ebb_value *ebb_execution_env(const ebb_execution *execution)
{
    return execution->env;
}

ebb_execution *ebb_execution_next(const ebb_execution *execution)
{
    return execution->next;
}

void ebb_execution_set_next(ebb_execution *execution, ebb_execution *next)
{
    execution->next = next;
}

void ebb_execution_begin(ebb_execution *execution, int64_t count)
{
    ebb_result_add_count(&execution->line, count);
    flush(execution);
}

static void add_decoded(void *context, const char *text, size_t n)
{
    ebb_buf_add(context, text, n);
}

/* A line of what has been decoded of one stream, if it is anything. */
static void say_text(ebb_execution *execution, ebb_kernel_stream stream)
{
    static const char *const types[] = { "stdout", "stderr" };
    ebb_buf *text = &execution->text;
    if (text->n > 0 || text->failed) {
        execution->line.failed |= text->failed;
        ebb_result_add_text(&execution->line, types[stream], text->bytes,
                            text->n, ebb_clock_wall_ms(ebb_clock_real()));
        flush(execution);
    }
    ebb_buf_clear(text);
}

void ebb_execution_output(ebb_execution *execution, ebb_kernel_stream stream,
                          const char *bytes, size_t n)
{
    if (execution->config.exchange != NULL) {
        ebb_utf8_add(&execution->decoders[stream], bytes, n, add_decoded,
                     &execution->text);
        say_text(execution, stream);
    }
}

void ebb_execution_message(ebb_execution *execution, const ebb_value *message)
{
    if (execution->config.exchange != NULL) {
        ebb_result_add_message(&execution->line, message);
        flush(execution);
    }
}

void ebb_execution_error(ebb_execution *execution, const char *name,
                         const char *value)
{
    ebb_result_add_error(&execution->line, name, value, value);
    flush(execution);
}

void ebb_execution_end(ebb_execution *execution)
{
    ebb_exchange *exchange;
    for (size_t i = 0; i < 2; i++) {
        ebb_utf8_finish(&execution->decoders[i], add_decoded, &execution->text);
        say_text(execution, (ebb_kernel_stream)i);
    }
    ebb_result_add_mark(&execution->line, "end_of_execution");
    flush(execution);
    exchange = detach(execution);
    if (exchange != NULL) {
        ebb_exchange_end(exchange);
    }
    set_full(execution, false);
}

void ebb_execution_refuse(ebb_execution *execution, int status,
                          const char *name, const char *text)
{
    if (execution->begun) {
        ebb_execution_error(execution, name, text);
        ebb_execution_end(execution);
    } else if (execution->config.exchange != NULL) {
        ebb_exchange_reply(detach(execution), status,
                           "text/plain; charset=utf-8", text, strlen(text));
    }
}

void ebb_execution_cut(ebb_execution *execution)
{
    ebb_exchange *exchange = detach(execution);
    if (exchange != NULL) {
        ebb_exchange_abort(exchange);
    }
}
