/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The event loop: one thread, libuv below. It owns no protocol. Callbacks come
 * from inside ebb_loop_run only, never from the function that asked for them.
 *
 * Everything but ebb_loop_post and ebb_loop_wake belongs to the loop's thread.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ebb_loop ebb_loop;
typedef struct ebb_loop_timer ebb_loop_timer;
typedef struct ebb_loop_watch ebb_loop_watch;

typedef void ebb_loop_fn(void *context);

/*
 * A loop of our own, or on a host's uv_loop_t (host_loop not NULL), which the
 * host runs and which must outlive this one.
 */
ebb_loop *ebb_loop_new(void *host_loop, ebb_err *err);

/*
 * Timers, watches and signals must be freed before. On a host's loop the last
 * memory goes in the host's next turn. NULL is fine.
 */
void ebb_loop_free(ebb_loop *loop);

bool ebb_loop_is_hosted(const ebb_loop *loop);

/*
 * Waits at most timeout_ms (-1: as long as it takes, 0: not at all) for the
 * first event, runs everything that is ready, returns. Not on a host's loop.
 */
void ebb_loop_run(ebb_loop *loop, int timeout_ms);

/*
 * Makes ebb_loop_run return, or not wait if it is not running. From any thread
 * or signal handler.
 */
void ebb_loop_wake(ebb_loop *loop);

/*
 * For hosts with their own epoll: readable when there is something to run; but
 * a timer that is due does not make it readable, so wait no longer than
 * ebb_loop_timeout_ms (-1: no timer).
 */
int ebb_loop_fd(const ebb_loop *loop);
int ebb_loop_timeout_ms(const ebb_loop *loop);

/* Milliseconds of a steady clock, cached per turn of the loop. */
int64_t ebb_loop_now_ms(const ebb_loop *loop);

/*
 * Runs fn at the top of the loop in its next turn, in the order of the calls.
 * Cancelling removes every pending call with this fn and context.
 */
int ebb_loop_defer(ebb_loop *loop, ebb_loop_fn *fn, void *context);
void ebb_loop_defer_cancel(ebb_loop *loop, ebb_loop_fn *fn, void *context);

/* As ebb_loop_defer, from any thread. */
int ebb_loop_post(ebb_loop *loop, ebb_loop_fn *fn, void *context);

/*
 * One-shot timers; starting one that runs sets it anew. What is ready to be
 * read comes first: a program that was held up past a limit takes what had
 * come in time before it looks at the clock.
 */
ebb_loop_timer *ebb_loop_timer_new(ebb_loop *loop, ebb_loop_fn *fn,
                                   void *context);
void ebb_loop_timer_start(ebb_loop_timer *timer, int64_t ms);
void ebb_loop_timer_cancel(ebb_loop_timer *timer);
void ebb_loop_timer_free(ebb_loop_timer *timer); /* NULL is fine */

#define EBB_READABLE 1u
#define EBB_WRITABLE 2u
#define EBB_HANGUP 4u /* the peer is gone or has closed its side */

typedef void ebb_loop_watch_fn(void *context, unsigned events);

/*
 * Watches a descriptor (socket, pipe, pidfd; not a regular file). An error on
 * it is reported as EBB_READABLE | EBB_HANGUP. The descriptor must stay open
 * until the watch is freed; it is not closed here. events 0 stops watching.
 * The descriptor becomes non-blocking; a loop has one watch per descriptor.
 */
ebb_loop_watch *ebb_loop_watch_new(ebb_loop *loop, int fd,
                                   ebb_loop_watch_fn *fn, void *context,
                                   ebb_err *err);
int ebb_loop_watch_set(ebb_loop_watch *watch, unsigned events);

/*
 * Stops watching as events 0 does, but tells the kernel only if something
 * comes: for a watch that is likely to be set to the same events again.
 */
void ebb_loop_watch_rest(ebb_loop_watch *watch);
void ebb_loop_watch_free(ebb_loop_watch *watch); /* NULL is fine */

typedef struct ebb_loop_signal ebb_loop_signal;

/* Calls fn in the loop for each delivery of signum. For programs only. */
ebb_loop_signal *ebb_loop_signal_new(ebb_loop *loop, int signum,
                                     ebb_loop_fn *fn, void *context,
                                     ebb_err *err);
void ebb_loop_signal_free(ebb_loop_signal *signal); /* NULL is fine */
