/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Removes a directory tree on a thread of its own: a sandbox may leave a
 * million files behind, and the loop must not wait for them.
 */

#include "base/err.h"
#include "net/loop.h"

#include <pthread.h>
#include <stdbool.h>

typedef void ebb_remover_fn(void *context, const ebb_err *err);

/* The caller's storage, which must stay until done has been called. */
typedef struct ebb_remover {
    ebb_loop *loop;
    const char *path;
    ebb_remover_fn *done;
    void *context;
    pthread_t thread;
    bool threaded, failed;
    ebb_err err;
} ebb_remover;

/*
 * done comes from the loop, once, with err NULL when nothing is left. path is
 * borrowed until then. Without a thread to be had, the caller's removes it.
 */
void ebb_remover_start(ebb_remover *remover, ebb_loop *loop, const char *path,
                       ebb_remover_fn *done, void *context);
