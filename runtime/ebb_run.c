/* SPDX-License-Identifier: MIT */

/* Durable runs for hosts: one open run. */

#include "ebb_op.h"
#include "ebb_run_private.h"

#include <string.h>

#include "base/id.h"

/* What is in flight is given this long to end when its run closes. */
#define CLOSE_MS 3000
#define CLOSE_TURN_MS 50

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
    claim->interrupted = config->interrupted;
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

void ebb_run_give_up(ebb_run *run)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_CANCELLED, "run %s was given up",
                ebb_flow_id(run->flow));
    ebb_flow_give_up(run->flow, &err);
}

/* Lets what is in flight end; nothing of it is recorded. */
static void drain(ebb_run *run)
{
    int64_t end = ebb_clock_steady_ms(run->rt->clock) + CLOSE_MS;

    ebb_run_give_up(run);
    ebb_run_ops_cancel(run);
    while (ebb_run_has_ops(run) && !ebb_loop_is_hosted(run->rt->loop) &&
           ebb_clock_steady_ms(run->rt->clock) < end) {
        ebb_flow_idle(run->flow);
        ebb_loop_run(run->rt->loop, CLOSE_TURN_MS);
    }
    ebb_run_ops_drop(run);
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
    ebb_run_steps_drop(run);
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

bool ebb_run_args_changed(const ebb_run *run)
{
    return ebb_flow_args_changed(run->flow);
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

/* ---- the run's log ---- */

int ebb_run_log(ebb_run *run, const char *path, ebb_log_level level,
                const char *message, const ebb_value *fields)
{
    return ebb_flow_log(run->flow,
                        (ebb_journal_line){ .path = path,
                                            .level = (int)level,
                                            .message = message },
                        fields);
}
