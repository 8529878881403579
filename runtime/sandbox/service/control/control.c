/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/control.h"

#include "base/clock.h"
#include "sandbox/service/control/body.h"
#include "sandbox/service/control/describe.h"
#include "sandbox/service/lifecycle.h"
#include "sandbox/service/reply.h"
#include "sandbox/service/table.h"

#include <ebb_version.h>
#include <unistd.h>

#define CONNECT_DEFAULT_S 300
#define RESUME_DEFAULT_S  15 /* v1's, as E2B's own server has it */
#define REFRESH_MIN_S     15
#define REFRESH_MAX_S     3600

void ebb_control_reply_gone(ebb_control_call *call)
{
    const ebb_sandbox *s = ebb_table_find(call->service, call->id);
    char time[EBB_CLOCK_ISO_BYTES];
    const char *cause = s != NULL ? s->life->cause : NULL;
    int64_t ended_ms = ebb_clock_wall_ms(ebb_clock_real());

    if (cause == NULL &&
        !ebb_table_find_grave(call->service, call->id, &ended_ms, &cause)) {
        ebb_service_reply_error(call->exchange, 404,
                                "Sandbox \"%s\" doesn't exist or you don't "
                                "have access to it",
                                call->id);
        return;
    }
    ebb_clock_iso(ended_ms, time);
    ebb_service_reply_error(call->exchange, 404,
                            "Sandbox \"%s\" doesn't exist or you don't have "
                            "access to it: it ended at %s: %s",
                            call->id, time, cause);
}

void ebb_control_reply_invalid(ebb_control_call *call, const ebb_err *err)
{
    ebb_service_reply_error(call->exchange, 400, "validation error: %s",
                            err->msg);
}

ebb_sandbox *ebb_control_find(ebb_control_call *call)
{
    ebb_sandbox *s = ebb_table_find(call->service, call->id);

    if (s != NULL &&
        (ebb_describe_is_shown(s) || s->state == EBB_SANDBOX_KILLING))
        return s;
    ebb_control_reply_gone(call);
    return NULL;
}

bool ebb_control_get_timeout(ebb_control_call *call, int64_t otherwise_s,
                             int64_t min_s, int64_t *timeout_ms)
{
    ebb_err err;
    int64_t s;

    if (ebb_body_get_int(call->body, "timeout", otherwise_s, &s, &err) != 0) {
        ebb_control_reply_invalid(call, &err);
        return false;
    }
    if (s > EBB_TIMEOUT_S_MAX) {
        ebb_service_reply_error(call->exchange, 400,
                                "Timeout cannot be greater than %d hours",
                                EBB_TIMEOUT_HOURS_MAX);
        return false;
    }
    if (s < min_s) {
        ebb_service_reply_error(call->exchange, 400,
                                "Timeout must be greater than 0");
        return false;
    }
    *timeout_ms = s * 1000;
    return true;
}

/* Waits, or answers that it cannot. */
static void wait_for(ebb_control_call *call, ebb_sandbox *s, ebb_waiter_fn *fn)
{
    ebb_err err;

    if (ebb_waiter_add(s, fn, call, &err) != 0)
        ebb_service_reply_err(call->exchange, &err);
}

static void reply_in_transition(ebb_control_call *call)
{
    ebb_service_reply_error(call->exchange, 409,
                            "Sandbox \"%s\" is changing its state; try again",
                            call->id);
}

/* ---- get, kill, version ---- */

void ebb_control_get(ebb_control_call *call)
{
    ebb_sandbox *s = ebb_control_find(call);

    if (s == NULL)
        return;
    if (s->state == EBB_SANDBOX_KILLING)
        ebb_control_reply_gone(call);
    else
        ebb_service_reply_take(call->exchange, 200, ebb_describe_detail(s));
}

static void killed(void *context, ebb_sandbox *s, const ebb_err *err)
{
    ebb_control_call *call = context;

    (void)err;
    if (s != NULL)
        wait_for(call, s, killed);
    else
        ebb_service_reply_empty(call->exchange, 204);
}

void ebb_control_kill(ebb_control_call *call)
{
    ebb_sandbox *s = ebb_control_find(call);

    if (s == NULL)
        return;
    ebb_lifecycle_kill(s, "it was killed by a request");
    wait_for(call, s, killed);
}

void ebb_control_version(ebb_control_call *call)
{
    ebb_value *o = ebb_value_object();
    const ebb_sandbox *s;
    int64_t running = 0;

    for (s = call->service->sandboxes; s != NULL; s = s->next)
        running += ebb_describe_is_running(s);
    if (o != NULL && (ebb_value_set(o, "version", ebb_value_text(EBB_VERSION)) |
                      ebb_value_set(o, "pid", ebb_value_int(getpid())) |
                      ebb_value_set(o, "sandboxes", ebb_value_int(running)) |
                      ebb_value_set(o, "idle",
                                    ebb_value_bool(ebb_service_is_idle(
                                        call->service, 1)))) != 0) {
        ebb_value_free(o);
        o = NULL;
    }
    ebb_service_reply_take(call->exchange, 200, o);
}

/* ---- pause ---- */

static void pause_step(void *context, ebb_sandbox *s, const ebb_err *err)
{
    ebb_control_call *call = context;

    if (s == NULL || s->state == EBB_SANDBOX_KILLING)
        ebb_control_reply_gone(call);
    else if (err != NULL && call->began)
        ebb_service_reply_error(call->exchange, 503,
                                "pause refused, the sandbox goes on: %s",
                                err->msg);
    else if (call->began) /* an earlier waiter may have resumed it since */
        ebb_service_reply_empty(call->exchange, 204);
    else if (s->state == EBB_SANDBOX_PAUSED)
        ebb_service_reply_error(call->exchange, 409,
                                "Sandbox \"%s\" is already paused", call->id);
    else {
        if (s->state == EBB_SANDBOX_RUNNING)
            ebb_lifecycle_pause(s, call->memory);
        call->began |= s->state == EBB_SANDBOX_PAUSING;
        wait_for(call, s, pause_step);
    }
}

void ebb_control_pause(ebb_control_call *call)
{
    ebb_sandbox *s = ebb_control_find(call);
    ebb_err err;
    bool healthy;

    if (s == NULL)
        return;
    if (ebb_body_get_bool(call->body, "memory", true, &call->memory, &err) !=
            0 ||
        ebb_body_get_bool(call->body, "requireHealthyGuest", false, &healthy,
                          &err) != 0)
        ebb_control_reply_invalid(call, &err);
    else
        pause_step(call, s, NULL);
}

/* ---- connect and resume ---- */

static void connect_step(void *context, ebb_sandbox *s, const ebb_err *err)
{
    ebb_control_call *call = context;

    if (s == NULL) {
        ebb_control_reply_gone(call);
    } else if (err != NULL && call->began) {
        ebb_service_reply_error(call->exchange, 500,
                                "the sandbox could not be resumed: %s",
                                err->msg);
    } else if (s->state == EBB_SANDBOX_KILLING) {
        ebb_service_reply_error(call->exchange, 409,
                                "Sandbox \"%s\" is being killed", call->id);
    } else if (s->state == EBB_SANDBOX_RUNNING || call->began) {
        if (!call->began)
            ebb_lifecycle_set_end(s, call->timeout_ms, true);
        ebb_service_reply_take(call->exchange, call->began ? 201 : 200,
                               ebb_describe_sandbox(s));
    } else {
        if (s->state == EBB_SANDBOX_PAUSED) {
            ebb_lifecycle_resume(s, call->timeout_ms, call->memory);
            call->began = true;
        }
        wait_for(call, s, connect_step);
    }
}

void ebb_control_connect(ebb_control_call *call)
{
    ebb_sandbox *s = ebb_control_find(call);
    ebb_err err;

    if (s == NULL)
        return;
    if (!call->v2 && ebb_value_find(call->body, "timeout") == NULL)
        ebb_service_reply_error(call->exchange, 400,
                                "validation error: timeout is required");
    else if (ebb_body_get_bool(call->body, "memory", true, &call->memory,
                               &err) != 0)
        ebb_control_reply_invalid(call, &err);
    else if (ebb_control_get_timeout(call, CONNECT_DEFAULT_S, call->v2 ? 1 : 0,
                                     &call->timeout_ms))
        connect_step(call, s, NULL);
}

static void resume_step(void *context, ebb_sandbox *s, const ebb_err *err)
{
    ebb_control_call *call = context;

    if (s != NULL && s->state == EBB_SANDBOX_KILLING)
        ebb_control_reply_gone(call);
    else if (s != NULL && s->state == EBB_SANDBOX_RUNNING && !call->began)
        ebb_service_reply_error(call->exchange, 409,
                                "Sandbox \"%s\" is already running", call->id);
    else if (s != NULL && (s->state == EBB_SANDBOX_PAUSING ||
                           (s->state == EBB_SANDBOX_STARTING && !call->began)))
        wait_for(call, s, resume_step);
    else
        connect_step(call, s, err);
}

void ebb_control_resume(ebb_control_call *call)
{
    ebb_sandbox *s = ebb_control_find(call);
    ebb_err err;

    if (s == NULL)
        return;
    if (ebb_body_get_bool(call->body, "memory", true, &call->memory, &err) != 0)
        ebb_control_reply_invalid(call, &err);
    else if (ebb_control_get_timeout(call, RESUME_DEFAULT_S, 1,
                                     &call->timeout_ms))
        resume_step(call, s, NULL);
}

/* ---- the end ---- */

/* A running sandbox, or it is answered what e2b.md 8 says of the others. */
static ebb_sandbox *find_running(ebb_control_call *call)
{
    ebb_sandbox *s = ebb_control_find(call);

    if (s == NULL || s->state == EBB_SANDBOX_RUNNING)
        return s;
    if (s->state == EBB_SANDBOX_PAUSED)
        ebb_service_reply_error(call->exchange, 404, "Sandbox \"%s\" is paused",
                                call->id);
    else
        reply_in_transition(call);
    return NULL;
}

void ebb_control_set_timeout(ebb_control_call *call)
{
    ebb_sandbox *s = find_running(call);
    int64_t timeout_ms;

    if (s == NULL)
        return;
    if (ebb_value_find(call->body, "timeout") == NULL) {
        ebb_service_reply_error(call->exchange, 400,
                                "validation error: timeout is required");
        return;
    }
    if (!ebb_control_get_timeout(call, 0, INT64_MIN / 1000, &timeout_ms))
        return;
    ebb_lifecycle_set_end(s, timeout_ms > 0 ? timeout_ms : 0, false);
    ebb_service_reply_empty(call->exchange, 204);
}

void ebb_control_refresh(ebb_control_call *call)
{
    ebb_sandbox *s = find_running(call);
    int64_t duration_s;
    ebb_err err;

    if (s == NULL)
        return;
    if (ebb_body_get_int(call->body, "duration", 0, &duration_s, &err) != 0) {
        ebb_control_reply_invalid(call, &err);
        return;
    }
    if (duration_s < 0 || duration_s > REFRESH_MAX_S) {
        ebb_service_reply_error(call->exchange, 400,
                                "validation error: duration: from 0 to %d",
                                REFRESH_MAX_S);
        return;
    }
    if (duration_s < REFRESH_MIN_S)
        duration_s = REFRESH_MIN_S;
    ebb_lifecycle_set_end(s, duration_s * 1000, true);
    ebb_service_reply_empty(call->exchange, 204);
}
