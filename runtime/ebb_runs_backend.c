/* SPDX-License-Identifier: MIT */

/* The back end of a run, from a runtime that may use another one. */

#include "ebb_runs.h"

#include <string.h>
#include <unistd.h>

bool ebb_runs_local_serves(const ebb_runtime *rt)
{
    ebb_err ignored = { 0 };
    char *path = ebb_local_socket(&rt->config, &ignored);
    int fd = path != NULL ? ebb_launch_connect(path) : -1;

    ebb_mem_free(path);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

ebb_runtime *ebb_runs_open_other(const ebb_runtime *rt, ebb_err *err)
{
    ebb_config config = rt->config;

    config.local = !ebb_place_is_local(&rt->config);
    config.allocator = NULL;
    config.uv_loop = NULL;
    return ebb_open(&config, err);
}

/* The address that the variables name must be the run's. */
static int check_address(const ebb_runtime *rt, const char *backend,
                         ebb_err *err)
{
    char *now = ebb_place_name(&rt->config);
    int result = 0;

    if (now != NULL && strcmp(now, backend) != 0)
        result = ebb_err_set(err, EBB_INVALID_INPUT,
                             "it was made on %s, and the variables name %s",
                             backend, now);
    ebb_mem_free(now);
    return result;
}

ebb_runtime *ebb_runs_reach(ebb_runtime *rt, const char *backend,
                            ebb_runtime **opened, ebb_err *err)
{
    bool local = strcmp(backend, EBB_PLACE_LOCAL) == 0;
    ebb_runtime *at = rt;

    *opened = NULL;
    if (local != ebb_place_is_local(&rt->config))
        at = *opened = ebb_runs_open_other(rt, err);
    if (at == NULL || (!local && check_address(at, backend, err) < 0))
        return NULL;
    return at;
}
