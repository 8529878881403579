/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One POST /execute: the code, and the exchange it is answered on. It turns
 * what happens into lines and flushes whole lines; it knows neither kernel
 * nor queue.
 *
 * The client may leave at any time: then the exchange is gone, what would be
 * written is dropped, and on_leave has told the owner. The owner frees it.
 */

#include "base/err.h"
#include "base/value.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "sandbox/service/interpreter/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBB_EXECUTION_KEEPALIVE_MS     5000
#define EBB_EXECUTION_UNSENT_BYTES_MAX (1024u * 1024)

typedef struct ebb_execution ebb_execution;

typedef struct ebb_execution_config {
    ebb_loop *loop;
    ebb_exchange *exchange;
    const ebb_value *code; /* a string; copied */
    const ebb_value *env;  /* an object of strings, or NULL; copied */
    void *context;
    /* The client is gone. May free the execution. */
    void (*on_leave)(void *context, ebb_execution *execution);
    /* Too much is unsent (true), or all has been sent again (false). */
    void (*on_full)(void *context, ebb_execution *execution, bool full);
} ebb_execution_config;

ebb_execution *ebb_execution_new(const ebb_execution_config *config,
                                 ebb_err *err);

/* What is still open is cut. NULL is fine. */
void ebb_execution_free(ebb_execution *execution);

const ebb_value *ebb_execution_code(const ebb_execution *execution);
const ebb_value *ebb_execution_env(const ebb_execution *execution);

/* Links of the owner's queue. */
ebb_execution *ebb_execution_next(const ebb_execution *execution);
void ebb_execution_set_next(ebb_execution *execution, ebb_execution *next);

/* The run begins, as the count-th of its context. */
void ebb_execution_begin(ebb_execution *execution, int64_t count);

void ebb_execution_output(ebb_execution *execution, ebb_kernel_stream stream,
                          const char *bytes, size_t n);
void ebb_execution_message(ebb_execution *execution, const ebb_value *message);
void ebb_execution_error(ebb_execution *execution, const char *name,
                         const char *value);

/* The whole answer has been said. */
void ebb_execution_end(ebb_execution *execution);

/*
 * It cannot run: status and a text when nothing was said yet, else an error
 * line and the end.
 */
void ebb_execution_refuse(ebb_execution *execution, int status,
                          const char *name, const char *text);

/* Cuts the exchange without a word; on_leave does not come. */
void ebb_execution_cut(ebb_execution *execution);
