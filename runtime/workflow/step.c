/* SPDX-License-Identifier: MIT */

/* One step from being asked for to its outcome. */

#include "workflow/flow_private.h"

#include <string.h>

#include "base/crash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "task/error_object.h"
#include "workflow/input.h"

static void run_now(ebb_flow_step *step)
{
    step->stage = EBB_FLOW_RUNNING;
    step->fn(step->context, step, NULL, NULL);
}

/* Ends a step that is not run with an error, which is recorded as any. */
static void end_with(ebb_flow_step *step, const ebb_err *err)
{
    ebb_err ignored = { 0 };
    ebb_value *input = NULL, *object;

    if (step->input != NULL)
        input = ebb_value_parse(step->input, strlen(step->input), 0,
                                &ignored);
    object = ebb_error_object(step->name, input, err,
                              step->intended ? step->attempts + 1 : 0, NULL);
    ebb_value_free(input);
    ebb_flow_step_finish(step, true, object, step->fn, step->context);
}

static void end_unknown(ebb_flow_step *step)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_OUTCOME_UNKNOWN,
                "step %s (%s) had begun when its process ended: it may have "
                "run, and is not run again",
                step->path, step->name);
    end_with(step, &err);
}

static void end_cancelled(ebb_flow_step *step)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_CANCELLED, "%s was cancelled", step->name);
    end_with(step, &err);
}

static void intent_is_recorded(ebb_flow_step *step, const ebb_err *err)
{
    if (err != NULL)
        ebb_flow_ready(step); /* the run has stopped */
    else if (step->cancelled)
        end_cancelled(step);
    else
        run_now(step);
}

static void run_if_wanted(void *context)
{
    ebb_flow_step *step = context;

    step->in_turn = false;
    if (step->cancelled)
        end_cancelled(step);
    else
        run_now(step);
}

static void run_soon(ebb_flow_step *step)
{
    step->stage = EBB_FLOW_STARTING;
    step->in_turn = true;
    if (ebb_loop_defer(step->flow->loop, run_if_wanted, step) < 0)
        run_if_wanted(step); /* no memory to wait for the next turn */
}

void ebb_flow_step_cancel_run(ebb_flow_step *step)
{
    ebb_loop_defer_cancel(step->flow->loop, run_if_wanted, step);
}

void ebb_flow_step_start(ebb_flow_step *step)
{
    ebb_flow *flow = step->flow;

    if (flow->stopped) {
        ebb_flow_ready(step);
    } else if (step->intended && step->retry_class == EBB_RETRY_NONE &&
               !flow->force) {
        end_unknown(step);
    } else if (step->cancelled) {
        end_cancelled(step);
    } else if (step->intent_later) {
        run_soon(step);
    } else if (step->retry_class == EBB_RETRY_READ) {
        /* Nothing waits for its row: a failure shows at the outcome. */
        ebb_flow_record_intent(step, NULL);
        run_soon(step);
    } else {
        step->stage = EBB_FLOW_STARTING;
        ebb_flow_record_intent(step, intent_is_recorded);
    }
}

void ebb_flow_step_cancel(ebb_flow_step *step)
{
    if (step->recorded)
        return;
    if (step->stage == EBB_FLOW_HELD || step->stage == EBB_FLOW_STARTING)
        step->cancelled = true;
}

static void outcome_is_recorded(ebb_flow_step *step, const ebb_err *err)
{
    if (err != NULL)
        step->recorded = false;
    ebb_mem_free(step->input);
    step->input = NULL;
    ebb_flow_ready(step);
}

/* What the journal gets; a value that is too large is an error instead. */
static char *outcome_text(ebb_flow_step *step, size_t *n)
{
    char *text = ebb_value_write(step->value, EBB_WRITE_COMPACT, n);
    ebb_err err = { 0 };

    if (text == NULL || *n <= EBB_JOURNAL_JSON_BYTES_MAX)
        return text;
    ebb_err_set(&err, EBB_LIMIT_EXCEEDED,
                "step %s (%s): its result has %zu bytes as JSON, a step's "
                "result at most %d; keep it in a file and return its name",
                step->path, step->name, *n, EBB_JOURNAL_JSON_BYTES_MAX);
    ebb_mem_free(text);
    ebb_value_free(step->value);
    step->failed = step->too_large = true;
    step->value = ebb_error_object(step->name, NULL, &err, 1, NULL);
    return step->value != NULL
               ? ebb_value_write(step->value, EBB_WRITE_COMPACT, n)
               : NULL;
}

void ebb_flow_step_finish(ebb_flow_step *step, bool failed, ebb_value *value,
                          ebb_flow_step_fn *fn, void *context)
{
    ebb_flow *flow = step->flow;
    ebb_err err = { 0 };
    char *text = NULL;
    size_t n = 0;

    step->fn = fn;
    step->context = context;
    step->failed = failed;
    step->value = value;
    step->ended_ms = ebb_flow_now_ms(flow);
    step->stage = EBB_FLOW_ENDING;
    if (!flow->stopped && value != NULL)
        text = outcome_text(step, &n);
    if (!flow->stopped && text == NULL) {
        ebb_err_set(&err, EBB_NO_MEMORY, "the outcome of step %s (%s)",
                    step->path, step->name);
        ebb_flow_stop(flow, &err, NULL);
    }
    if (flow->stopped) {
        ebb_flow_ready(step);
    } else {
        step->recorded = true;
        ebb_flow_record_outcome(step, text, n, outcome_is_recorded);
    }
    ebb_mem_free(text);
}

/* ---- asking ---- */

static void fill(ebb_flow_step *step, ebb_flow *flow, const ebb_flow_ask *ask)
{
    step->flow = flow;
    step->retry_class = ask->retry_class;
    step->intent_later =
        ask->intent_later && ask->retry_class == EBB_RETRY_NONE;
    step->fn = ask->fn;
    step->context = ask->context;
    if (step->wake_ms == 0)
        step->wake_ms = ask->wake_ms;
    flow->asked++;
}

/* Takes its place at the gate. */
static void hold(ebb_flow_step *step, char *input)
{
    ebb_flow *flow = step->flow;

    ebb_mem_free(step->input);
    step->input = input;
    step->stage = EBB_FLOW_HELD;
    if (flow->stopped) {
        step->recorded = false; /* it stays in the journal */
        ebb_flow_ready(step);
    } else if (step->recorded) {
        ebb_mem_free(input); /* it matched; its turn comes */
        step->input = NULL;
    } else {
        ebb_flow_queue_add(&flow->held, step);
    }
}

static ebb_flow_step *add(ebb_flow *flow, ebb_flow_steps *steps,
                          const ebb_flow_ask *ask, const char *digest,
                          ebb_err *err)
{
    ebb_flow_step *step =
        ebb_flow_steps_add(steps, ask->path, ask->name, err);

    if (step == NULL)
        return NULL;
    memcpy(step->digest, digest, sizeof step->digest);
    fill(step, flow, ask);
    return step;
}

/* Not what was recorded there: it is answered, but with the mismatch. */
static ebb_flow_step *stray(ebb_flow *flow, const ebb_flow_step *known,
                            const ebb_flow_ask *ask, const char *digest,
                            char *input, ebb_err *err)
{
    ebb_flow_step *step = add(flow, &flow->strays, ask, digest, err);

    if (step == NULL) {
        ebb_mem_free(input);
        return NULL;
    }
    step->input = input;
    ebb_flow_mismatch(flow, known, step);
    ebb_flow_ready(step);
    return step;
}

/* What the journal would refuse later, and then stop the whole run. */
static int check_name(const char *name, ebb_err *err)
{
    size_t n = strlen(name);

    if (n == 0 || n > EBB_JOURNAL_NAME_BYTES_MAX)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "a step's name has 1 to %d bytes, this one %zu: "
                           "%.64s",
                           EBB_JOURNAL_NAME_BYTES_MAX, n, name);
    if (!ebb_utf8_valid(name, n))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "a step's name is UTF-8, this one is not");
    return 0;
}

static int check_input(const ebb_flow_ask *ask, const char *input,
                       ebb_err *err)
{
    size_t n = strlen(input);

    if (n <= EBB_JOURNAL_JSON_BYTES_MAX)
        return 0;
    return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                       "step %s (%s): its input has %zu bytes as JSON, at "
                       "most %d can be recorded",
                       ask->path, ask->name, n, EBB_JOURNAL_JSON_BYTES_MAX);
}

static int check(const ebb_flow *flow, const ebb_flow_ask *ask, ebb_err *err)
{
    const ebb_flow_step *known = ebb_flow_steps_find(&flow->steps, ask->path);
    size_t n = strlen(ask->path);

    if (n == 0 || n > EBB_FLOW_PATH_BYTES_MAX)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s: a step's path has 1 to %d bytes", ask->name,
                           EBB_FLOW_PATH_BYTES_MAX);
    if (check_name(ask->name, err) < 0)
        return -1;
    if (flow->ending || flow->state != EBB_JOURNAL_ACTIVE)
        return ebb_err_set(err, EBB_CONFLICT, "run %s has ended",
                           flow->run->id);
    if (known != NULL && known->stage != EBB_FLOW_KNOWN && !flow->stopped)
        return ebb_err_set(err, EBB_CONFLICT,
                           "step %s was asked for already in this run",
                           ask->path);
    return 0;
}

ebb_flow_step *ebb_flow_step_ask(ebb_flow *flow, const ebb_flow_ask *ask,
                                 ebb_err *err)
{
    ebb_flow_step *known, *step;
    char digest[EBB_SHA256_HEX];
    char *input;

    if (check(flow, ask, err) < 0)
        return NULL;
    input = ebb_flow_input(ask->input, digest);
    if (input == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "step %s", ask->path);
        return NULL;
    }
    if (check_input(ask, input, err) < 0) {
        ebb_mem_free(input);
        return NULL;
    }
    known = ebb_flow_steps_find(&flow->steps, ask->path);
    if (known != NULL && (known->stage != EBB_FLOW_KNOWN ||
                          strcmp(known->name, ask->name) != 0 ||
                          strcmp(known->digest, digest) != 0))
        return stray(flow, known, ask, digest, input, err);
    step = known;
    if (step != NULL)
        fill(step, flow, ask);
    else
        step = add(flow, &flow->steps, ask, digest, err);
    if (step == NULL)
        ebb_mem_free(input);
    else
        hold(step, input);
    return step;
}

/* ---- while it runs ---- */

static void noted(ebb_flow_step *step, const ebb_err *err)
{
    step->noted(step->noted_context, err);
}

void ebb_flow_step_intend(ebb_flow_step *step,
                          void (*done)(void *context, const ebb_err *err),
                          void *context)
{
    step->noted = done;
    step->noted_context = context;
    ebb_flow_record_intent(step, noted);
}

void ebb_flow_step_retry(ebb_flow_step *step, int attempts, int64_t next_ms,
                         const ebb_err *why,
                         void (*done)(void *context, const ebb_err *err),
                         void *context)
{
    step->noted = done;
    step->noted_context = context;
    step->attempts = attempts;
    step->next_ms = next_ms;
    ebb_flow_record_attempt(step, why, noted);
}
