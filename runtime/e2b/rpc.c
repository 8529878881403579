/* SPDX-License-Identifier: MIT */
#include "e2b/rpc.h"

#include <inttypes.h>
#include <stdio.h>

#include "e2b/state.h"

/* Seconds between keepalives on a stream: below every idle limit between. */
#define KEEPALIVE_S "50"

/* The protocol knows ten digits, four months; a longer limit is ours alone. */
#define TIMEOUT_MS_MAX INT64_C(9999999999)

static ebb_http_limits limits_of(const ebb_e2b_config *config,
                                 const ebb_e2b_rpc *rpc)
{
    if (rpc->waits)
        return (ebb_http_limits){ 0 };
    if (rpc->is_stream)
        return (ebb_http_limits){ .first_byte_ms = config->stream_first_ms,
                                  .idle_ms = config->stream_idle_ms };
    return (ebb_http_limits){ .total_ms = config->unary_ms };
}

ebb_e2b_transfer *ebb_e2b_rpc_start(ebb_e2b_job *job, const ebb_e2b_rpc *rpc,
                                    ebb_err *err)
{
    char timeout[24];
    ebb_http_header headers[3] = { { "Connect-Protocol-Version", "1" } };
    ebb_e2b_transfer_config config = {
        .port = EBB_E2B_ENVD,
        .target = &job->target,
        .method = "POST",
        .path = rpc->path,
        .content_type =
            rpc->is_stream ? "application/connect+proto" : "application/proto",
        .body = rpc->message->bytes,
        .body_n = rpc->message->n,
        .user = rpc->user,
        .headers = headers,
        .headers_count = 1,
        .limits = limits_of(&job->e2b->config, rpc),
        .answer_max = rpc->answer_max,
        .context = rpc->context,
        .on_body = rpc->on_body,
        .before_body = rpc->before_body,
        .unheld = !ebb_attempt_may_wait(job->attempt),
        .on_done = rpc->on_done,
    };

    if (rpc->is_stream)
        headers[config.headers_count++] =
            (ebb_http_header){ "Keepalive-Ping-Interval", KEEPALIVE_S };
    /* None, or none that it can say, is no header: a 0 ends the stream. */
    if (rpc->timeout_ms > 0 && rpc->timeout_ms <= TIMEOUT_MS_MAX) {
        snprintf(timeout, sizeof timeout, "%" PRId64, rpc->timeout_ms);
        headers[config.headers_count++] =
            (ebb_http_header){ "Connect-Timeout-Ms", timeout };
    }
    return ebb_e2b_transfer_start(job->e2b, &config, err);
}
