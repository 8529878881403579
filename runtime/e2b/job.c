/* SPDX-License-Identifier: MIT */
#include "e2b/job.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "e2b/connection.h"
#include "e2b/errors.h"
#include "e2b/state.h"

static void job_free(ebb_e2b_job *job)
{
    ebb_e2b_place_leave(job);
    ebb_e2b_transfer_cancel(job->transfer);
    ebb_e2b_connect_leave(job);
    if (job->clear != NULL)
        job->clear(job);
    ebb_e2b_target_clear(&job->target);
    ebb_mem_free(job);
}

static void cancel(ebb_attempt *attempt)
{
    ebb_e2b_job *job = attempt->state;
    ebb_err err = { 0 };

    if (job->cancel != NULL) {
        job->cancel(job);
        return;
    }
    ebb_err_set(&err, EBB_CANCELLED, "the call was cancelled");
    ebb_e2b_job_fail(job, &err, NULL);
}

void ebb_e2b_job_start(ebb_attempt *attempt, size_t size, ebb_e2b_job_fn *begin,
                       ebb_e2b_job_fn *clear)
{
    const char *id = ebb_value_find_string(attempt->input, "sandboxId");
    ebb_e2b_job *job = ebb_mem_zero(size);
    ebb_err err = { 0 };

    if (job == NULL) {
        ebb_err_set(&err, EBB_NO_MEMORY, "no memory for the call");
        ebb_attempt_fail(attempt, &err, NULL);
        return;
    }
    job->e2b = attempt->context;
    job->attempt = attempt;
    job->input = attempt->input;
    job->sandbox_id = id;
    snprintf(job->subject, sizeof job->subject, "sandbox%s%s", id ? " " : "",
             id ? id : "");
    job->size = size;
    job->next = begin;
    job->clear = clear;
    attempt->state = job;
    attempt->cancel = cancel;
    ebb_e2b_place_wait(job);
}

static void begin_again(ebb_e2b_job *job)
{
    if (job->clear != NULL)
        job->clear(job);
    memset((char *)job + sizeof *job, 0, job->size - sizeof *job);
    job->asked = 0;
    job->begun_again = true;
    job->listing = NULL;
    job->cancel = NULL;
    job->details = NULL;
    ebb_e2b_place_wait(job);
}

bool ebb_e2b_job_begin_again(ebb_e2b_job *job, const ebb_e2b_transfer *transfer,
                             const ebb_err *failure)
{
    ebb_e2b_jobs all = { NULL };

    if (failure->code != EBB_NETWORK || job->asked != 1 || job->begun_again ||
        job->allowed || job->e2b->place.socket_path == NULL ||
        ebb_e2b_transfer_was_sent(transfer))
        return false;
    ebb_e2b_share_take(job, &all);
    ebb_e2b_share_add(&all, job);
    while ((job = ebb_e2b_share_next(&all)) != NULL)
        if (job->allowed) /* it has been there before: not all over again */
            ebb_e2b_job_fail(job, failure, NULL);
        else
            begin_again(job);
    return true;
}

void ebb_e2b_job_finish(ebb_e2b_job *job, ebb_value *result)
{
    ebb_attempt *attempt = job->attempt;

    job_free(job);
    ebb_attempt_finish(attempt, result);
}

void ebb_e2b_job_fail(ebb_e2b_job *job, const ebb_err *err, ebb_value *details)
{
    ebb_attempt *attempt = job->attempt;
    ebb_err copy = *err; /* it may live in what is freed here */

    ebb_e2b_error_redact(job, copy.msg);
    if (details == NULL && job->details != NULL)
        details = job->details(job);
    job_free(job);
    ebb_attempt_fail(attempt, &copy, details);
}

void ebb_e2b_job_no_memory(ebb_e2b_job *job)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_NO_MEMORY, "no memory for the call");
    ebb_e2b_job_fail(job, &err, NULL);
}

static void proceed(ebb_attempt *attempt)
{
    ebb_e2b_job *job = attempt->state;

    job->allowed = true;
    ebb_e2b_transfer_continue(job->transfer);
}

void ebb_e2b_job_before_body(void *context)
{
    ebb_e2b_job *job = context;

    if (job->allowed)
        proceed(job->attempt);
    else
        ebb_attempt_before_effect(job->attempt, proceed);
}

int64_t ebb_e2b_job_now(const ebb_e2b_job *job)
{
    return ebb_clock_steady_ms(job->attempt->clock);
}
