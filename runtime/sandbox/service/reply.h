/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Answers of the control plane beyond those of sandbox.h: every error is
 * {"code":status,"message":…} and perhaps "error_code", as e2b's clients
 * parse the body of each documented status.
 */

#include "base/err.h"
#include "base/value.h"
#include "net/http_server.h"

/* With "error_code", which programs match on. */
void ebb_service_reply_error_code(ebb_exchange *exchange, int status,
                                  const char *error_code, const char *fmt, ...)
    EBB_PRINTF(4, 5);

/* The status that fits the error's code. */
void ebb_service_reply_err(ebb_exchange *exchange, const ebb_err *err);

/* As ebb_service_reply_json, and frees the value; NULL means no memory. */
void ebb_service_reply_take(ebb_exchange *exchange, int status,
                            ebb_value *value);

void ebb_service_reply_text(ebb_exchange *exchange, int status,
                            const char *text);
void ebb_service_reply_empty(ebb_exchange *exchange, int status);
