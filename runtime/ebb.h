/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * ebb: durable sandbox work for C programs. The Lua binding and the program
 * `ebb` use this header only: what they can do, a C host can do.
 *
 *     ebb_config config;
 *     ebb_config_init(&config);
 *     config.local = true;
 *     ebb_err err;
 *     ebb_runtime *rt = ebb_open(&config, &err);
 *     char *json = NULL;
 *     ebb_call_json(rt, "e2b.createSandbox",
 *                   "{\"idempotencyKey\":\"hello\"}", &json, &err);
 *     ebb_free(json);
 *     ebb_close(rt);
 *
 * A runtime belongs to one thread; several runtimes may live in several
 * threads. Functions return 0 or -1 (or a pointer or NULL) and fill err.
 * Values are base/value.h, errors base/err.h; both are part of this API.
 */

#include "base/attr.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EBB_C_BEGIN

typedef struct ebb_runtime ebb_runtime;

EBB_API const char *ebb_version(void);

/* Frees text that this API returned. NULL is fine. */
EBB_API void ebb_free(void *block);

/* ---- open and close ---- */

/*
 * Zero, NULL and false mean the default. Strings are copied. Fields are only
 * ever added at the end; size tells which a caller knows.
 */
typedef struct ebb_config {
    size_t size;
    bool local;             /* use the local sandbox service (EBB_LOCAL=1) */
    const char *api_key;    /* E2B_API_KEY, read at the first call */
    const char *api_url;    /* E2B_API_URL; SSL_CERT_FILE for its TLS */
    const char *sandbox_url; /* E2B_SANDBOX_URL */
    const char *domain;     /* E2B_DOMAIN, "e2b.app" */
    const char *state_dir;  /* of the local service: EBB_STATE */
    const char *journal;    /* EBB_JOURNAL */
    void *uv_loop;          /* a host's uv_loop_t; blocking calls refused */
    const ebb_allocator *allocator; /* process-wide, before anything else */
    double jitter;          /* of retry waits; negative: none, zero: 0.1
                               (EBB_LIMITS="jitter=10", in percent) */
    /*
     * Limits of one attempt in ms. What is not set here can be set by the
     * environment, for tests and slow networks, by other names, in parentheses:
     * EBB_LIMITS="connect=500,unary=2000".
     */
    int64_t connect_ms;       /* name, connect and TLS: 10,000 (connect) */
    int64_t unary_ms;         /* a call and its answer: 60,000 (unary) */
    int64_t transfer_idle_ms; /* no byte of a file: 60,000 (transfer) */
    int64_t stream_first_ms;  /* until the first event: 60,000 (first) */
    int64_t stream_idle_ms;   /* then silence: 130,000 (idle) */
    int64_t retry_base_ms;    /* the first wait to retry: 1,000 (retry) */
} ebb_config;

EBB_API void ebb_config_init(ebb_config *config);
EBB_API ebb_runtime *ebb_open(const ebb_config *config, ebb_err *err);

/* Cancels what is in flight; its callbacks come before this returns. */
EBB_API void ebb_close(ebb_runtime *rt);

/* ---- calling a task ---- */

/*
 * Runs a task to its end, retries included. input is borrowed (NULL: {}). On
 * success *out is the result; on failure it is the error object {code,
 * message, task, sandboxId?, status?, retryable, attempts, retryAfterMs?,
 * details?, hint?}, or NULL when there is no memory for one. *out is the
 * caller's. Refused with EBB_UNSUPPORTED on a host's loop.
 */
EBB_API int ebb_call(ebb_runtime *rt, const char *task,
                     const ebb_value *input, ebb_value **out, ebb_err *err);

/* The same as JSON text, both ways; *out is freed with ebb_free. */
EBB_API int ebb_call_json(ebb_runtime *rt, const char *task,
                          const char *input, char **out, ebb_err *err);

typedef struct ebb_op ebb_op;

/*
 * The end of a started call, exactly once, never from inside ebb_start: out
 * is the result, or the error object with err set. out is the callee's.
 */
typedef void ebb_done_fn(void *context, ebb_value *out, const ebb_err *err);

/* Starts a task; the handle is valid until done has been called. */
EBB_API ebb_op *ebb_start(ebb_runtime *rt, const char *task,
                          const ebb_value *input, ebb_done_fn *done,
                          void *context, ebb_err *err);

/*
 * Asks a started call to stop; done still comes, with EBB_CANCELLED, or with
 * the result if it was too late.
 */
EBB_API void ebb_cancel(ebb_op *op);

/*
 * What a call is doing, for progress: the attempt's number and, while it
 * waits to try again, the ms left (else 0). Either pointer may be NULL.
 */
EBB_API void ebb_op_progress(const ebb_op *op, int *attempt,
                             int64_t *wait_ms);

/* ---- the loop ---- */

/* Runs what is ready, waiting at most timeout_ms (-1: for the next event). */
EBB_API int ebb_poll(ebb_runtime *rt, int timeout_ms, ebb_err *err);

/*
 * For hosts with their own epoll: wait for fd to be readable, at most
 * ebb_timeout_ms (-1: no limit), then ebb_poll(rt, 0, …). The descriptor does
 * not become readable for timers.
 */
EBB_API int ebb_fd(const ebb_runtime *rt);
EBB_API int ebb_timeout_ms(const ebb_runtime *rt);

/* Wakes ebb_poll. The one function that is safe from another thread and from
 * a signal handler. */
EBB_API void ebb_wake(ebb_runtime *rt);

typedef struct ebb_timer ebb_timer;

/* Calls fn once, from ebb_poll, then the timer is gone. */
EBB_API ebb_timer *ebb_timer_start(ebb_runtime *rt, int64_t ms,
                                   void (*fn)(void *context), void *context,
                                   ebb_err *err);
EBB_API void ebb_timer_cancel(ebb_timer *timer);

/* Steady milliseconds with their fraction: for measuring, not for deciding. */
EBB_API double ebb_monotonic_ms(const ebb_runtime *rt);

/* ---- tasks ---- */

/* [{name, class, attempts, help, fields: [{name, type, required, default?,
 * min?, max?, choices?, help}]}] */
EBB_API ebb_value *ebb_tasks(const ebb_runtime *rt);

/* What a host's task gets; see ebb_register. */
typedef struct ebb_request ebb_request;

EBB_API const ebb_value *ebb_request_input(const ebb_request *request);
EBB_API int ebb_request_attempt(const ebb_request *request);
/* End the attempt, exactly once, at once or later; values move. */
EBB_API void ebb_request_finish(ebb_request *request, ebb_value *result);
EBB_API void ebb_request_fail(ebb_request *request, const ebb_err *err,
                              ebb_value *details);
/* As ebb_log; where the call is a step, also in the log of its run, with the
 * number of the attempt. */
EBB_API int ebb_request_log(const ebb_request *request, ebb_log_level level,
                            const char *message, const ebb_value *fields);

typedef struct ebb_task_config {
    const char *name;
    const char *retry_class; /* "lifecycle", "read" or "none" (default) */
    const char *help;
    const ebb_value *fields; /* as in ebb_tasks; NULL: any object */
    void (*start)(void *context, ebb_request *request);
    void (*cancel)(void *context, ebb_request *request); /* may be NULL */
    void *context;
    void (*free)(void *context); /* at ebb_close; may be NULL */
} ebb_task_config;

/* A host's own task: same checks, retries and journal as the twelve. */
EBB_API int ebb_register(ebb_runtime *rt, const ebb_task_config *task,
                         ebb_err *err);

/* ---- sandboxes and the local service ---- */

/* Every running or paused sandbox of the back end, as SandboxDTOs. */
EBB_API int ebb_sandbox_list(ebb_runtime *rt, ebb_value **out, ebb_err *err);

/*
 * What ebb needs and has: [{name, ok, required, message, fix?}]. For doctor.
 */
EBB_API ebb_value *ebb_check(ebb_runtime *rt, ebb_err *err);

/* The path of a program of ebb's in its libexec folder; ebb_free. */
EBB_API char *ebb_libexec(const char *name, ebb_err *err);

/* The socket of this user's local service, whether it runs or not. */
EBB_API char *ebb_local_socket(const ebb_config *config, ebb_err *err);

/*
 * Stops this user's local service and waits for its end; its running
 * sandboxes end with it. EBB_NO_SERVICE if none runs.
 */
EBB_API int ebb_local_stop(const ebb_config *config, ebb_err *err);

/* ---- streams: EBB_UNSUPPORTED in this version ---- */

typedef struct ebb_stream ebb_stream;

EBB_API ebb_stream *ebb_stream_open(ebb_runtime *rt, const char *kind,
                                    const ebb_value *input, ebb_err *err);
EBB_API int ebb_stream_write(ebb_stream *stream, const void *bytes, size_t n,
                             ebb_err *err);
EBB_API void ebb_stream_close(ebb_stream *stream);

/* ---- Render Workflows worker: EBB_UNSUPPORTED in this version ---- */

EBB_API int ebb_worker_register(ebb_runtime *rt, ebb_err *err);
EBB_API int ebb_worker_run(ebb_runtime *rt, ebb_err *err);

/* ---- log ---- */

/* A line of a script or host, with fields (an object or NULL). */
EBB_API int ebb_log(ebb_runtime *rt, ebb_log_level level,
                    const char *message, const ebb_value *fields);

EBB_C_END

#include "ebb_run.h" /* durable runs; part of this API */
