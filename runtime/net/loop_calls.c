/* SPDX-License-Identifier: MIT */
#include "net/loop_calls.h"

#include "base/mem.h"

#define ROOM_FIRST 16

struct ebb_loop_call {
    ebb_loop_fn *fn; /* NULL: deleted */
    void *context;
};

static ebb_loop_call *at(ebb_loop_calls *calls, size_t i)
{
    return &calls->ring[(calls->first + i) % calls->room];
}

static int grow(ebb_loop_calls *calls)
{
    size_t room = calls->room == 0 ? ROOM_FIRST : calls->room * 2;
    ebb_loop_call *ring;

    if (calls->n >= EBB_LOOP_CALLS_MAX)
        return -1;
    ring = ebb_mem_alloc(room * sizeof *ring);
    if (ring == NULL)
        return -1;
    for (size_t i = 0; i < calls->n; i++)
        ring[i] = *at(calls, i);
    ebb_mem_free(calls->ring);
    calls->ring = ring;
    calls->first = 0;
    calls->room = room;
    return 0;
}

static ebb_loop_call take_first(ebb_loop_calls *calls)
{
    ebb_loop_call call = { NULL, NULL };

    pthread_mutex_lock(&calls->lock);
    if (calls->n > 0) {
        call = *at(calls, 0);
        calls->first = (calls->first + 1) % calls->room;
        calls->n--;
    }
    pthread_mutex_unlock(&calls->lock);
    return call;
}

void ebb_loop_calls_init(ebb_loop_calls *calls)
{
    *calls = (ebb_loop_calls){ 0 };
    pthread_mutex_init(&calls->lock, NULL);
}

void ebb_loop_calls_clear(ebb_loop_calls *calls)
{
    ebb_mem_free(calls->ring);
    calls->ring = NULL;
    calls->n = 0;
    calls->room = 0;
    pthread_mutex_destroy(&calls->lock);
}

int ebb_loop_calls_add(ebb_loop_calls *calls, ebb_loop_fn *fn, void *context)
{
    int status = 0;

    pthread_mutex_lock(&calls->lock);
    if (calls->n == calls->room)
        status = grow(calls);
    if (status == 0) {
        *at(calls, calls->n) = (ebb_loop_call){ fn, context };
        calls->n++;
    }
    pthread_mutex_unlock(&calls->lock);
    return status;
}

void ebb_loop_calls_del(ebb_loop_calls *calls, ebb_loop_fn *fn, void *context)
{
    pthread_mutex_lock(&calls->lock);
    for (size_t i = 0; i < calls->n; i++) {
        ebb_loop_call *call = at(calls, i);

        if (call->fn == fn && call->context == context)
            call->fn = NULL;
    }
    pthread_mutex_unlock(&calls->lock);
}

void ebb_loop_calls_run(ebb_loop_calls *calls)
{
    for (size_t i = ebb_loop_calls_count(calls); i > 0; i--) {
        ebb_loop_call call = take_first(calls);

        if (call.fn != NULL)
            call.fn(call.context);
    }
}

size_t ebb_loop_calls_count(ebb_loop_calls *calls)
{
    size_t n;

    pthread_mutex_lock(&calls->lock);
    n = calls->n;
    pthread_mutex_unlock(&calls->lock);
    return n;
}
