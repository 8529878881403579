/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of an open run share. flow.h says what a run is. */

#include "workflow/flow.h"

struct ebb_flow {
    ebb_loop *loop;
    const ebb_clock *clock;
    ebb_journal *journal;
    ebb_journal_run *run; /* as it was loaded, its steps moved out */
    ebb_journal_state state;
    ebb_value *outcome; /* of a run that has ended */

    ebb_flow_steps steps;
    ebb_flow_steps strays;    /* asked for in place of a recorded one */
    ebb_flow_step **recorded; /* in the order of their outcomes */
    size_t recorded_count, delivered; /* of recorded */
    ebb_flow_queue held;  /* asked for, in that order, without outcome */
    ebb_flow_queue ready; /* ended here, in the order of the commits */
    ebb_flow_step *delivering;
    size_t asked;   /* and not yet delivered */
    size_t writing; /* answers of the journal to come */
    int64_t time_ms;

    bool stopped;
    ebb_err stop;           /* why */
    ebb_value *stop_object; /* with details, or NULL */
    bool cancel_requested, raw_order, script_changed, args_changed;
    char *backend; /* set here; NULL: as the run has it */
    bool force;  /* a step of unknown outcome is run again */
    bool ending; /* the end was asked for */
    bool closed; /* freed with the last answer */
    ebb_loop_timer *poll;
    void (*end_fn)(void *context, const ebb_err *err);
    void *end_context;
    ebb_journal_state end_state;
};

/* ---- gate.c ---- */

/* Nothing runs or is written any more. object (or NULL) moves. */
void ebb_flow_stop(ebb_flow *flow, const ebb_err *err, ebb_value *object);

/* An outcome (or the reason why there is none) waits for its turn. */
void ebb_flow_ready(ebb_flow_step *step);

/* No turn of the loop that was asked for comes any more. */
void ebb_flow_cancel_turns(ebb_flow *flow);

/* The wall clock, never before the last boundary. */
int64_t ebb_flow_now_ms(const ebb_flow *flow);

/* ---- step.c ---- */

/* May run now: nothing recorded is left. */
void ebb_flow_step_start(ebb_flow_step *step);
void ebb_flow_step_cancel_run(ebb_flow_step *step);

/* ---- mismatch.c ---- */

/* Stops the run; either may be NULL: nothing was recorded, or asked for. */
void ebb_flow_mismatch(ebb_flow *flow, const ebb_flow_step *recorded,
                       const ebb_flow_step *asked);

/* ---- record.c: what the journal is told; done comes from the loop ---- */

typedef void ebb_flow_written_fn(ebb_flow_step *step, const ebb_err *err);

/* done NULL: nobody waits. */
void ebb_flow_record_intent(ebb_flow_step *step, ebb_flow_written_fn *done);
void ebb_flow_record_attempt(ebb_flow_step *step, const ebb_err *why,
                             ebb_flow_written_fn *done);
void ebb_flow_record_outcome(ebb_flow_step *step, const char *text, size_t n,
                             ebb_flow_written_fn *done);

/* Fetches an outcome that was too large to come with its run. */
void ebb_flow_fetch_outcome(ebb_flow_step *step, ebb_flow_written_fn *done);

void ebb_flow_cancel_refusal(ebb_flow_step *step);

/* An answer of the journal came; false: the run was closed, forget it. */
bool ebb_flow_answered(ebb_flow *flow);

/* ---- load.c ---- */

/* The steps of the journal, less those that a resume tries again. */
int ebb_flow_load(ebb_flow *flow, bool resume, ebb_err *err);
