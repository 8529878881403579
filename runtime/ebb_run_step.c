/* SPDX-License-Identifier: MIT */

/* Steps that a host runs itself: its own functions, sleeps, combinators. */

#include "ebb_run_private.h"

#include "base/crash.h"

struct ebb_step {
    ebb_run *run;
    ebb_step *next;
    ebb_flow_step *step;
    bool given; /* to the host, to be run */
    ebb_step_fn *fn;
    void (*end_fn)(void *context, const ebb_err *err);
    void *context;
};

static void free_step(ebb_step *step)
{
    ebb_step **link = &step->run->steps;

    while (*link != step)
        link = &(*link)->next;
    *link = step->next;
    ebb_mem_free(step);
}

static void on_step(void *context, ebb_flow_step *run, ebb_value *out,
                    const ebb_err *err)
{
    ebb_step *step = context;
    ebb_step_fn *fn = step->fn;
    void *fn_context = step->context;

    if (run != NULL) {
        step->given = true;
        fn(fn_context, step, run->wake_ms, NULL, NULL);
        return;
    }
    free_step(step);
    fn(fn_context, NULL, 0, out, err);
}

static int read_class(const char *name, ebb_retry_class *retry_class,
                      ebb_err *err)
{
    if (name == NULL || ebb_retry_class_find(name, retry_class) == 0)
        return 0;
    return ebb_err_set(err, EBB_INVALID_INPUT,
                       "unknown class '%s' (lifecycle, read or none)", name);
}

ebb_step *ebb_step_begin(ebb_run *run, const ebb_step_config *config,
                         ebb_step_fn *fn, void *context, ebb_err *err)
{
    ebb_flow_ask ask = { .path = config->path,
                         .name = config->name,
                         .retry_class = EBB_RETRY_NONE,
                         .input = config->input,
                         .wake_ms = config->wake_ms,
                         .fn = on_step };
    ebb_step *step;

    if (read_class(config->step_class, &ask.retry_class, err) < 0)
        return NULL;
    step = ebb_mem_zero(sizeof *step);
    if (step == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "step %s", config->path);
        return NULL;
    }
    step->run = run;
    step->fn = fn;
    step->context = context;
    ask.context = step;
    step->step = ebb_flow_step_ask(run->flow, &ask, err);
    if (step->step == NULL) {
        ebb_mem_free(step);
        return NULL;
    }
    step->next = run->steps;
    run->steps = step;
    return step;
}

void ebb_step_cancel(ebb_step *step)
{
    ebb_flow_step_cancel(step->step);
}

/* err of an outcome that is an error itself is not a failure to record it. */
static void on_end(void *context, ebb_flow_step *run, ebb_value *out,
                   const ebb_err *err)
{
    ebb_step *step = context;
    void (*fn)(void *, const ebb_err *) = step->end_fn;
    void *fn_context = step->context;
    bool as_given = step->step->recorded && !step->step->too_large;

    (void)run;
    ebb_crash_at(EBB_CRASH_COMBINATOR_DONE);
    ebb_value_free(out);
    free_step(step);
    fn(fn_context, as_given ? NULL : err);
}

void ebb_step_end(ebb_step *step, const ebb_value *result,
                  const ebb_value *error,
                  void (*done)(void *context, const ebb_err *err),
                  void *context)
{
    const ebb_value *value = error != NULL ? error : result;

    ebb_crash_at(EBB_CRASH_COMBINATOR);
    step->end_fn = done;
    step->context = context;
    ebb_flow_step_finish(step->step, error != NULL,
                         value != NULL ? ebb_value_copy(value)
                                       : ebb_value_null(),
                         on_end, step);
}

/* Whoever waits for a step hears that nothing comes any more. */
static void end_step(ebb_step *step)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_CANCELLED, "the run was closed");
    if (step->end_fn != NULL)
        step->end_fn(step->context, &err);
    else if (!step->given)
        step->fn(step->context, NULL, 0, NULL, &err);
    ebb_mem_free(step);
}

void ebb_run_steps_drop(ebb_run *run)
{
    while (run->steps != NULL) {
        ebb_step *step = run->steps;
        run->steps = step->next;
        end_step(step);
    }
}
