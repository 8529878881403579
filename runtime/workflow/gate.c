/* SPDX-License-Identifier: MIT */

/* The order in which outcomes reach whoever asked, first time or again. */

#include "workflow/flow_private.h"

#include <string.h>

#include "base/crash.h"
#include "base/mem.h"
#include "task/error_object.h"

/* The recorded outcome as a value; NULL: damaged, the run is stopped. */
static ebb_value *take_outcome(ebb_flow_step *step)
{
    ebb_value *out = step->value;
    ebb_err err = { 0 };

    if (out == NULL && step->outcome != NULL)
        out = ebb_value_parse(step->outcome, strlen(step->outcome), 0, &err);
    ebb_mem_free(step->outcome);
    step->outcome = NULL;
    step->value = NULL;
    if (out == NULL) {
        ebb_err_set(&err, EBB_JOURNAL,
                    "run %s, step %s (%s): its recorded outcome is damaged; "
                    "`ebb doctor` looks at every row",
                    step->flow->run->id, step->path, step->name);
        ebb_flow_stop(step->flow, &err, NULL);
    }
    return out;
}

static ebb_value *stop_outcome(const ebb_flow_step *step)
{
    const ebb_flow *flow = step->flow;

    if (flow->stop_object != NULL)
        return ebb_value_copy(flow->stop_object);
    return ebb_error_object(step->name, NULL, &flow->stop, step->attempts,
                            NULL);
}

static void deliver(void *context)
{
    ebb_flow *flow = context;
    ebb_flow_step *step = flow->delivering;
    ebb_value *out = NULL;
    ebb_err err = { 0 };

    ebb_crash_at(EBB_CRASH_DELIVER);
    flow->delivering = NULL;
    if (step->recorded)
        out = take_outcome(step);
    if (out == NULL) {
        err = flow->stop;
        out = stop_outcome(step);
    } else {
        flow->time_ms = step->ended_ms;
        if (step->failed)
            ebb_error_from_object(out, &err);
    }
    step->stage = EBB_FLOW_DELIVERED;
    flow->asked--;
    step->fn(step->context, NULL, out, err.code != EBB_OK ? &err : NULL);
}

static void deliver_soon(ebb_flow *flow, ebb_flow_step *step)
{
    flow->delivering = step;
    if (ebb_loop_defer(flow->loop, deliver, flow) < 0)
        deliver(flow); /* no memory to wait for the next turn */
}

static void fetched(ebb_flow_step *step, const ebb_err *err)
{
    if (err != NULL)
        step->recorded = false;
    deliver(step->flow);
}

/* Nothing runs yet; the next recorded outcome's turn, if it was asked for. */
static void replay_next(ebb_flow *flow)
{
    ebb_flow_step *next = flow->recorded[flow->delivered];

    if (next->stage == EBB_FLOW_HELD) {
        flow->delivered++;
        next->stage = EBB_FLOW_READY;
        if (next->outcome != NULL) {
            deliver_soon(flow, next);
        } else {
            flow->delivering = next;
            ebb_flow_fetch_outcome(next, fetched);
        }
        return;
    }
    if (flow->asked > 0)
        ebb_flow_mismatch(flow, next, flow->held.first);
}

bool ebb_flow_is_replaying(const ebb_flow *flow)
{
    return !flow->stopped && flow->delivered < flow->recorded_count;
}

void ebb_flow_idle(ebb_flow *flow)
{
    ebb_flow_step *step;

    if (flow->delivering != NULL)
        return;
    if (ebb_flow_is_replaying(flow)) {
        replay_next(flow);
        if (!flow->stopped)
            return;
    }
    step = ebb_flow_queue_take(&flow->ready);
    if (step != NULL)
        deliver_soon(flow, step);
    while ((step = ebb_flow_queue_take(&flow->held)) != NULL)
        ebb_flow_step_start(step);
}

void ebb_flow_ready(ebb_flow_step *step)
{
    step->stage = EBB_FLOW_READY;
    ebb_flow_queue_add(&step->flow->ready, step);
    ebb_loop_wake(step->flow->loop);
}

void ebb_flow_stop(ebb_flow *flow, const ebb_err *err, ebb_value *object)
{
    ebb_flow_step *step;

    if (flow->stopped) {
        ebb_value_free(object);
        return;
    }
    flow->stopped = true;
    flow->stop = *err;
    flow->stop_object = object;
    for (size_t i = 0; i < flow->steps.count; i++) {
        step = flow->steps.all[i];
        if (step->stage != EBB_FLOW_HELD || !step->recorded)
            continue;
        step->recorded = false; /* it stays in the journal */
        ebb_flow_ready(step);
    }
    while ((step = ebb_flow_queue_take(&flow->held)) != NULL)
        ebb_flow_ready(step);
}

void ebb_flow_cancel_turns(ebb_flow *flow)
{
    ebb_loop_defer_cancel(flow->loop, deliver, flow);
    for (size_t i = 0; i < flow->steps.count; i++)
        if (flow->steps.all[i]->in_turn) {
            ebb_flow_cancel_refusal(flow->steps.all[i]);
            ebb_flow_step_cancel_run(flow->steps.all[i]);
            flow->steps.all[i]->in_turn = false;
        }
}

int64_t ebb_flow_now_ms(const ebb_flow *flow)
{
    int64_t now = ebb_clock_wall_ms(flow->clock);

    return now > flow->time_ms ? now : flow->time_ms;
}
