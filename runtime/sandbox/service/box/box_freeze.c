/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "sandbox/service/box/box_parts.h"

/*
 * By control group where there is one: the kernel stops all at once, the agent
 * too, and is asked until it has. Else the agent stops all but itself.
 */

static int64_t now_ms(void)
{
    return ebb_clock_steady_ms(ebb_clock_real());
}

static void finish(ebb_box *box, const ebb_err *err)
{
    ebb_box_done_fn *done = box->freeze_done;

    box->freeze_done = NULL;
    if (done != NULL)
        done(box->freeze_context, err);
}

static void poll(void *context)
{
    ebb_box *box = context;
    ebb_err err;

    if (box->freeze_done == NULL)
        return;
    if (box->state != EBB_BOX_READY) {
        ebb_err_set(&err, EBB_SANDBOX_NOT_RUNNING,
                    "sandbox %s is not running", box->config.id);
        finish(box, &err);
    } else if (box->freeze_err.code != EBB_OK) {
        finish(box, &box->freeze_err);
    } else if (ebb_limits_is_frozen(&box->limits, box->freezing)) {
        finish(box, NULL);
    } else if (now_ms() - box->freeze_ms > EBB_BOX_FREEZE_MS) {
        /* Half frozen is neither: back to running. */
        if (box->freezing)
            (void)ebb_limits_freeze(&box->limits, false, &err);
        ebb_err_set(&err, EBB_TIMEOUT,
                    "a process of sandbox %s did not stop within %d ms",
                    box->config.id, EBB_BOX_FREEZE_MS);
        finish(box, &err);
    } else {
        ebb_loop_timer_start(box->freeze_timer, EBB_BOX_POLL_MS);
    }
}

void ebb_box_freeze_end(ebb_box *box)
{
    poll(box);
    ebb_loop_defer_cancel(box->loop, poll, box);
}

static void by_agent(ebb_box *box, bool frozen, ebb_box_done_fn *done,
                     void *context)
{
    ebb_box_request *request =
        ebb_box_request_new(frozen ? EBB_AGENT_STOP : EBB_AGENT_CONT,
                            frozen ? "freeze" : "thaw", context);
    ebb_agent_head head = { .count = 0 };
    ebb_err err;

    if (request == NULL) {
        ebb_err_set(&err, EBB_NO_MEMORY, "freeze");
        done(context, &err);
        return;
    }
    request->fn.done = done;
    ebb_box_request_start(box, request, &head, NULL, NULL, 0);
}

static void begin(ebb_box *box, bool frozen, ebb_box_done_fn *done,
                  void *context)
{
    if (!ebb_limits_can_freeze(&box->limits) ||
        box->state != EBB_BOX_READY) {
        by_agent(box, frozen, done, context);
        return;
    }
    if (box->freeze_timer == NULL)
        box->freeze_timer = ebb_loop_timer_new(box->loop, poll, box);
    box->freeze_err.code = EBB_OK;
    if (box->freeze_timer == NULL)
        ebb_err_set(&box->freeze_err, EBB_NO_MEMORY, "freeze");
    else
        (void)ebb_limits_freeze(&box->limits, frozen, &box->freeze_err);
    box->freezing = frozen;
    box->freeze_done = done;
    box->freeze_context = context;
    box->freeze_ms = now_ms();
    if (ebb_loop_defer(box->loop, poll, box) < 0)
        poll(box); /* no memory to wait with */
}

void ebb_box_freeze(ebb_box *box, ebb_box_done_fn *done, void *context)
{
    begin(box, true, done, context);
}

void ebb_box_thaw(ebb_box *box, ebb_box_done_fn *done, void *context)
{
    begin(box, false, done, context);
}
