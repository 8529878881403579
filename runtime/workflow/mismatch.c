/* SPDX-License-Identifier: MIT */

/* What a person reads when script and journal do not fit each other. */

#include "workflow/flow_private.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "task/error_object.h"
#include "workflow/diff.h"

#define DIGEST_SHOWN 8
#define HINT_BYTES                                                          \
    (EBB_JOURNAL_ID_BYTES_MAX + EBB_JOURNAL_PATH_BYTES_MAX + 200)

static ebb_value *asked_input(const ebb_flow_step *step)
{
    ebb_err ignored = { 0 };

    if (step->input == NULL)
        return NULL;
    return ebb_value_parse(step->input, strlen(step->input), 0, &ignored);
}

/* Inputs are not loaded with a run: it is read again as a whole. */
static ebb_value *recorded_input(const ebb_flow *flow, const char *path)
{
    ebb_err ignored = { 0 };
    ebb_value *input = NULL;
    ebb_journal_run *run =
        ebb_journal_get_run(flow->journal, flow->run->id, &ignored);

    for (size_t i = 0; run != NULL && i < run->steps_n; i++) {
        const ebb_journal_step *step = &run->steps[i];
        if (strcmp(step->path, path) == 0 && step->input != NULL)
            input = ebb_value_parse(step->input, step->input_bytes, 0,
                                    &ignored);
    }
    ebb_journal_run_free(run);
    return input;
}

/* {path, name, input digest}: one side. */
static int set_side(ebb_value *details, const char *key,
                    const ebb_flow_step *step)
{
    ebb_value *side;
    int bad = 0;

    if (step == NULL)
        return ebb_value_set(details, key, ebb_value_null());
    side = ebb_value_object();
    bad |= ebb_value_set(side, "path", ebb_value_text(step->path));
    bad |= ebb_value_set(side, "name", ebb_value_text(step->name));
    bad |= ebb_value_set(side, "inputDigest", ebb_value_text(step->digest));
    if (bad < 0) {
        ebb_value_free(side);
        return -1;
    }
    return ebb_value_set(details, key, side);
}

static const char *likely_cause(const ebb_flow *flow, bool numbers_only)
{
    if (flow->raw_order)
        return "likely: pairs met keys that are tables or functions, whose "
               "order differs in every process; use strings or numbers";
    if (flow->args_changed)
        return "likely: the script has other arguments than the run began "
               "with; give it those, or start another run";
    if (numbers_only)
        return "likely: a time or random number that ebb did not give; use "
               "os.time, math.random, ebb.now or ebb.step";
    return "likely: what the script does depends on something that is not a "
           "step; put it into ebb.step";
}

static ebb_value *hint_of(const ebb_flow *flow, const ebb_flow_step *recorded,
                          bool numbers_only)
{
    char text[HINT_BYTES];

    if (!flow->script_changed || flow->raw_order)
        return ebb_value_text(likely_cause(flow, numbers_only));
    snprintf(text, sizeof text,
             "likely: the script was changed since; undo that, or start from "
             "the changed place with `ebb runs fork %s --from %s`",
             flow->run->id, recorded->path);
    return ebb_value_text(text);
}

static ebb_value *details_of(const ebb_flow *flow,
                             const ebb_flow_step *recorded,
                             const ebb_flow_step *asked)
{
    ebb_value *details = ebb_value_object();
    ebb_value *was = NULL, *is = NULL, *lines = NULL;
    bool numbers_only = false;
    int bad = 0;

    if (recorded != NULL && asked != NULL &&
        strcmp(recorded->name, asked->name) == 0) {
        was = recorded_input(flow, recorded->path);
        is = asked_input(asked);
    }
    if (was != NULL && is != NULL)
        lines = ebb_diff(was, is, &numbers_only);
    bad |= set_side(details, "recorded", recorded);
    bad |= set_side(details, "asked", asked);
    if (lines != NULL)
        bad |= ebb_value_set(details, "diff", lines);
    bad |= ebb_value_set(details, "hint",
                         hint_of(flow, recorded, numbers_only));
    ebb_value_free(was);
    ebb_value_free(is);
    if (bad == 0)
        return details;
    ebb_value_free(details);
    return NULL;
}

static void say(ebb_err *err, const ebb_flow_step *recorded,
                const ebb_flow_step *asked)
{
    if (asked == NULL)
        ebb_err_set(err, EBB_REPLAY_MISMATCH,
                    "step %s: %s (input %.*s) is recorded, but the script "
                    "no longer asks for it",
                    recorded->path, recorded->name, DIGEST_SHOWN,
                    recorded->digest);
    else if (strcmp(recorded->path, asked->path) == 0)
        ebb_err_set(err, EBB_REPLAY_MISMATCH,
                    "step %s: %s (input %.*s) is recorded, the script asked "
                    "for %s (input %.*s)",
                    recorded->path, recorded->name, DIGEST_SHOWN,
                    recorded->digest, asked->name, DIGEST_SHOWN,
                    asked->digest);
    else
        ebb_err_set(err, EBB_REPLAY_MISMATCH,
                    "step %s: %s (input %.*s) is recorded, the script asked "
                    "for step %s, %s (input %.*s), instead",
                    recorded->path, recorded->name, DIGEST_SHOWN,
                    recorded->digest, asked->path, asked->name, DIGEST_SHOWN,
                    asked->digest);
}

void ebb_flow_mismatch(ebb_flow *flow, const ebb_flow_step *recorded,
                       const ebb_flow_step *asked)
{
    const ebb_flow_step *named = asked != NULL ? asked : recorded;
    ebb_err err = { 0 };

    say(&err, recorded, asked);
    ebb_flow_stop(flow, &err,
                  ebb_error_object(named->name, NULL, &err, 0,
                                   details_of(flow, recorded, asked)));
}
