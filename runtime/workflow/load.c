/* SPDX-License-Identifier: MIT */

/*
 * The steps of a run as the journal has them. A failed run that is resumed
 * forgets the step whose error ended it and what came of that: the errors of
 * those around it, and the steps after it.
 */

#include "workflow/flow_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int load_step(ebb_flow *flow, const ebb_journal_step *row,
                     ebb_err *err)
{
    ebb_flow_step *step =
        ebb_flow_steps_add(&flow->steps, row->path, row->name, err);

    if (step == NULL)
        return -1;
    step->flow = flow;
    if (row->digest != NULL)
        snprintf(step->digest, sizeof step->digest, "%s", row->digest);
    if (ebb_retry_class_find(row->step_class, &step->retry_class) < 0)
        return ebb_err_set(err, EBB_JOURNAL,
                           "run %s, step %s: unknown class '%.32s'; "
                           "`ebb doctor` looks at every row",
                           flow->run->id, row->path, row->step_class);
    step->intended = true;
    step->attempts = row->attempts;
    step->next_ms = row->next_attempt_ms;
    step->wake_ms = row->wake_ms;
    step->recorded = row->seq > 0;
    if (!step->recorded)
        return 0;
    step->failed = row->failed;
    step->ended_ms = row->ended_ms;
    if (row->outcome != NULL) {
        step->outcome = ebb_mem_dup_n(row->outcome, row->outcome_bytes);
        if (step->outcome == NULL)
            return ebb_err_set(err, EBB_NO_MEMORY, "step %s", row->path);
    }
    flow->recorded[flow->recorded_count++] = step;
    return 0;
}

/* ---- what a resume tries again ---- */

/*
 * Whether path is behind the step `failed` in the same branch: the first
 * number that differs counts steps (it follows the start or a '/'), not
 * branches (it follows a '.').
 */
static bool is_behind(const char *path, const char *failed)
{
    bool counts_steps = true;
    char *path_end, *failed_end;
    unsigned long a, b;

    for (;;) {
        a = strtoul(path, &path_end, 10);
        b = strtoul(failed, &failed_end, 10);
        if (path_end == path || failed_end == failed)
            return false;
        if (a != b)
            return counts_steps && a > b;
        if (*path_end != *failed_end || *path_end == '\0')
            return false;
        counts_steps = *path_end == '/';
        path = path_end + 1;
        failed = failed_end + 1;
    }
}

static bool same_error(const ebb_value *a, const ebb_value *b)
{
    const char *keys[] = { "code", "message", "task" };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *x = ebb_value_find_string(a, keys[i]);
        const char *y = ebb_value_find_string(b, keys[i]);
        if ((x == NULL) != (y == NULL) || (x != NULL && strcmp(x, y) != 0))
            return false;
    }
    return true;
}

static ebb_value *error_of(const ebb_journal_step *row)
{
    ebb_err ignored = { 0 };

    if (row->seq == 0 || !row->failed || row->outcome == NULL)
        return NULL;
    return ebb_value_parse(row->outcome, row->outcome_bytes, 0, &ignored);
}

static bool is_below(const char *path, const char *above)
{
    size_t n = strlen(above);

    return strncmp(path, above, n) == 0 && path[n] == '.';
}

/*
 * The last step that failed as the run did; of a combinator, the step in a
 * branch whose error it passed on.
 */
static const ebb_journal_step *find_failed(const ebb_flow *flow)
{
    const ebb_journal_run *run = flow->run;
    const ebb_journal_step *found = NULL;

    for (size_t i = run->steps_n; i-- > 0;) {
        const ebb_journal_step *row = &run->steps[i];
        ebb_value *object = error_of(row);
        bool same = object != NULL && same_error(object, flow->outcome);

        ebb_value_free(object);
        if (same && (found == NULL || is_below(row->path, found->path)))
            found = row;
    }
    return found;
}

static bool is_unknown(const ebb_journal_step *row)
{
    ebb_value *object = error_of(row);
    const char *code = ebb_value_find_string(object, "code");
    bool unknown = code != NULL && strcmp(code, "outcome_unknown") == 0;

    ebb_value_free(object);
    return unknown;
}

/* Whether a resume forgets what is recorded of row. */
static bool is_retried(const ebb_journal_step *row,
                       const ebb_journal_step *failed, bool force)
{
    if (is_behind(row->path, failed->path))
        return true;
    return row->seq >= failed->seq && row->failed &&
           (force || !is_unknown(row));
}

/*
 * What depended on a step that is forgotten: the combinator that it decided,
 * and the steps after it in its branch.
 */
static bool depends_on_any(const ebb_journal_step *row,
                           const ebb_journal_step *failed,
                           const char *const *paths, size_t n)
{
    if (row->seq > 0 && row->seq < failed->seq)
        return false;
    for (size_t i = 0; i < n; i++)
        if (is_below(paths[i], row->path) || is_behind(row->path, paths[i]))
            return true;
    return false;
}

/* What a resume forgets of a run that failed at this step. */
static size_t choose(const ebb_flow *flow, const ebb_journal_step *failed,
                     const char **paths)
{
    const ebb_journal_run *run = flow->run;
    size_t n = 0, first;

    for (size_t i = 0; i < run->steps_n; i++)
        if (is_retried(&run->steps[i], failed, flow->force))
            paths[n++] = run->steps[i].path;
    first = n;
    for (size_t i = 0; i < run->steps_n; i++)
        if (!is_retried(&run->steps[i], failed, flow->force) &&
            depends_on_any(&run->steps[i], failed, paths, first))
            paths[n++] = run->steps[i].path;
    return n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int forget(ebb_flow *flow, const char *const *paths, size_t n,
                  ebb_err *err)
{
    if (n == 0)
        return 0;
    return ebb_journal_del_outcomes(flow->journal, &flow->run->claim, paths,
                                    n, (ebb_journal_done){ NULL, NULL }, err);
}

int ebb_flow_load(ebb_flow *flow, bool resume, ebb_err *err)
{
    const ebb_journal_run *run = flow->run;
    const ebb_journal_step *failed = NULL;
    const char **paths;
    size_t n = 0;
    int result = 0;

    if (run->steps_n == 0)
        return 0;
    paths = ebb_mem_zero(run->steps_n * sizeof *paths);
    flow->recorded = ebb_mem_zero(run->steps_n * sizeof(ebb_flow_step *));
    if (paths == NULL || flow->recorded == NULL)
        result = ebb_err_set(err, EBB_NO_MEMORY, "run %s", run->id);
    else if (resume && flow->outcome != NULL)
        failed = find_failed(flow);
    if (failed != NULL) {
        n = choose(flow, failed, paths);
        qsort(paths, n, sizeof(char *), by_text);
    }
    for (size_t i = 0; result == 0 && i < run->steps_n; i++)
        if (n == 0 || bsearch(&run->steps[i].path, paths, n, sizeof(char *),
                              by_text) == NULL)
            result = load_step(flow, &run->steps[i], err);
    if (result == 0)
        result = forget(flow, paths, n, err);
    ebb_mem_free(paths);
    return result;
}
