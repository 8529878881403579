/* SPDX-License-Identifier: MIT */
#include "net/http_client_private.h"

/*
 * The connect limit is libcurl's own (it covers the name, too); the others are
 * looked at here, by one timer per call that is set to the next deadline and
 * not at each byte.
 */

typedef struct deadline {
    int64_t at_ms; /* INT64_MAX: none */
    int64_t limit_ms;
    const char *what;
} deadline;

static void consider(deadline *next, int64_t from_ms, int64_t limit_ms,
                     const char *what)
{
    if (limit_ms > 0 && from_ms + limit_ms < next->at_ms)
        *next = (deadline){ from_ms + limit_ms, limit_ms, what };
}

static deadline next_deadline(const ebb_http_call *call)
{
    deadline next = { INT64_MAX, 0, "" };

    consider(&next, call->started_ms, call->limits.total_ms, "it was not done");
    /* While held, nothing can move: that is the caller's time. */
    if (call->connected && !call->held)
        consider(&next, call->active_ms, call->limits.idle_ms, "no byte moved");
    if (call->sent_ms >= 0 && call->received == 0)
        consider(&next, call->sent_ms, call->limits.first_byte_ms,
                 "no byte of the answer came");
    return next;
}

void ebb_http_limits_arm(ebb_http_call *call)
{
    deadline next = next_deadline(call);

    if (call->timer == NULL || call->timer_at_ms <= next.at_ms)
        return; /* one that is due earlier sees then what is next */
    call->timer_at_ms = next.at_ms;
    ebb_loop_timer_start(call->timer,
                         next.at_ms - ebb_loop_now_ms(call->client->loop));
}

bool ebb_http_limits_reached(ebb_http_call *call)
{
    deadline next = next_deadline(call);

    if (next.at_ms > ebb_loop_now_ms(call->client->loop))
        return false;
    ebb_http_call_fail(call, EBB_TIMEOUT, "%s within %lld ms", next.what,
                       (long long)next.limit_ms);
    return true;
}
