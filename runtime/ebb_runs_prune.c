/* SPDX-License-Identifier: MIT */

/* The end of what runs left behind, and of the runs. */

#include "ebb_runs.h"

#include <string.h>

#define KILL "e2b.killSandbox"
#define ROUND_RUNS 10000   /* looked at at once … */
#define RUNS_MAX   1000000 /* … and at most, while those go on */

/* 1: killed; 0: not there; -1: failed. */
static int kill_at(ebb_runtime *rt, const char *id, ebb_value *killed,
                   ebb_err *err)
{
    ebb_value *input = ebb_value_object(), *out = NULL;
    int result;

    if (ebb_value_set(input, "sandboxId", ebb_value_text(id)) < 0) {
        ebb_value_free(input);
        return ebb_err_set(err, EBB_NO_MEMORY, "kill %s", id);
    }
    result = ebb_call(rt, KILL, input, &out, err);
    if (result == 0 && ebb_value_find_bool(out, "changed", false))
        result = ebb_value_add(killed, ebb_value_text(id)) == 0 ? 1 : -1;
    ebb_value_free(input);
    ebb_value_free(out);
    return result;
}

/*
 * Ends the sandboxes made under a key: it is not known whether there is one.
 * How many were ended, or -1.
 */
static int kill_by_key(ebb_runtime *rt, const char *key, ebb_value *killed,
                       ebb_err *err)
{
    ebb_value *list = NULL;
    int result = ebb_sandbox_list(rt, &list, err), count = 0;

    for (size_t i = 0; i < ebb_value_size(list) && result >= 0; i++) {
        const ebb_value *box = ebb_value_at(list, i);
        const char *of = ebb_value_find_string(
            ebb_value_find(box, "metadata"), EBB_RUNS_KEY_FIELD);
        if (of == NULL || strcmp(of, key) != 0)
            continue;
        result = kill_at(rt, ebb_value_find_string(box, "sandboxId"), killed,
                         err);
        count += result > 0;
    }
    ebb_value_free(list);
    return result < 0 ? -1 : count;
}

static int end_at(ebb_runtime *rt, const ebb_value *box, ebb_value *killed,
                  ebb_err *err)
{
    const char *id = ebb_value_find_string(box, "sandboxId");
    const char *key = ebb_value_find_string(box, "idempotencyKey");

    if (id != NULL)
        return kill_at(rt, id, killed, err);
    return key != NULL ? kill_by_key(rt, key, killed, err) : 0;
}

/* Of a run that says nowhere where it was; -1: nobody could say either. */
static int end_anywhere(ebb_runtime *rt, const ebb_value *box,
                        ebb_value *killed, ebb_err *err)
{
    int here = end_at(rt, box, killed, err), there = -1;
    ebb_err elsewhere = { 0 };
    ebb_runtime *other = NULL;

    if (here > 0)
        return 0;
    if (ebb_place_is_local(&rt->config) || ebb_runs_local_serves(rt))
        other = ebb_runs_open_other(rt, &elsewhere);
    if (other != NULL)
        there = end_at(other, box, killed, &elsewhere);
    ebb_close(other);
    return here < 0 && there < 0 ? -1 : 0;
}

/* Ends one sandbox on the back end of its run. */
static int end_on(ebb_runtime *rt, const char *backend, const ebb_value *box,
                  ebb_value *killed, ebb_err *err)
{
    ebb_runtime *other, *at = ebb_runs_reach(rt, backend, &other, err);
    int result = at != NULL ? end_at(at, box, killed, err) : -1;

    ebb_close(other);
    return result < 0 ? -1 : 0;
}

int ebb_runs_end_sandboxes(ebb_runtime *rt, const ebb_journal_run *run,
                           ebb_value *killed, ebb_err *err)
{
    ebb_value *list = ebb_runs_sandboxes(run);
    int result = list != NULL ? 0
                              : ebb_err_set(err, EBB_NO_MEMORY, "run %s",
                                            run->id);

    for (size_t i = 0; i < ebb_value_size(list) && result == 0; i++) {
        const ebb_value *box = ebb_value_at(list, i);
        result = run->backend != NULL
                     ? end_on(rt, run->backend, box, killed, err)
                     : end_anywhere(rt, box, killed, err);
        if (result < 0)
            ebb_err_wrap(err, "run %s: a sandbox it made", run->id);
    }
    ebb_value_free(list);
    return result;
}

/* One ended run goes; -1 leaves it as it is. */
static int prune_one(ebb_runtime *rt, const char *id, bool kill,
                     ebb_value *killed, ebb_err *err)
{
    ebb_journal_run *run;
    int result = 0;

    if (kill) {
        run = ebb_journal_get_run(rt->journal, id, err);
        if (run == NULL)
            return -1;
        if (run->state == EBB_JOURNAL_ACTIVE)
            result = ebb_err_set(err, EBB_CONFLICT,
                                 "run %s was resumed meanwhile", id);
        else
            result = ebb_runs_end_sandboxes(rt, run, killed, err);
        ebb_journal_run_free(run);
    }
    return result == 0 ? ebb_journal_del_run(rt->journal, id, err) : -1;
}

static int add_failure(ebb_value *failed, const char *id, const ebb_err *err)
{
    ebb_value *row = ebb_value_object();
    int bad = 0;

    bad |= ebb_value_set(row, "id", ebb_value_text(id));
    bad |= ebb_value_set(row, "code",
                         ebb_value_text(ebb_code_name(err->code)));
    bad |= ebb_value_set(row, "message", ebb_value_text(err->msg));
    return bad | ebb_value_add(failed, row);
}

static bool has_failed(const ebb_value *failed, const char *id)
{
    for (size_t i = 0; i < ebb_value_size(failed); i++)
        if (strcmp(ebb_value_find_string(ebb_value_at(failed, i), "id"), id) ==
            0)
            return true;
    return false;
}

/* Those that have ended and did not fail before. */
static int prune_some(ebb_runtime *rt, ebb_journal_run *const *runs, size_t n,
                      bool kill, ebb_value *out)
{
    ebb_value *removed = ebb_value_find(out, "removed");
    ebb_value *killed = ebb_value_find(out, "killed");
    ebb_value *failed = ebb_value_find(out, "failed");
    int bad = 0;

    for (size_t i = 0; i < n && bad == 0; i++) {
        ebb_err err = { 0 };
        if (runs[i]->state == EBB_JOURNAL_ACTIVE ||
            has_failed(failed, runs[i]->id))
            continue;
        if (prune_one(rt, runs[i]->id, kill, killed, &err) == 0)
            bad |= ebb_value_add(removed, ebb_value_text(runs[i]->id));
        else
            bad |= add_failure(failed, runs[i]->id, &err);
    }
    return bad == 0 ? 0 : -1;
}

/* In rounds, since the list has first what is active and stays. */
static int prune_all(ebb_runtime *rt, bool kill, ebb_value *out, ebb_err *err)
{
    size_t most = ROUND_RUNS, n = most, before;
    int result = 0;

    while (result == 0 && n == most && most <= RUNS_MAX) {
        ebb_journal_run **runs = NULL;

        before = ebb_value_size(ebb_value_find(out, "removed"));
        if (ebb_journal_list(rt->journal, most, &runs, &n, err) < 0)
            return -1;
        if (prune_some(rt, runs, n, kill, out) < 0)
            result = ebb_err_set(err, EBB_NO_MEMORY, "prune");
        ebb_journal_list_free(runs, n);
        if (n == most &&
            ebb_value_size(ebb_value_find(out, "removed")) == before)
            most = n = most * 10;
    }
    return result;
}

int ebb_runs_prune(ebb_runtime *rt, bool kill, ebb_value **out, ebb_err *err)
{
    ebb_value *result;
    int bad = 0;

    *out = NULL;
    if (ebb_runtime_journal(rt, err) == NULL)
        return -1;
    result = ebb_value_object();
    bad |= ebb_value_set(result, "removed", ebb_value_array());
    bad |= ebb_value_set(result, "killed", ebb_value_array());
    bad |= ebb_value_set(result, "failed", ebb_value_array());
    if (bad != 0)
        ebb_err_set(err, EBB_NO_MEMORY, "prune");
    if (bad != 0 || prune_all(rt, kill, result, err) < 0) {
        ebb_value_free(result);
        return -1;
    }
    *out = result;
    return 0;
}
