/* SPDX-License-Identifier: MIT */

/* Durable runs for hosts: one open run, and the steps a host runs itself. */

#include "ebb_op.h"
#include "ebb_run_private.h"

#include <string.h>

#include "base/crash.h"
#include "base/id.h"

/* What is in flight is given this long to end when its run closes. */
#define CLOSE_MS 3000
#define CLOSE_TURN_MS 50

struct ebb_step {
    ebb_run *run;
    ebb_step *next;
    ebb_flow_step *step;
    bool given; /* to the host, to be run */
    ebb_step_fn *fn;
    void (*end_fn)(void *context, const ebb_err *err);
    void *context;
};

void ebb_run_config_init(ebb_run_config *config)
{
    *config = (ebb_run_config){ .size = sizeof *config };
}

/* ---- open and close ---- */

static int fill_claim(ebb_flow_config *flow, const ebb_run_config *config,
                      char **args, ebb_err *err)
{
    ebb_journal_claim_config *claim = &flow->claim;

    claim->id = config->id;
    claim->script = config->script;
    claim->script_sha256 = config->script_sha256;
    claim->resume = config->resume;
    claim->take_over = config->take_over;
    flow->force = config->force;
    if (config->args != NULL) {
        *args = ebb_value_write(config->args, EBB_WRITE_COMPACT, NULL);
        if (*args == NULL)
            return ebb_err_set(err, EBB_NO_MEMORY, "open a run");
        claim->args = *args;
    }
    return 0;
}

static int open_flow(ebb_run *run, const ebb_run_config *config, ebb_err *err)
{
    ebb_flow_config flow = { .loop = run->rt->loop,
                             .clock = run->rt->clock,
                             .journal = ebb_runtime_journal(run->rt, err) };
    char id[EBB_RUN_ID_BYTES];
    char *args = NULL;

    if (flow.journal == NULL)
        return -1;
    if (fill_claim(&flow, config, &args, err) < 0)
        return -1;
    if (flow.claim.id == NULL) {
        if (ebb_id_random(id, sizeof id, err) < 0) {
            ebb_mem_free(args);
            return -1;
        }
        flow.claim.id = id;
    }
    run->flow = ebb_flow_open(&flow, err);
    ebb_mem_free(args);
    return run->flow != NULL ? 0 : -1;
}

ebb_run *ebb_run_open(ebb_runtime *rt, const ebb_run_config *config,
                      ebb_err *err)
{
    ebb_run_config copy = { 0 };
    ebb_run *run;

    if (config->size == 0 || config->size > sizeof copy) {
        ebb_err_set(err, EBB_INVALID_INPUT,
                    "ebb_run_config: call ebb_run_config_init first");
        return NULL;
    }
    memcpy(&copy, config, config->size);
    run = ebb_mem_zero(sizeof *run);
    if (run == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "open a run");
        return NULL;
    }
    run->rt = rt;
    if (open_flow(run, &copy, err) < 0) {
        ebb_mem_free(run);
        return NULL;
    }
    run->next = rt->runs;
    rt->runs = run;
    return run;
}

/* Lets what is in flight end; nothing of it is recorded. */
static void drain(ebb_run *run)
{
    int64_t end = ebb_clock_steady_ms(run->rt->clock) + CLOSE_MS;
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_CANCELLED, "run %s was closed",
                ebb_flow_id(run->flow));
    ebb_flow_give_up(run->flow, &err);
    ebb_run_ops_cancel(run);
    while (ebb_run_has_ops(run) && !ebb_loop_is_hosted(run->rt->loop) &&
           ebb_clock_steady_ms(run->rt->clock) < end) {
        ebb_flow_idle(run->flow);
        ebb_loop_run(run->rt->loop, CLOSE_TURN_MS);
    }
    ebb_run_ops_drop(run);
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

void ebb_run_close(ebb_run *run)
{
    ebb_run **link;

    if (run == NULL)
        return;
    if (ebb_run_has_ops(run))
        drain(run);
    link = &run->rt->runs;
    while (*link != run)
        link = &(*link)->next;
    *link = run->next;
    ebb_flow_close(run->flow);
    while (run->steps != NULL) {
        ebb_step *step = run->steps;
        run->steps = step->next;
        end_step(step);
    }
    ebb_mem_free(run);
}

/* ---- what it is ---- */

const char *ebb_run_id(const ebb_run *run)
{
    return ebb_flow_id(run->flow);
}

ebb_run_state ebb_run_get_state(const ebb_run *run)
{
    switch (ebb_flow_state(run->flow)) {
    case EBB_JOURNAL_ACTIVE:
        return EBB_RUN_ACTIVE;
    case EBB_JOURNAL_DONE:
        return EBB_RUN_DONE;
    case EBB_JOURNAL_CANCELLED:
        return EBB_RUN_CANCELLED;
    default:
        return EBB_RUN_FAILED;
    }
}

const ebb_value *ebb_run_outcome(const ebb_run *run)
{
    return ebb_flow_outcome(run->flow);
}

bool ebb_run_script_changed(const ebb_run *run)
{
    return ebb_flow_script_changed(run->flow);
}

void ebb_run_sha256(const void *bytes, size_t n, char hex[65])
{
    ebb_digest_hex(bytes, n, hex);
}

int64_t ebb_run_time_ms(const ebb_run *run)
{
    return ebb_flow_time_ms(run->flow);
}

uint64_t ebb_run_seed(const ebb_run *run, const char *path)
{
    return ebb_flow_seed(run->flow, path);
}

/*
 * A run that was lost sleeps no longer; what executes is left alone, since to
 * stop it would be an effect of somebody who owns nothing.
 */
bool ebb_run_cancel_requested(const ebb_run *run)
{
    return ebb_flow_cancel_requested(run->flow) ||
           (ebb_flow_is_lost(run->flow) && !ebb_run_has_ops(run));
}

void ebb_run_note_raw_order(ebb_run *run)
{
    ebb_flow_note_raw_order(run->flow);
}

void ebb_run_idle(ebb_run *run)
{
    ebb_flow_idle(run->flow);
}

int ebb_run_end(ebb_run *run, ebb_run_state state, const ebb_value *outcome,
                void (*done)(void *context, const ebb_err *err),
                void *context, ebb_err *err)
{
    static const ebb_journal_state states[] = {
        [EBB_RUN_DONE] = EBB_JOURNAL_DONE,
        [EBB_RUN_FAILED] = EBB_JOURNAL_FAILED,
        [EBB_RUN_CANCELLED] = EBB_JOURNAL_CANCELLED,
    };

    if (state <= EBB_RUN_ACTIVE || state > EBB_RUN_CANCELLED)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "ebb_run_end: a run ends as done, failed or "
                           "cancelled");
    return ebb_flow_end(run->flow, states[state], outcome, done, context,
                        err);
}

/* ---- steps that the host runs ---- */

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

/* ---- the run's log ---- */

int ebb_run_log(ebb_run *run, const char *path, ebb_log_level level,
                const char *message, const ebb_value *fields)
{
    return ebb_flow_log(run->flow, path, (int)level, message, fields);
}
