/* SPDX-License-Identifier: MIT */

/* Durable runs: not in this version; each function says so. */

#include "ebb_private.h"

static int unsupported(ebb_err *err)
{
    return ebb_err_set(err, EBB_UNSUPPORTED,
                       "durable runs: not in this version of ebb (%s)",
                       ebb_version());
}

void ebb_run_config_init(ebb_run_config *config)
{
    *config = (ebb_run_config){ .size = sizeof *config };
}

ebb_run *ebb_run_open(ebb_runtime *rt, const ebb_run_config *config,
                      ebb_err *err)
{
    (void)rt;
    (void)config;
    unsupported(err);
    return NULL;
}

void ebb_run_close(ebb_run *run)
{
    (void)run;
}

int ebb_runs_list(ebb_runtime *rt, ebb_value **out, ebb_err *err)
{
    (void)rt;
    *out = NULL;
    return unsupported(err);
}
