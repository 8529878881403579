/* SPDX-License-Identifier: MIT */

/* An open run as a whole: opened, watched, ended, closed. */

#include "workflow/flow_private.h"

#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/mem.h"
#include "base/utf8.h"

#define POLL_MS 500 /* for a cancel or a take-over by another process */

static void poll_is_answered(void *context, const ebb_err *err)
{
    ebb_flow *flow = context;

    if (!ebb_flow_answered(flow))
        return;
    if (err != NULL && err->code == EBB_CANCELLED)
        flow->cancel_requested = true;
    else if (err != NULL && err->code == EBB_LOST_OWNERSHIP)
        ebb_flow_stop(flow, err, NULL);
    /* A file that is locked for a while is no reason to stop. */
    ebb_loop_timer_start(flow->poll, POLL_MS);
    if (err != NULL)
        ebb_loop_wake(flow->loop);
}

static void poll_claim(void *context)
{
    ebb_flow *flow = context;
    ebb_err ignored = { 0 };

    if (flow->stopped || flow->ending)
        return;
    flow->writing++;
    if (ebb_journal_poll(flow->journal, &flow->run->claim,
                         (ebb_journal_done){ poll_is_answered, flow },
                         &ignored) == 0)
        return;
    flow->writing--;
    ebb_loop_timer_start(flow->poll, POLL_MS);
}

static void free_flow(ebb_flow *flow)
{
    ebb_loop_timer_free(flow->poll);
    ebb_flow_steps_clear(&flow->steps);
    ebb_flow_steps_clear(&flow->strays);
    ebb_mem_free(flow->recorded);
    ebb_mem_free(flow->backend);
    ebb_value_free(flow->outcome);
    ebb_value_free(flow->stop_object);
    ebb_journal_run_free(flow->run);
    ebb_mem_free(flow);
}

static int read_outcome(ebb_flow *flow, const ebb_journal_run *run,
                        ebb_err *err)
{
    if (run == NULL || run->outcome == NULL || flow->outcome != NULL)
        return 0;
    flow->outcome = ebb_value_parse(run->outcome, run->outcome_bytes, 0, err);
    if (flow->outcome != NULL)
        return 0;
    return ebb_err_set(err, EBB_JOURNAL,
                       "run %s: its recorded end is damaged; `ebb doctor` "
                       "looks at every row",
                       run->id);
}

/* What a run ended with is gone once it is claimed to be resumed. */
static int read_end(ebb_flow *flow, const char *id, ebb_err *err)
{
    ebb_err none = { 0 };
    ebb_journal_run *run = ebb_journal_get_run(flow->journal, id, &none);
    int result = read_outcome(flow, run, err);

    ebb_journal_run_free(run);
    return result;
}

static int open_claimed(ebb_flow *flow, const ebb_flow_config *config,
                        ebb_err *err)
{
    const ebb_journal_run *run = flow->run;
    const char *now = config->claim.script_sha256;

    flow->state = run->claim.run != 0 ? EBB_JOURNAL_ACTIVE : run->state;
    flow->time_ms = run->started_ms;
    flow->raw_order = run->raw_order;
    flow->cancel_requested = run->cancel_asked;
    flow->args_changed = config->claim.args != NULL && run->args != NULL &&
                         strcmp(config->claim.args, run->args) != 0;
    flow->script_changed = now != NULL && run->script_sha256 != NULL &&
                           strcmp(now, run->script_sha256) != 0;
    if (read_outcome(flow, run, err) < 0)
        return -1;
    if (flow->state != EBB_JOURNAL_ACTIVE)
        return 0;
    flow->poll = ebb_loop_timer_new(flow->loop, poll_claim, flow);
    if (flow->poll == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "run %s", run->id);
    ebb_loop_timer_start(flow->poll, POLL_MS);
    flow->force = config->force;
    if (ebb_flow_load(flow, config->claim.resume, err) < 0)
        return -1;
    ebb_value_free(flow->outcome); /* of the end that is undone */
    flow->outcome = NULL;
    return 0;
}

ebb_flow *ebb_flow_open(const ebb_flow_config *config, ebb_err *err)
{
    ebb_flow *flow = ebb_mem_zero(sizeof *flow);

    if (flow == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "open a run");
        return NULL;
    }
    flow->loop = config->loop;
    flow->clock = config->clock;
    flow->journal = config->journal;
    if (config->claim.resume &&
        read_end(flow, config->claim.id, err) < 0) {
        free_flow(flow);
        return NULL;
    }
    ebb_crash_at(EBB_CRASH_RUN_OPEN);
    flow->run = ebb_journal_claim_run(config->journal, &config->claim, err);
    if (flow->run == NULL) {
        free_flow(flow);
        return NULL;
    }
    ebb_crash_at(EBB_CRASH_RUN_OPENED);
    if (open_claimed(flow, config, err) < 0) {
        ebb_flow_close(flow);
        return NULL;
    }
    return flow;
}

static void released(void *context, const ebb_err *err)
{
    (void)err; /* whoever claims it next sees that this process is gone */
    ebb_flow_answered(context);
}

static void release(ebb_flow *flow)
{
    ebb_err ignored = { 0 };

    if (flow->run->claim.run == 0)
        return;
    flow->writing++;
    if (ebb_journal_release(flow->journal, &flow->run->claim,
                            (ebb_journal_done){ released, flow },
                            &ignored) < 0)
        flow->writing--;
    flow->run->claim.run = 0;
}

void ebb_flow_close(ebb_flow *flow)
{
    if (flow == NULL)
        return;
    ebb_flow_cancel_turns(flow);
    if (flow->poll != NULL)
        ebb_loop_timer_cancel(flow->poll);
    release(flow);
    if (flow->writing > 0)
        flow->closed = true; /* the last answer comes back here */
    else
        free_flow(flow);
}

void ebb_flow_give_up(ebb_flow *flow, const ebb_err *err)
{
    ebb_flow_stop(flow, err, NULL);
}

/* ---- the end ---- */

static void end_is_written(void *context, const ebb_err *err)
{
    ebb_flow *flow = context;

    ebb_crash_at(EBB_CRASH_RUN_ENDED);
    if (!ebb_flow_answered(flow))
        return;
    if (err == NULL) {
        flow->state = flow->end_state;
        flow->run->claim.run = 0;
    }
    flow->end_fn(flow->end_context, err);
}

static void end_is_refused(void *context)
{
    ebb_flow *flow = context;

    flow->end_fn(flow->end_context, &flow->stop);
}

/* The end as the journal gets it; NULL: it has no room for that. */
static char *end_text(const ebb_flow *flow, const ebb_value *value,
                      ebb_err *err)
{
    size_t n = 0;
    char *text = value != NULL ? ebb_value_write(value, EBB_WRITE_COMPACT, &n)
                               : ebb_mem_dup("null");

    if (text != NULL && n <= EBB_JOURNAL_JSON_BYTES_MAX)
        return text;
    if (text == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "the end of run %s", flow->run->id);
    else
        ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                    "what run %s ended with has %zu bytes as JSON, at most %d "
                    "are kept; write it to a file and return its name",
                    flow->run->id, n, EBB_JOURNAL_JSON_BYTES_MAX);
    ebb_mem_free(text);
    return NULL;
}

int ebb_flow_end(ebb_flow *flow, ebb_journal_state state,
                 const ebb_value *value,
                 void (*done)(void *context, const ebb_err *err),
                 void *context, ebb_err *err)
{
    ebb_journal_done to = { end_is_written, flow };
    char *text;

    if (flow->ending || flow->state != EBB_JOURNAL_ACTIVE)
        return ebb_err_set(err, EBB_CONFLICT, "run %s has ended",
                           flow->run->id);
    if (ebb_flow_is_replaying(flow))
        ebb_flow_mismatch(flow, flow->recorded[flow->delivered], NULL);
    flow->end_fn = done;
    flow->end_context = context;
    flow->end_state = state;
    if (flow->stopped) {
        flow->ending = true;
        return ebb_loop_defer(flow->loop, end_is_refused, flow) == 0
                   ? 0
                   : ebb_err_set(err, EBB_NO_MEMORY, "end the run");
    }
    text = end_text(flow, value, err);
    if (text == NULL)
        return -1;
    ebb_crash_at(EBB_CRASH_RUN_END);
    flow->writing++;
    if (ebb_journal_end(flow->journal, &flow->run->claim, state, text, to,
                        err) < 0)
        flow->writing--;
    else
        flow->ending = true;
    ebb_mem_free(text);
    return flow->ending ? 0 : -1;
}

/* ---- what it is ---- */

const char *ebb_flow_id(const ebb_flow *flow)
{
    return flow->run->id;
}

ebb_journal_state ebb_flow_state(const ebb_flow *flow)
{
    return flow->state;
}

const ebb_value *ebb_flow_outcome(const ebb_flow *flow)
{
    return flow->outcome;
}

int64_t ebb_flow_time_ms(const ebb_flow *flow)
{
    return flow->time_ms;
}

uint64_t ebb_flow_seed(const ebb_flow *flow, const char *path)
{
    unsigned char digest[EBB_SHA256_BYTES];
    char text[EBB_FLOW_PATH_BYTES_MAX + 32];
    uint64_t seed = 0;
    int n = snprintf(text, sizeof text, "%llu/%s",
                     (unsigned long long)flow->run->seed, path);

    if (n < 0 || (size_t)n >= sizeof text)
        n = (int)sizeof text - 1;
    ebb_digest_sha256(text, (size_t)n, digest);
    for (size_t i = 0; i < sizeof seed; i++)
        seed = seed << 8 | digest[i];
    return seed;
}

bool ebb_flow_args_changed(const ebb_flow *flow)
{
    return flow->args_changed;
}

bool ebb_flow_script_changed(const ebb_flow *flow)
{
    return flow->script_changed;
}

bool ebb_flow_is_lost(const ebb_flow *flow)
{
    return flow->stopped && flow->stop.code == EBB_LOST_OWNERSHIP;
}

bool ebb_flow_cancel_requested(const ebb_flow *flow)
{
    return flow->cancel_requested && !ebb_flow_is_replaying(flow);
}

void ebb_flow_note_raw_order(ebb_flow *flow)
{
    ebb_err ignored = { 0 };

    if (flow->raw_order || flow->stopped || flow->state != EBB_JOURNAL_ACTIVE)
        return;
    flow->raw_order = true;
    ebb_journal_set_raw_order(flow->journal, &flow->run->claim,
                              (ebb_journal_done){ NULL, NULL }, &ignored);
}

const char *ebb_flow_backend(const ebb_flow *flow)
{
    return flow->backend != NULL ? flow->backend : flow->run->backend;
}

int ebb_flow_set_backend(ebb_flow *flow, const char *backend, ebb_err *err)
{
    if (flow->stopped || flow->state != EBB_JOURNAL_ACTIVE)
        return 0;
    flow->backend = ebb_mem_dup(backend);
    if (flow->backend == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "run %s", flow->run->id);
    if (ebb_journal_set_backend(flow->journal, &flow->run->claim, backend,
                                (ebb_journal_done){ NULL, NULL }, err) == 0)
        return 0;
    ebb_mem_free(flow->backend);
    flow->backend = NULL;
    return -1;
}

/* Written by the execution that recorded its step, however much is still to be
 * delivered of other branches. */
static bool is_replayed(const ebb_flow *flow, const char *path)
{
    const ebb_flow_step *step;

    if (path == NULL)
        return ebb_flow_is_replaying(flow);
    step = ebb_flow_steps_find(&flow->steps, path);
    return step != NULL && step->recorded;
}

int ebb_flow_log(ebb_flow *flow, ebb_journal_line line,
                 const ebb_value *fields)
{
    ebb_err ignored = { 0 };
    char *text = NULL, *words;
    int result = -1;

    if (is_replayed(flow, line.path) || flow->stopped ||
        flow->state != EBB_JOURNAL_ACTIVE)
        return 0;
    words = ebb_utf8_dup(line.message, strlen(line.message));
    if (fields != NULL)
        text = ebb_value_write(fields, EBB_WRITE_COMPACT, &line.fields_bytes);
    line.message = words;
    line.fields = text;
    if (words != NULL && (text != NULL || fields == NULL))
        result = ebb_journal_add_line(flow->journal, &flow->run->claim, &line,
                                      (ebb_journal_done){ NULL, NULL },
                                      &ignored);
    ebb_mem_free(words);
    ebb_mem_free(text);
    return result;
}
