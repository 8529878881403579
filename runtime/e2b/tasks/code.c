/* SPDX-License-Identifier: MIT */
/*
 * runCode. The time limit is ours alone: nothing on the wire carries it, and
 * closing the connection is what makes the interpreter stop.
 */
#include "e2b/tasks/tasks.h"

#include <inttypes.h>
#include <stdio.h>

#include "e2b/tasks/code_result.h"
#include "e2b/connection.h"
#include "e2b/tasks/extension.h"
#include "e2b/errors.h"
#include "e2b/tasks/inputs.h"
#include "e2b/interpreter.h"
#include "e2b/probe.h"
#include "e2b/tasks/result.h"
#include "e2b/state.h"

typedef struct coding {
    ebb_e2b_job job;
    ebb_e2b_execution execution;
    ebb_e2b_code_result result;
    int64_t timeout_ms; /* 0: none */
    bool streaming;     /* job.transfer is the execution's stream */
    ebb_loop_timer *timer;
    ebb_e2b_extension extension;
    ebb_e2b_probe probe; /* after the stream broke */
    ebb_err broken;      /* what made us stop reading the stream */
} coding;

/* ---- how it ends ---- */

static ebb_value *details_of(coding *c, bool may_still_run)
{
    ebb_value *details = ebb_e2b_code_result_details(&c->result);

    if (may_still_run)
        details =
            ebb_e2b_result_with(details, "mayStillRun", ebb_value_bool(true));
    return details;
}

static void fail(coding *c, const ebb_err *err)
{
    ebb_e2b_job_fail(&c->job, err, details_of(c, !c->execution.ended));
}

static void unknown(coding *c, const char *why)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_OUTCOME_UNKNOWN,
                "%s: %s; the code may have run, and is not sent again",
                c->job.subject, why);
    ebb_e2b_job_fail(&c->job, &err,
                     details_of(c, !c->execution.ended && !c->probe.ended));
}

static void probed(ebb_e2b_job *job)
{
    coding *c = (coding *)job;

    unknown(c, c->probe.why);
}

/* Without its end the question is what became of the sandbox. */
static void fail_unknown(coding *c, const char *why)
{
    if (c->execution.ended)
        unknown(c, why);
    else
        ebb_e2b_probe_start(&c->probe, &c->job, why, probed);
}

static void finish(coding *c)
{
    ebb_err err = { 0 };
    ebb_value *details = NULL;
    ebb_value *out =
        ebb_e2b_code_result_take(&c->result, &c->job, &err, &details);

    if (out != NULL)
        ebb_e2b_job_finish(&c->job, out);
    else
        ebb_e2b_job_fail(&c->job, &err, details);
}

static void stream_failed(coding *c, const ebb_e2b_transfer *transfer,
                          const ebb_err *failure)
{
    ebb_err err = *failure;

    if (!ebb_e2b_transfer_was_sent(transfer)) {
        ebb_err_wrap(&err, "%s", c->job.subject);
        ebb_e2b_job_fail(&c->job, &err, NULL);
    } else if (c->broken.code == EBB_LIMIT_EXCEEDED) {
        ebb_err_wrap(&c->broken, "%s", c->job.subject);
        fail(c, &c->broken);
    } else {
        fail_unknown(c, c->broken.code ? c->broken.msg : failure->msg);
    }
}

static void stream_closed(coding *c)
{
    if (ebb_e2b_execution_finish(&c->execution, &c->broken) != 0)
        fail_unknown(c, c->broken.msg);
    else if (!c->execution.ended)
        fail_unknown(c, "the stream ended without end_of_execution");
    else
        finish(c);
}

static void on_done(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *failure)
{
    coding *c = context;
    char why[EBB_E2B_WHY_BYTES];

    c->job.transfer = NULL;
    c->streaming = false;
    ebb_loop_timer_cancel(c->timer);
    if (failure != NULL)
        stream_failed(c, transfer, failure);
    else if (ebb_e2b_transfer_status(transfer) == 200)
        stream_closed(c);
    else if (!ebb_e2b_refused(&c->job, transfer, why))
        fail_unknown(c, why);
}

/* Ending the job closes the connection, which interrupts the code. */
static void on_timer(void *context)
{
    coding *c = context;
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_TIMEOUT,
                "%s: the code was interrupted after %" PRId64
                " ms (timeoutMs); the kernel keeps its state",
                c->job.subject, c->timeout_ms);
    fail(c, &err);
}

static void cancel(ebb_e2b_job *job)
{
    coding *c = (coding *)job;
    bool sent = c->streaming && ebb_e2b_transfer_was_sent(job->transfer);
    ebb_err err = { 0 };

    if (c->probe.under_way) {
        unknown(c, c->probe.why);
        return;
    }
    ebb_err_set(&err, EBB_CANCELLED, "%s: the code was cancelled",
                job->subject);
    if (sent)
        fail(c, &err);
    else
        ebb_e2b_job_fail(job, &err, NULL);
}

/* ---- the attempt ---- */

static int on_body(void *context, const char *bytes, size_t n)
{
    coding *c = context;

    return ebb_e2b_execution_add(&c->execution, bytes, n, &c->broken);
}

/* The time runs from here: the request goes out now. */
static void before_body(void *context)
{
    coding *c = context;

    if (c->timeout_ms > 0)
        ebb_loop_timer_start(c->timer, c->timeout_ms);
    ebb_e2b_job_before_body(&c->job);
}

static void start(ebb_e2b_job *job)
{
    coding *c = (coding *)job;
    const ebb_value *in = job->input;
    const ebb_e2b_config *limits = &job->e2b->config;
    ebb_buf body;
    ebb_e2b_transfer_config config = {
        .port = EBB_E2B_CODE,
        .target = &job->target,
        .method = "POST",
        .path = "/execute",
        .content_type = "application/json",
        .limits = { .first_byte_ms = limits->stream_first_ms,
                    .idle_ms = limits->stream_idle_ms },
        .context = c,
        .on_body = on_body,
        .before_body = before_body,
        .unheld = !ebb_attempt_may_wait(job->attempt),
        .on_done = on_done,
    };
    ebb_err err = { 0 };

    ebb_e2b_execution_clear(&c->execution);
    ebb_e2b_execution_init(&c->execution, &c->result);
    c->execution.on_text = ebb_e2b_code_result_text;
    c->execution.on_number = ebb_e2b_code_result_number;
    c->execution.on_event = ebb_e2b_code_result_event;
    ebb_buf_init(&body, 0);
    ebb_e2b_execution_write(&body, ebb_value_find(in, "code"),
                            ebb_value_find_string(in, "language"),
                            ebb_value_find(in, "envs"));
    config.body = body.bytes;
    config.body_n = body.n;
    if (ebb_buf_check(&body, "request of code", &err) == 0)
        job->transfer = ebb_e2b_transfer_start(job->e2b, &config, &err);
    ebb_buf_clear(&body);
    c->streaming = job->transfer != NULL;
    if (!c->streaming)
        ebb_e2b_job_fail(job, &err, NULL);
    else if (c->timeout_ms == 0 ||
             job->promised_end_ms < ebb_e2b_job_now(job) + c->timeout_ms)
        ebb_e2b_extension_start(&c->extension, job);
}

static void begin(ebb_e2b_job *job)
{
    coding *c = (coding *)job;
    const ebb_value *in = job->input;
    ebb_err err = { 0 };

    job->cancel = cancel;
    c->timeout_ms = ebb_e2b_whole_ms(ebb_value_find(in, "timeoutMs"));
    c->timer = ebb_loop_timer_new(job->e2b->config.loop, on_timer, c);
    if (c->timer == NULL)
        ebb_err_set(&err, EBB_NO_MEMORY, "timer of code");
    if (c->timer == NULL || ebb_e2b_code_result_init(&c->result, in, &err) != 0)
        ebb_e2b_job_fail(job, &err, NULL);
    else
        ebb_e2b_connect(job, c->timeout_ms, start);
}

static void clear(ebb_e2b_job *job)
{
    coding *c = (coding *)job;

    ebb_loop_timer_free(c->timer);
    ebb_e2b_extension_clear(&c->extension);
    ebb_e2b_execution_clear(&c->execution);
    ebb_e2b_code_result_clear(&c->result);
}

int ebb_e2b_check_code(const ebb_value *input, ebb_err *err)
{
    return ebb_e2b_check_envs("e2b.runCode", ebb_value_find(input, "envs"),
                              err);
}

void ebb_e2b_task_code(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(coding), begin, clear);
}
