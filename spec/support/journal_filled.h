/* SPDX-License-Identifier: MIT */
#pragma once

/* A journal with something in it, and what its check finds. */

#include "support/journal_rig.h"

/* Two runs, "a" and "b", of three steps, one attempt and a log line each. */
static inline void fill(journal_rig *rig)
{
    ebb_journal_line line = { .path = "1", .message = "hello" };
    ebb_journal_step attempt = { .path = "3",
                                 .attempts = 1,
                                 .attempt_error = "{}",
                                 .attempt_error_bytes = 2 };
    const char *const ids[] = { "a", "b" };

    for (int i = 0; i < 2; i++) {
        ebb_journal_run *run = rig_claim(rig, ids[i]);
        rig_answer answer = { 0 };

        assert_int_equal(rig_outcome(rig, &run->claim, "1", "11"), EBB_OK);
        assert_int_equal(rig_outcome(rig, &run->claim, "2", "22"), EBB_OK);
        assert_int_equal(rig_intent(rig, &run->claim, "3"), EBB_OK);
        assert_int_equal(
            rig_put(rig, ebb_journal_add_attempt, &run->claim, attempt),
            EBB_OK);
        ebb_journal_add_line(rig->journal, &run->claim, &line,
                             rig_done(&answer), &rig->err);
        rig_await(rig, &answer, 1);
        assert_int_equal(rig_release(rig, &run->claim), EBB_OK);
        ebb_journal_run_free(run);
    }
}

typedef struct problems {
    int n;
    char run[64], what[256]; /* of the last */
} problems;

static inline void note(void *context, const char *run, const char *what)
{
    problems *p = context;

    p->n++;
    snprintf(p->run, sizeof p->run, "%s", run);
    snprintf(p->what, sizeof p->what, "%s", what);
}
