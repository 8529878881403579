/* SPDX-License-Identifier: MIT */

/* The journal as a whole: runs listed, shown, cancelled, forked. */

#include "ebb_runs.h"

#include "base/id.h"

#define LIST_MAX 10000

int ebb_runs_list(ebb_runtime *rt, ebb_value **out, ebb_err *err)
{
    ebb_journal *journal = ebb_runtime_journal(rt, err);
    ebb_journal_run **runs = NULL;
    ebb_value *list;
    int64_t now = ebb_clock_wall_ms(rt->clock);
    size_t n = 0;
    int bad = 0;

    *out = NULL;
    if (journal == NULL ||
        ebb_journal_list(journal, LIST_MAX, &runs, &n, err) < 0)
        return -1;
    list = ebb_value_array();
    for (size_t i = 0; i < n && bad == 0; i++)
        bad |= ebb_value_add(list, ebb_runs_value(runs[i], now));
    ebb_journal_list_free(runs, n);
    if (list == NULL || bad < 0) {
        ebb_value_free(list);
        return ebb_err_set(err, EBB_NO_MEMORY, "list the runs");
    }
    *out = list;
    return 0;
}

int ebb_runs_show(ebb_runtime *rt, const char *id, ebb_value **out,
                  ebb_err *err)
{
    ebb_journal *journal = ebb_runtime_journal(rt, err);
    ebb_journal_run *run;

    *out = NULL;
    if (journal == NULL)
        return -1;
    run = ebb_journal_get_run(journal, id, err);
    if (run == NULL)
        return -1;
    *out = ebb_runs_value_whole(run, ebb_clock_wall_ms(rt->clock));
    ebb_journal_run_free(run);
    return *out != NULL ? 0
                        : ebb_err_set(err, EBB_NO_MEMORY, "show run %s", id);
}

/* Nobody runs the cleanup of an interrupted run: it is done here. */
static int clean_up(ebb_runtime *rt, const char *id, ebb_err *err)
{
    ebb_journal_run *run = ebb_journal_get_run(rt->journal, id, err);
    ebb_value *killed = ebb_value_array();
    int result = run != NULL && killed != NULL
                     ? ebb_runs_end_sandboxes(rt, run, killed, err)
                     : -1;

    ebb_value_free(killed);
    ebb_journal_run_free(run);
    return result;
}

/* Whether its owner cancelled it and left sandboxes behind. */
static bool has_left(ebb_runtime *rt, const char *id)
{
    ebb_err ignored = { 0 };
    ebb_journal_run *run = ebb_journal_get_run(rt->journal, id, &ignored);
    ebb_value *left = run != NULL && run->state == EBB_JOURNAL_CANCELLED
                          ? ebb_runs_sandboxes(run)
                          : NULL;
    bool any = ebb_value_size(left) > 0;

    ebb_value_free(left);
    ebb_journal_run_free(run);
    return any;
}

int ebb_runs_cancel(ebb_runtime *rt, const char *id, ebb_err *err)
{
    static const char outcome[] =
        "{\"code\":\"cancelled\",\"message\":\"the run was cancelled while it "
        "was interrupted\",\"retryable\":false,\"attempts\":0}";
    ebb_journal *journal = ebb_runtime_journal(rt, err);
    bool asked = false;

    if (journal == NULL)
        return -1;
    if (ebb_journal_cancel(journal, id, outcome, &asked, err) == 0)
        return asked ? 0 : clean_up(rt, id, err);
    return err->code == EBB_CONFLICT && has_left(rt, id)
               ? clean_up(rt, id, err)
               : -1;
}

int ebb_runs_fork(ebb_runtime *rt, const char *id, const char *path,
                  char **new_id, ebb_err *err)
{
    ebb_journal *journal = ebb_runtime_journal(rt, err);
    char made[EBB_RUN_ID_BYTES];

    *new_id = NULL;
    if (journal == NULL || ebb_id_random(made, sizeof made, err) < 0 ||
        ebb_journal_fork(journal, id, path, made, err) < 0)
        return -1;
    *new_id = ebb_mem_dup(made);
    return *new_id != NULL ? 0
                           : ebb_err_set(err, EBB_NO_MEMORY, "fork %s", id);
}
