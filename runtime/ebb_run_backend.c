/* SPDX-License-Identifier: MIT */

/*
 * A run stays on its back end: the sandboxes that it knows live there. The
 * first task that is asked for marks the run with it: before its intent, or a
 * kill could leave a sandbox and not say where. Only the local service and
 * E2B's API are told apart: a gateway before the same API may move.
 */

#include "ebb_run_private.h"

#include <string.h>

static bool is_local(const char *backend)
{
    return strcmp(backend, EBB_PLACE_LOCAL) == 0;
}

static int refuse(const ebb_run *run, const char *before, const char *now,
                  ebb_err *err)
{
    if (is_local(before))
        return ebb_err_set(err, EBB_REPLAY_MISMATCH,
                           "run %s has its sandboxes on the local service, "
                           "not on %s; go on with --local",
                           ebb_run_id(run), now);
    return ebb_err_set(err, EBB_REPLAY_MISMATCH,
                       "run %s has its sandboxes on %s, not on the local "
                       "service; go on without --local (and EBB_LOCAL)",
                       ebb_run_id(run), before);
}

int ebb_run_keep_backend(ebb_run *run, ebb_err *err)
{
    const char *before = ebb_flow_backend(run->flow);
    char *now = ebb_place_name(&run->rt->config);
    int result = 0;

    if (now == NULL)
        return 0; /* the call itself says what is missing */
    if (before == NULL)
        result = ebb_flow_set_backend(run->flow, now, err);
    else if (is_local(before) != is_local(now))
        result = refuse(run, before, now, err);
    ebb_mem_free(now);
    return result;
}

void ebb_run_mark_backend(ebb_run *run)
{
    ebb_err ignored = { 0 };

    /* What fails is tried again when the task goes out, and then told. */
    if (ebb_flow_backend(run->flow) == NULL)
        ebb_run_keep_backend(run, &ignored);
}
