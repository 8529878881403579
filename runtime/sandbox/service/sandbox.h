/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A sandbox as the parts of the service see it, and the service that owns it.
 * lifecycle.c alone changes its state; envd and the interpreter hang their
 * own state on it.
 */

#include "base/err.h"
#include "base/value.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "sandbox/service/box/box.h"

#include <stdbool.h>
#include <stdint.h>

#define EBB_SANDBOX_ID_BYTES 22    /* "i", 20 of [a-z0-9], NUL */
#define EBB_SANDBOX_TOKEN_BYTES 41 /* 40 of hex, NUL */

#define EBB_ENVD_PORT 49983
#define EBB_INTERPRETER_PORT 49999
#define EBB_ENVD_VERSION "0.6.13"

typedef enum ebb_sandbox_state {
    EBB_SANDBOX_STARTING,
    EBB_SANDBOX_RUNNING,
    EBB_SANDBOX_PAUSING,
    EBB_SANDBOX_PAUSED,
    EBB_SANDBOX_KILLING
} ebb_sandbox_state;

typedef struct ebb_service ebb_service;
typedef struct ebb_sandbox ebb_sandbox;
typedef struct ebb_envd ebb_envd;               /* envd.h */
typedef struct ebb_interpreter ebb_interpreter; /* interpreter.h */
typedef struct ebb_sandbox_log ebb_sandbox_log; /* logs.h */
typedef struct ebb_sandbox_meter ebb_sandbox_meter; /* metrics.h */
typedef struct ebb_lifecycle ebb_lifecycle;

struct ebb_sandbox {
    ebb_sandbox *next;
    ebb_service *service;
    char id[EBB_SANDBOX_ID_BYTES];
    char token[EBB_SANDBOX_TOKEN_BYTES]; /* envd's; "" if not secured */
    const char *template_id;             /* one of the two known */
    ebb_sandbox_state state;
    int64_t started_ms, end_ms, paused_ms; /* wall clock */
    ebb_value *metadata; /* object of strings */
    ebb_value *envs;     /* global environment: object of strings */
    bool network;
    ebb_value *allow_internet; /* as asked for: null or a bool */
    char *dir;
    uid_t uid;
    ebb_box *box; /* NULL while paused without memory */
    ebb_loop_timer *expiry;
    ebb_envd *envd;
    ebb_interpreter *interpreter;
    ebb_sandbox_log *log;
    ebb_sandbox_meter *meter;
    ebb_lifecycle *life; /* lifecycle.c's own */
};

/*
 * Parts of the service that belong to one sandbox. new is called when its box
 * is ready, free when the sandbox is gone or before its box is replaced.
 */
ebb_envd *ebb_envd_new(ebb_sandbox *sandbox, ebb_err *err);
void ebb_envd_free(ebb_envd *envd);
/* The box reports an exit of a process that some part started. */
bool ebb_envd_exited(ebb_envd *envd, uint32_t pid, int status);
/* Takes an exchange of port 49983; the token and user checks are envd's. */
void ebb_envd_request(ebb_envd *envd, ebb_exchange *exchange);
/*
 * Cuts every open exchange, before a pause; commands and watchers stay. free
 * cuts them, too.
 */
void ebb_envd_cancel(ebb_envd *envd);
/*
 * Whether the exchange, a /files request that names no sandbox, carries a
 * signature that this sandbox's token makes valid (expired or not: envd says
 * that itself). Also for sandboxes without an envd (paused).
 */
bool ebb_envd_signature_matches(const ebb_sandbox *sandbox,
                                const ebb_exchange *exchange);

ebb_interpreter *ebb_interpreter_new(ebb_sandbox *sandbox, ebb_err *err);
void ebb_interpreter_free(ebb_interpreter *interpreter);
bool ebb_interpreter_exited(ebb_interpreter *interpreter, uint32_t pid,
                            int status);
/* Takes an exchange of port 49999. */
void ebb_interpreter_request(ebb_interpreter *interpreter,
                             ebb_exchange *exchange);
/* Cuts every open exchange, before a pause; contexts stay. */
void ebb_interpreter_cancel(ebb_interpreter *interpreter);

/* Adds a line to the sandbox's log (GET /v2/sandboxes/{id}/logs). */
void ebb_sandbox_log_add(ebb_sandbox *sandbox, const char *level,
                         const char *logger, const char *fmt, ...)
    EBB_PRINTF(4, 5);

/* The loop everything of the service runs on. */
ebb_loop *ebb_service_loop(const ebb_service *service);

/* {"code":status,"message":…} as the control plane and envd say errors. */
void ebb_service_reply_error(ebb_exchange *exchange, int status,
                             const char *fmt, ...) EBB_PRINTF(3, 4);

/* A JSON value as a whole answer; value is borrowed. */
void ebb_service_reply_json(ebb_exchange *exchange, int status,
                            const ebb_value *value);
