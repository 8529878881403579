/* SPDX-License-Identifier: MIT */
#include "net/loop_private.h"

#include "base/mem.h"

struct ebb_loop_watch {
    uv_poll_t uv;
    ebb_loop *loop;
    ebb_loop_watch_fn *fn;
    void *context;
    unsigned events;
    unsigned armed; /* what libuv was last told, while the handle is active */
};

struct ebb_loop_signal {
    uv_signal_t uv;
    ebb_loop *loop;
    ebb_loop_fn *fn;
    void *context;
};

/* on_ready is passed in because it calls this itself. */
static int apply(ebb_loop_watch *watch, uv_poll_cb ready)
{
    int wanted = 0;

    if (watch->events & EBB_READABLE)
        wanted |= UV_READABLE;
    if (watch->events & EBB_WRITABLE)
        wanted |= UV_WRITABLE;
    if (watch->events & EBB_HANGUP)
        wanted |= UV_DISCONNECT;
    uv_ref((uv_handle_t *)&watch->uv);
    if (!uv_is_active((uv_handle_t *)&watch->uv))
        watch->armed = 0;
    if (watch->armed == watch->events)
        return 0; /* libuv would ask the kernel all the same */
    watch->armed = watch->events;
    if (wanted == 0)
        return uv_poll_stop(&watch->uv);
    return uv_poll_start(&watch->uv, wanted, ready);
}

static void on_ready(uv_poll_t *handle, int status, int ready)
{
    ebb_loop_watch *watch = handle->data;
    unsigned events = 0;

    if (watch->events == 0) { /* it rested */
        uv_poll_stop(handle);
        return;
    }
    if (status < 0)
        events = EBB_READABLE | EBB_HANGUP;
    if (ready & UV_READABLE)
        events |= EBB_READABLE;
    if (ready & UV_WRITABLE)
        events |= EBB_WRITABLE;
    if (ready & UV_DISCONNECT)
        events |= EBB_HANGUP;
    ebb_loop_ran(watch->loop);
    watch->fn(watch->context, events);
    /* libuv stops a watch at an error; here it stays until it is set to 0.
     * The memory is there until the close callback, even if fn freed it. */
    if (status < 0 && !uv_is_closing((uv_handle_t *)handle))
        apply(watch, on_ready);
}

static void on_watch_closed(uv_handle_t *handle)
{
    ebb_loop_watch *watch = handle->data;

    ebb_loop_release(watch->loop);
    ebb_mem_free(watch);
}

ebb_loop_watch *ebb_loop_watch_new(ebb_loop *loop, int fd,
                                   ebb_loop_watch_fn *fn, void *context,
                                   ebb_err *err)
{
    ebb_loop_watch *watch = ebb_mem_zero(sizeof *watch);
    int status;

    if (watch == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "watch of descriptor %d", fd);
        return NULL;
    }
    status = uv_poll_init(loop->uv, &watch->uv, fd);
    if (status != 0) {
        ebb_mem_free(watch);
        ebb_loop_failure(err, status, "watch a descriptor");
        return NULL;
    }
    watch->loop = loop;
    watch->fn = fn;
    watch->context = context;
    watch->uv.data = watch;
    loop->handles++;
    return watch;
}

int ebb_loop_watch_set(ebb_loop_watch *watch, unsigned events)
{
    watch->events = events;
    return apply(watch, on_ready) == 0 ? 0 : -1;
}

void ebb_loop_watch_rest(ebb_loop_watch *watch)
{
    watch->events = 0;
    uv_unref((uv_handle_t *)&watch->uv);
}

void ebb_loop_watch_free(ebb_loop_watch *watch)
{
    if (watch != NULL)
        uv_close((uv_handle_t *)&watch->uv, on_watch_closed);
}

/* ---- signals ---- */

static void on_signal(uv_signal_t *handle, int signum)
{
    ebb_loop_signal *signal = handle->data;

    (void)signum;
    ebb_loop_ran(signal->loop);
    signal->fn(signal->context);
}

static void on_signal_closed(uv_handle_t *handle)
{
    ebb_loop_signal *signal = handle->data;

    ebb_loop_release(signal->loop);
    ebb_mem_free(signal);
}

ebb_loop_signal *ebb_loop_signal_new(ebb_loop *loop, int signum,
                                     ebb_loop_fn *fn, void *context,
                                     ebb_err *err)
{
    ebb_loop_signal *signal = ebb_mem_zero(sizeof *signal);
    int status;

    if (signal == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "signal %d", signum);
        return NULL;
    }
    status = uv_signal_init(loop->uv, &signal->uv);
    if (status != 0) {
        ebb_mem_free(signal);
        ebb_loop_failure(err, status, "watch a signal");
        return NULL;
    }
    signal->loop = loop;
    signal->fn = fn;
    signal->context = context;
    signal->uv.data = signal;
    loop->handles++;
    status = uv_signal_start(&signal->uv, on_signal, signum);
    if (status != 0) {
        ebb_loop_signal_free(signal);
        ebb_loop_failure(err, status, "watch a signal");
        return NULL;
    }
    return signal;
}

void ebb_loop_signal_free(ebb_loop_signal *signal)
{
    if (signal != NULL)
        uv_close((uv_handle_t *)&signal->uv, on_signal_closed);
}
