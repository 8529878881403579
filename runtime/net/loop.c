/* SPDX-License-Identifier: MIT */
#include "net/loop.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/loop_private.h"

struct ebb_loop_timer {
    uv_timer_t uv;
    ebb_loop *loop;
    ebb_loop_fn *fn;
    void *context;
    bool due;      /* in the loop's list */
    unsigned turn; /* of the loop, when it became due */
    ebb_loop_timer *next, *previous;
};

int ebb_loop_failure(ebb_err *err, int status, const char *what)
{
    if (status == UV_ENOMEM)
        return ebb_err_set(err, EBB_NO_MEMORY, "%s", what);
    return ebb_err_set_status(err, EBB_NETWORK, -status, "%s: %s", what,
                              uv_strerror(status));
}

void ebb_loop_ran(ebb_loop *loop)
{
    if (!loop->hosted)
        uv_stop(loop->uv);
}

void ebb_loop_release(ebb_loop *loop)
{
    loop->handles--;
    if (!loop->freed || loop->handles > 0 || !loop->hosted)
        return;
    ebb_loop_calls_clear(&loop->calls);
    ebb_mem_free(loop);
}

/* ---- calls ---- */

static void run_calls(ebb_loop *loop)
{
    ebb_loop_ran(loop);
    ebb_loop_calls_run(&loop->calls);
    if (!loop->freed && ebb_loop_calls_count(&loop->calls) == 0)
        uv_idle_stop(&loop->soon);
}

static void on_soon(uv_idle_t *handle)
{
    run_calls(handle->data);
}

static void on_wake(uv_async_t *handle)
{
    run_calls(handle->data);
}

static void on_limit(uv_timer_t *handle)
{
    ebb_loop_ran(handle->data);
}

/* ---- what is due ---- */

static void due_add(ebb_loop_timer *timer)
{
    ebb_loop_due *due = &timer->loop->due;

    timer->due = true;
    timer->turn = timer->loop->turn;
    timer->next = NULL;
    timer->previous = due->last;
    if (due->last != NULL)
        due->last->next = timer;
    else
        due->first = timer;
    due->last = timer;
}

static void due_del(ebb_loop_timer *timer)
{
    ebb_loop_due *due = &timer->loop->due;

    if (!timer->due)
        return;
    timer->due = false;
    if (timer->previous != NULL)
        timer->previous->next = timer->next;
    else
        due->first = timer->next;
    if (timer->next != NULL)
        timer->next->previous = timer->previous;
    else
        due->last = timer->previous;
}

static void on_now(uv_idle_t *handle)
{
    (void)handle; /* that it is active is enough */
}

/* Behind the descriptors of this turn; what becomes due by it is the next's. */
static void on_after(uv_check_t *handle)
{
    ebb_loop *loop = handle->data;
    ebb_loop_timer *timer;
    unsigned turn = ++loop->turn;

    ebb_loop_ran(loop);
    while (!loop->freed && (timer = loop->due.first) != NULL &&
           timer->turn != turn) {
        due_del(timer);
        timer->fn(timer->context);
    }
    if (loop->freed || loop->due.first != NULL)
        return;
    uv_check_stop(&loop->after);
    uv_idle_stop(&loop->now);
}

static void be_due(ebb_loop_timer *timer)
{
    ebb_loop *loop = timer->loop;

    due_add(timer);
    uv_check_start(&loop->after, on_after);
    uv_idle_start(&loop->now, on_now);
}

static void on_own_closed(uv_handle_t *handle)
{
    ebb_loop_release(handle->data);
}

static int init_handles(ebb_loop *loop, ebb_err *err)
{
    int status = uv_async_init(loop->uv, &loop->wake, on_wake);

    if (status != 0)
        return ebb_loop_failure(err, status, "event loop");
    uv_idle_init(loop->uv, &loop->soon);
    uv_timer_init(loop->uv, &loop->limit);
    loop->wake.data = loop;
    loop->soon.data = loop;
    uv_check_init(loop->uv, &loop->after);
    uv_idle_init(loop->uv, &loop->now);
    loop->limit.data = loop;
    loop->after.data = loop;
    loop->now.data = loop;
    loop->handles = 5;
    return 0;
}

/*
 * uv_loop_close aborts when a descriptor of the loop has the number of a
 * standard one: the program would end, not only the loop.
 */
static int check_standard(ebb_err *err)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            return ebb_err_set(err, EBB_UNSUPPORTED,
                               "event loop: descriptor %d is closed; standard "
                               "input, output and error must be open, on "
                               "/dev/null if on nothing else",
                               fd);
    return 0;
}

ebb_loop *ebb_loop_new(void *host_loop, ebb_err *err)
{
    ebb_loop *loop;
    int status;

    if (host_loop == NULL && check_standard(err) < 0)
        return NULL;
    loop = ebb_mem_zero(sizeof *loop);
    if (loop == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "event loop");
        return NULL;
    }
    loop->hosted = host_loop != NULL;
    loop->uv = loop->hosted ? host_loop : &loop->own;
    if (!loop->hosted && (status = uv_loop_init(loop->uv)) != 0) {
        ebb_loop_failure(err, status, "event loop");
        ebb_mem_free(loop);
        return NULL;
    }
    ebb_loop_calls_init(&loop->calls);
    if (init_handles(loop, err) != 0) {
        if (!loop->hosted)
            uv_loop_close(loop->uv);
        ebb_loop_calls_clear(&loop->calls);
        ebb_mem_free(loop);
        return NULL;
    }
    return loop;
}

/* Turns in which closed handles are let go; one is enough for all of them. */
#define CLOSING_TURNS_MAX 8

void ebb_loop_free(ebb_loop *loop)
{
    if (loop == NULL)
        return;
    loop->freed = true;
    uv_close((uv_handle_t *)&loop->wake, on_own_closed);
    uv_close((uv_handle_t *)&loop->soon, on_own_closed);
    uv_close((uv_handle_t *)&loop->limit, on_own_closed);
    uv_close((uv_handle_t *)&loop->after, on_own_closed);
    uv_close((uv_handle_t *)&loop->now, on_own_closed);
    if (loop->hosted)
        return; /* the host's next turn closes, the last handle frees */
    for (int i = 0; i < CLOSING_TURNS_MAX && loop->handles > 0; i++)
        uv_run(loop->uv, UV_RUN_NOWAIT);
    uv_loop_close(loop->uv);
    ebb_loop_calls_clear(&loop->calls);
    ebb_mem_free(loop);
}

bool ebb_loop_is_hosted(const ebb_loop *loop)
{
    return loop->hosted;
}

void ebb_loop_run(ebb_loop *loop, int timeout_ms)
{
    if (loop->hosted)
        return;
    if (timeout_ms > 0) {
        uv_update_time(loop->uv);
        uv_timer_start(&loop->limit, on_limit, (uint64_t)timeout_ms, 0);
    }
    uv_run(loop->uv, timeout_ms == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    uv_timer_stop(&loop->limit);
    /* The wait was one for a timer: its turn is this one's. */
    if (loop->due.first != NULL)
        uv_run(loop->uv, UV_RUN_NOWAIT);
}

void ebb_loop_wake(ebb_loop *loop)
{
    uv_async_send(&loop->wake);
}

int ebb_loop_fd(const ebb_loop *loop)
{
    return uv_backend_fd(loop->uv);
}

int ebb_loop_timeout_ms(const ebb_loop *loop)
{
    uv_update_time(loop->uv);
    return uv_backend_timeout(loop->uv);
}

int64_t ebb_loop_now_ms(const ebb_loop *loop)
{
    return (int64_t)uv_now(loop->uv);
}

int ebb_loop_defer(ebb_loop *loop, ebb_loop_fn *fn, void *context)
{
    if (ebb_loop_calls_add(&loop->calls, fn, context) != 0)
        return -1;
    uv_idle_start(&loop->soon, on_soon);
    return 0;
}

void ebb_loop_defer_cancel(ebb_loop *loop, ebb_loop_fn *fn, void *context)
{
    ebb_loop_calls_del(&loop->calls, fn, context);
}

int ebb_loop_post(ebb_loop *loop, ebb_loop_fn *fn, void *context)
{
    if (ebb_loop_calls_add(&loop->calls, fn, context) != 0)
        return -1;
    uv_async_send(&loop->wake);
    return 0;
}

/* ---- timers ---- */

static void on_timer(uv_timer_t *handle)
{
    ebb_loop_timer *timer = handle->data;

    ebb_loop_ran(timer->loop);
    be_due(timer);
}

static void on_timer_closed(uv_handle_t *handle)
{
    ebb_loop_timer *timer = handle->data;

    ebb_loop_release(timer->loop);
    ebb_mem_free(timer);
}

ebb_loop_timer *ebb_loop_timer_new(ebb_loop *loop, ebb_loop_fn *fn,
                                   void *context)
{
    ebb_loop_timer *timer = ebb_mem_zero(sizeof *timer);

    if (timer == NULL)
        return NULL;
    timer->loop = loop;
    timer->fn = fn;
    timer->context = context;
    timer->uv.data = timer;
    uv_timer_init(loop->uv, &timer->uv);
    loop->handles++;
    return timer;
}

void ebb_loop_timer_start(ebb_loop_timer *timer, int64_t ms)
{
    /* It is due again, so it stays: else a descriptor that is ready in every
     * turn, and sets it, would put it off for ever. */
    if (timer->due && ms <= 0)
        return;
    due_del(timer);
    if (ms <= 0) {
        uv_timer_stop(&timer->uv);
        be_due(timer);
        return;
    }
    /* Outside a turn the cached time is old and would make it fire early. */
    uv_update_time(timer->loop->uv);
    uv_timer_start(&timer->uv, on_timer, (uint64_t)ms, 0);
}

void ebb_loop_timer_cancel(ebb_loop_timer *timer)
{
    due_del(timer);
    uv_timer_stop(&timer->uv);
}

void ebb_loop_timer_free(ebb_loop_timer *timer)
{
    if (timer == NULL)
        return;
    due_del(timer);
    uv_close((uv_handle_t *)&timer->uv, on_timer_closed);
}
