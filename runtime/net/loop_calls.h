/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Private to the loop: the queue of calls that ebb_loop_defer and
 * ebb_loop_post have asked for. It does not know when it is run.
 *
 * Invariant: calls run in the order they were added, one at a time, with the
 * lock released; a call that was deleted does not run, not even when the one
 * before it in the same turn deleted it.
 */

#include "net/loop.h"

#include <pthread.h>
#include <stddef.h>

typedef struct ebb_loop_call ebb_loop_call;

typedef struct ebb_loop_calls {
    pthread_mutex_t lock;
    ebb_loop_call *ring;
    size_t first;
    size_t n;
    size_t room;
} ebb_loop_calls;

/* More than this that wait at once is a producer out of control. */
#define EBB_LOOP_CALLS_MAX 65536

void ebb_loop_calls_init(ebb_loop_calls *calls);
void ebb_loop_calls_clear(ebb_loop_calls *calls);

/* -1 at the maximum or without memory. */
int ebb_loop_calls_add(ebb_loop_calls *calls, ebb_loop_fn *fn, void *context);
void ebb_loop_calls_del(ebb_loop_calls *calls, ebb_loop_fn *fn, void *context);

/* Runs those that are there now; what they add waits for the next time. */
void ebb_loop_calls_run(ebb_loop_calls *calls);
size_t ebb_loop_calls_count(ebb_loop_calls *calls);
