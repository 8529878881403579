/* SPDX-License-Identifier: MIT */
#include "ebb_private.h"

#include <string.h>
#include <time.h>

#include <ebb_version.h>

/* A call in flight is given this long to end when its runtime closes. */
#define CLOSE_MS 3000

struct ebb_timer {
    ebb_runtime *rt;
    ebb_timer *next;
    ebb_loop_timer *timer;
    void (*fn)(void *context);
    void *context;
};

const char *ebb_version(void)
{
    return EBB_VERSION;
}

void ebb_free(void *block)
{
    ebb_mem_free(block);
}

void ebb_config_init(ebb_config *config)
{
    *config = (ebb_config){ .size = sizeof *config };
}

static const char **config_strings(ebb_config *config, size_t index)
{
    const char **strings[] = {
        &config->api_key, &config->api_url,   &config->sandbox_url,
        &config->domain,  &config->state_dir, &config->journal,
    };

    return index < sizeof strings / sizeof *strings ? strings[index] : NULL;
}

/* A caller built against an older header knows fewer fields. */
static int copy_config(ebb_config *to, const ebb_config *from, ebb_err *err)
{
    const char **field;
    bool failed = false;

    ebb_config_init(to);
    if (from != NULL) {
        if (from->size == 0 || from->size > sizeof *to)
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "ebb_config: call ebb_config_init first");
        memcpy(to, from, from->size);
    }
    to->size = sizeof *to;
    /* To the last one also on failure: what stays would be the caller's. */
    for (size_t i = 0; (field = config_strings(to, i)) != NULL; i++)
        if (*field != NULL) {
            *field = failed ? NULL : ebb_mem_dup(*field);
            failed = *field == NULL;
        }
    return failed ? ebb_err_set(err, EBB_NO_MEMORY, "configuration") : 0;
}

static void clear_config(ebb_config *config)
{
    const char **field;

    for (size_t i = 0; (field = config_strings(config, i)) != NULL; i++) {
        char *owned;
        memcpy(&owned, field, sizeof owned);
        ebb_mem_free(owned);
        *field = NULL;
    }
}

static int open_parts(ebb_runtime *rt, ebb_err *err)
{
    ebb_e2b_config e2b = { 0 };

    rt->clock = ebb_clock_real();
    if ((rt->loop = ebb_loop_new(rt->config.uv_loop, err)) == NULL ||
        (rt->http = ebb_http_client_new(rt->loop, err)) == NULL ||
        (rt->registry = ebb_registry_new(err)) == NULL)
        return -1;
    e2b.loop = rt->loop;
    e2b.http = rt->http;
    e2b.clock = rt->clock;
    e2b.user_agent = "ebb/" EBB_VERSION;
    e2b.find_place = ebb_place_find;
    e2b.context = rt;
    e2b.connect_ms = rt->config.connect_ms;
    e2b.unary_ms = rt->config.unary_ms;
    e2b.transfer_idle_ms = rt->config.transfer_idle_ms;
    e2b.stream_first_ms = rt->config.stream_first_ms;
    e2b.stream_idle_ms = rt->config.stream_idle_ms;
    if ((rt->e2b = ebb_e2b_new(&e2b, err)) == NULL)
        return -1;
    return ebb_e2b_register(rt->e2b, rt->registry, err);
}

ebb_runtime *ebb_open(const ebb_config *config, ebb_err *err)
{
    ebb_runtime *rt;

    if (config != NULL && config->allocator != NULL)
        ebb_mem_set(config->allocator);
    rt = ebb_mem_zero(sizeof *rt);
    if (rt == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "open a runtime");
        return NULL;
    }
    if (copy_config(&rt->config, config, err) < 0 ||
        ebb_limits_read(&rt->config, err) < 0 ||
        open_parts(rt, err) < 0) {
        ebb_close(rt);
        return NULL;
    }
    return rt;
}

/*
 * Lets what was cancelled end: a command is killed and waited for. On a
 * host's loop nothing can be run here; such a host closes when it is idle.
 */
static void drain(ebb_runtime *rt)
{
    int64_t end;

    ebb_ops_cancel(rt);
    if (ebb_loop_is_hosted(rt->loop))
        return;
    end = ebb_clock_steady_ms(rt->clock) + CLOSE_MS;
    while (rt->ops != NULL && ebb_clock_steady_ms(rt->clock) < end)
        ebb_loop_run(rt->loop, 50);
}

void ebb_close(ebb_runtime *rt)
{
    if (rt == NULL)
        return;
    ebb_runtime_journal_close(rt);
    if (rt->loop != NULL && rt->ops != NULL)
        drain(rt);
    while (rt->timers != NULL)
        ebb_timer_cancel(rt->timers);
    ebb_local_free(rt->local);
    if (rt->e2b != NULL)
        ebb_e2b_free(rt->e2b);
    if (rt->registry != NULL)
        ebb_registry_free(rt->registry);
    ebb_host_tasks_free(rt);
    if (rt->http != NULL)
        ebb_http_client_free(rt->http);
    if (rt->loop != NULL)
        ebb_loop_free(rt->loop);
    clear_config(&rt->config);
    ebb_mem_free(rt);
}

/* ---- the loop ---- */

int ebb_poll(ebb_runtime *rt, int timeout_ms, ebb_err *err)
{
    if (ebb_loop_is_hosted(rt->loop))
        return ebb_err_set(err, EBB_UNSUPPORTED,
                           "ebb_poll: the host runs this loop");
    ebb_loop_run(rt->loop, timeout_ms);
    return 0;
}

int ebb_fd(const ebb_runtime *rt)
{
    return ebb_loop_fd(rt->loop);
}

int ebb_timeout_ms(const ebb_runtime *rt)
{
    return ebb_loop_timeout_ms(rt->loop);
}

void ebb_wake(ebb_runtime *rt)
{
    ebb_loop_wake(rt->loop);
}

static void timer_is_due(void *context)
{
    ebb_timer *timer = context;
    void (*fn)(void *) = timer->fn;
    void *fn_context = timer->context;

    ebb_timer_cancel(timer);
    fn(fn_context);
}

ebb_timer *ebb_timer_start(ebb_runtime *rt, int64_t ms,
                           void (*fn)(void *context), void *context,
                           ebb_err *err)
{
    ebb_timer *timer = ebb_mem_zero(sizeof *timer);

    if (timer != NULL)
        timer->timer = ebb_loop_timer_new(rt->loop, timer_is_due, timer);
    if (timer == NULL || timer->timer == NULL) {
        ebb_mem_free(timer);
        ebb_err_set(err, EBB_NO_MEMORY, "start a timer");
        return NULL;
    }
    timer->rt = rt;
    timer->fn = fn;
    timer->context = context;
    timer->next = rt->timers;
    rt->timers = timer;
    ebb_loop_timer_start(timer->timer, ms < 0 ? 0 : ms);
    return timer;
}

void ebb_timer_cancel(ebb_timer *timer)
{
    ebb_timer **link;

    if (timer == NULL)
        return;
    link = &timer->rt->timers;
    while (*link != timer)
        link = &(*link)->next;
    *link = timer->next;
    ebb_loop_timer_free(timer->timer);
    ebb_mem_free(timer);
}

double ebb_monotonic_ms(const ebb_runtime *rt)
{
    struct timespec now;

    (void)rt;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}
