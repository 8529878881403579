/* SPDX-License-Identifier: MIT */

/* Nothing is left behind: which sandboxes a run made and did not kill. */

#include "ebb_runs.h"

#include <string.h>

#define CREATE "e2b.createSandbox"
#define KILL   "e2b.killSandbox"

static ebb_value *parse(const char *json, size_t n)
{
    ebb_err ignored = { 0 };

    return json != NULL ? ebb_value_parse(json, n, 0, &ignored) : NULL;
}

/* The ids of those that the run killed, and saw that it did, as keys. */
static ebb_value *killed_by(const ebb_journal_run *run)
{
    ebb_value *killed = ebb_value_object();
    int bad = 0;

    for (size_t i = 0; i < run->steps_n && bad == 0; i++) {
        const ebb_journal_step *step = &run->steps[i];
        ebb_value *input;
        const char *id;
        if (step->seq == 0 || step->failed || strcmp(step->name, KILL) != 0)
            continue;
        input = parse(step->input, step->input_bytes);
        id = ebb_value_find_string(input, "sandboxId");
        if (id != NULL)
            bad = ebb_value_set(killed, id, ebb_value_null());
        ebb_value_free(input);
    }
    if (bad == 0)
        return killed;
    ebb_value_free(killed);
    return NULL;
}

/*
 * Whether a creation without a result may have made one: no outcome, an error
 * that says nothing about what the server did, or attempts before the last,
 * of which its error says nothing either.
 */
static bool may_have_made(const ebb_journal_step *step,
                          const ebb_value *outcome)
{
    static const char *const codes[] = { "cancelled", "network", "timeout",
                                         "protocol", "server" };
    const char *code = ebb_value_find_string(outcome, "code");

    if (step->seq == 0 || step->attempts > 0)
        return true;
    for (size_t i = 0; code != NULL && i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

static int add_sandbox(ebb_value *list, const ebb_value *killed,
                       const ebb_journal_step *step)
{
    ebb_value *input = parse(step->input, step->input_bytes);
    ebb_value *outcome = parse(step->outcome, step->outcome_bytes);
    const char *key = ebb_value_find_string(input, "idempotencyKey");
    const char *id = step->seq > 0 && !step->failed
                         ? ebb_value_find_string(outcome, "sandboxId")
                         : NULL;
    ebb_value *row = NULL;
    int bad = 0;

    if (id == NULL ? may_have_made(step, outcome)
                   : ebb_value_find(killed, id) == NULL) {
        row = ebb_value_object();
        if (id != NULL)
            bad |= ebb_value_set(row, "sandboxId", ebb_value_text(id));
        bad |= ebb_value_set(row, "step", ebb_value_text(step->path));
        if (key != NULL)
            bad |= ebb_value_set(row, "idempotencyKey", ebb_value_text(key));
        bad |= ebb_value_add(list, row);
    }
    ebb_value_free(input);
    ebb_value_free(outcome);
    return bad;
}

ebb_value *ebb_runs_sandboxes(const ebb_journal_run *run)
{
    ebb_value *list = ebb_value_array(), *killed = killed_by(run);
    int bad = killed != NULL ? 0 : -1;

    for (size_t i = 0; i < run->steps_n && bad == 0; i++) {
        const ebb_journal_step *step = &run->steps[i];
        if (strcmp(step->name, CREATE) == 0)
            bad |= add_sandbox(list, killed, step);
    }
    ebb_value_free(killed);
    if (list != NULL && bad == 0)
        return list;
    ebb_value_free(list);
    return NULL;
}
