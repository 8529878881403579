/* SPDX-License-Identifier: MIT */

/* What the journal is told of one step, and its answers. */

#include "workflow/flow_private.h"

#include <string.h>

#include "base/crash.h"
#include "base/mem.h"
#include "task/error_object.h"

bool ebb_flow_answered(ebb_flow *flow)
{
    flow->writing--;
    if (!flow->closed)
        return true;
    if (flow->writing == 0) {
        flow->closed = false;
        ebb_flow_close(flow);
    }
    return false;
}

/* The one answer that a step may wait for. */
static void answer(void *context, const ebb_err *err)
{
    ebb_flow_step *step = context;
    ebb_flow_written_fn *written = step->written;

    if (!ebb_flow_answered(step->flow))
        return;
    if (err != NULL)
        ebb_flow_stop(step->flow, err, NULL);
    step->written = NULL;
    if (written != NULL)
        written(step, err);
}

/* The journal did not take the job: answered in a turn of its own. */
static void refused(void *context)
{
    ebb_flow_step *step = context;

    step->in_turn = false;
    answer(step, &step->flow->stop);
}

void ebb_flow_cancel_refusal(ebb_flow_step *step)
{
    ebb_loop_defer_cancel(step->flow->loop, refused, step);
    if (step->in_turn && step->written != NULL)
        step->flow->writing--;
}

static void refuse(ebb_flow_step *step, const ebb_err *err)
{
    ebb_flow_stop(step->flow, err, NULL);
    step->in_turn = true;
    if (ebb_loop_defer(step->flow->loop, refused, step) < 0)
        refused(step); /* no memory to wait for the next turn */
}

static ebb_journal_step row_of(const ebb_flow_step *step)
{
    return (ebb_journal_step){
        .path = step->path,
        .name = step->name,
        .step_class = ebb_retry_class_name(step->retry_class),
        .digest = step->digest,
        .input = step->input,
        .input_bytes = step->input != NULL ? strlen(step->input) : 0,
        .wake_ms = step->wake_ms,
    };
}

static void intent_is_written(void *context, const ebb_err *err)
{
    ebb_flow_step *step = context;

    ebb_crash_at(EBB_CRASH_INTENT_DONE);
    step->intended = err == NULL;
    answer(step, err);
}

void ebb_flow_record_intent(ebb_flow_step *step, ebb_flow_written_fn *done)
{
    ebb_flow *flow = step->flow;
    ebb_journal_step row = row_of(step);
    ebb_journal_done to = { done != NULL ? intent_is_written : NULL, step };
    ebb_err err = { 0 };

    ebb_crash_at(EBB_CRASH_INTENT);
    if (done != NULL) {
        step->written = done;
        flow->writing++;
    }
    if (flow->stopped)
        refuse(step, &flow->stop);
    else if (ebb_journal_add_intent(flow->journal, &flow->run->claim, &row, to,
                                    &err) < 0 &&
             done != NULL)
        refuse(step, &err);
}

static void attempt_is_written(void *context, const ebb_err *err)
{
    ebb_crash_at(EBB_CRASH_ATTEMPT_DONE);
    answer(context, err);
}

void ebb_flow_record_attempt(ebb_flow_step *step, const ebb_err *why,
                             ebb_flow_written_fn *done)
{
    ebb_flow *flow = step->flow;
    ebb_value *object =
        ebb_error_object(step->name, NULL, why, step->attempts, NULL);
    size_t n = 0;
    char *text =
        object != NULL ? ebb_value_write(object, EBB_WRITE_COMPACT, &n) : NULL;
    ebb_journal_done to = { attempt_is_written, step };
    ebb_journal_step row = { .path = step->path,
                             .attempts = step->attempts,
                             .attempt_error = text,
                             .attempt_error_bytes = n,
                             .next_attempt_ms = step->next_ms };
    ebb_err err = { 0 };

    ebb_crash_at(EBB_CRASH_ATTEMPT);
    step->written = done;
    flow->writing++;
    if (flow->stopped)
        refuse(step, &flow->stop);
    else if (ebb_journal_add_attempt(flow->journal, &flow->run->claim, &row,
                                     to, &err) < 0)
        refuse(step, &err);
    ebb_mem_free(text);
    ebb_value_free(object);
}

static void outcome_is_written(void *context, const ebb_err *err)
{
    ebb_crash_at(EBB_CRASH_OUTCOME_DONE);
    answer(context, err);
}

void ebb_flow_record_outcome(ebb_flow_step *step, const char *text, size_t n,
                             ebb_flow_written_fn *done)
{
    ebb_flow *flow = step->flow;
    ebb_journal_step row = row_of(step);
    ebb_journal_done to = { outcome_is_written, step };
    ebb_err err = { 0 };

    row.failed = step->failed;
    row.outcome = text;
    row.outcome_bytes = n;
    row.ended_ms = step->ended_ms;
    ebb_crash_at(EBB_CRASH_OUTCOME);
    step->written = done;
    flow->writing++;
    if (ebb_journal_add_outcome(flow->journal, &flow->run->claim, &row, to,
                                &err) < 0)
        refuse(step, &err);
}

static void outcome_is_found(void *context, const char *json, size_t n,
                             const ebb_err *err)
{
    ebb_flow_step *step = context;

    if (err == NULL)
        step->outcome = ebb_mem_dup_n(json, n);
    answer(step, err);
}

void ebb_flow_fetch_outcome(ebb_flow_step *step, ebb_flow_written_fn *done)
{
    ebb_flow *flow = step->flow;
    ebb_err err = { 0 };

    step->written = done;
    flow->writing++;
    if (ebb_journal_find_outcome(flow->journal, &flow->run->claim, step->path,
                                 outcome_is_found, step, &err) < 0)
        refuse(step, &err);
}
