/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who waits for a sandbox to settle, that is to be RUNNING, PAUSED or gone
 * after a transition.
 */

#include "base/err.h"
#include "sandbox/service/sandbox.h"
#include "sandbox/service/service.h"

typedef struct ebb_waiter ebb_waiter;

/*
 * Called once: sandbox is NULL when it is gone, err tells why the transition
 * failed. Of several waiters an earlier one may have begun the next
 * transition: look at the state again, and wait again if need be.
 */
typedef void ebb_waiter_fn(void *context, ebb_sandbox *sandbox,
                           const ebb_err *err);

int ebb_waiter_add(ebb_sandbox *sandbox, ebb_waiter_fn *fn, void *context,
                   ebb_err *err);

/* Drops whatever waits with this context. */
void ebb_waiter_cancel(ebb_service *service, const void *context);

/*
 * For lifecycle.c: the sandbox has settled (or is gone: gone). Calls everyone
 * who waited before this call.
 */
void ebb_waiter_settle(ebb_sandbox *sandbox, bool gone, const ebb_err *err);
