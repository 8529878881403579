/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The handlers of the control plane, E2B's REST. A handler gets a checked call
 * and answers its exchange, now or from a waiter. The call lives as long as
 * its exchange; routes.c makes and frees it and drops what waits with it.
 */

#include "base/err.h"
#include "base/value.h"
#include "net/http_server.h"
#include "sandbox/service/service.h"

#include <stdbool.h>
#include <stdint.h>

#define EBB_CONTROL_ID_BYTES   64
#define EBB_CONTROL_BODY_MAX   (16u << 20)
#define EBB_CONTROL_VALUES_MAX 20000

typedef struct ebb_control_call {
    ebb_service *service;
    ebb_exchange *exchange;
    bool v2;                       /* came by /v2 */
    char id[EBB_CONTROL_ID_BYTES]; /* of the path, cut at its dash; or "" */
    ebb_value *body;               /* an object, or NULL: none was sent */
    /* What a handler keeps while it waits. */
    int64_t timeout_ms;
    bool memory;
    bool began;      /* this call began the transition it waits for */
    const char *key; /* of the exchange's Idempotency-Key; or NULL */
} ebb_control_call;

typedef void ebb_control_fn(ebb_control_call *call);

ebb_control_fn ebb_control_create;                         /* create.c */
ebb_control_fn ebb_control_list, ebb_control_list_running; /* list.c */
ebb_control_fn ebb_control_get, ebb_control_kill, ebb_control_pause,
    ebb_control_connect, ebb_control_resume, ebb_control_set_timeout,
    ebb_control_refresh, ebb_control_version; /* control.c */
ebb_control_fn ebb_control_logs, ebb_control_logs_v1, ebb_control_metrics,
    ebb_control_metrics_many; /* observe.c */

/*
 * The sandbox that the call names. NULL: answered with 404, and with the cause
 * of its end where that is known.
 */
ebb_sandbox *ebb_control_find(ebb_control_call *call);
void ebb_control_reply_gone(ebb_control_call *call);

/* 400 "validation error: …". */
void ebb_control_reply_invalid(ebb_control_call *call, const ebb_err *err);

/* Reads "timeout": seconds, min to the longest life. Answers on failure. */
bool ebb_control_get_timeout(ebb_control_call *call, int64_t otherwise_s,
                             int64_t min_s, int64_t *timeout_ms);
