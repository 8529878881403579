/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Shared by the files of the loop, for nobody else: loop.c runs it and owns
 * calls and timers, loop_watch.c descriptors and signals.
 *
 * A handle's memory is freed in libuv's close callback, after the user's view
 * of it has ended; so it may be freed in its own callback.
 */

#include "net/loop.h"

#include <uv.h>

#include "net/loop_calls.h"

/* Timers whose time has come, in the order in which it came. */
typedef struct ebb_loop_due {
    ebb_loop_timer *first, *last;
} ebb_loop_due;

struct ebb_loop {
    uv_loop_t own;
    uv_loop_t *uv; /* &own, or the host's */
    bool hosted;
    bool freed;
    unsigned handles; /* of libuv, not closed yet; the memory lives so long */
    uv_async_t wake;  /* ebb_loop_post, ebb_loop_wake */
    uv_idle_t soon;   /* active while deferred calls wait: no blocking then */
    uv_timer_t limit; /* of ebb_loop_run */
    uv_check_t after; /* runs what is due, behind the descriptors */
    uv_idle_t now;    /* active while something is due: no blocking then */
    ebb_loop_due due;
    unsigned turn; /* counts the times that what is due was run */
    ebb_loop_calls calls;
};

/*
 * Said before each callback: the own loop's turn ends with it. By itself
 * libuv would run a due timer and then block in the same turn.
 */
void ebb_loop_ran(ebb_loop *loop);

/* Said in each close callback. */
void ebb_loop_release(ebb_loop *loop);

/* An error of libuv, as ebb_err_set. */
int ebb_loop_failure(ebb_err *err, int status, const char *what);
