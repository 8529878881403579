/* SPDX-License-Identifier: MIT */
#include "lua/ldurable.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lua/lerror.h"

ebb_run *lebb_durable_run(const lebb_branch *branch)
{
    return branch && branch->durable ? branch->sched->run : NULL;
}

bool lebb_durable_derives(const lebb_branch *branch)
{
    return lebb_durable_run(branch) && branch->step == 0;
}

ebb_run *lebb_durable_current(lua_State *L)
{
    lebb_sched *s = lebb_sched_get(L);

    return s ? lebb_durable_run(s->current) : NULL;
}

/* "3", or "4.2/3" in a branch; -1 when it does not fit. */
static int write_path(const lebb_branch *branch, uint64_t step,
                      char path[LEBB_PATH_BYTES])
{
    const char *own = branch->path ? branch->path : "";
    int n = snprintf(path, LEBB_PATH_BYTES, "%s%s%" PRIu64, own,
                     *own ? "/" : "", step);

    return n < LEBB_PATH_BYTES ? 0 : -1;
}

int lebb_durable_next(lebb_branch *branch, char path[LEBB_PATH_BYTES],
                      ebb_err *err)
{
    if (branch->sched->run_stop.code != EBB_OK) {
        *err = branch->sched->run_stop;
        return -1;
    }
    branch->steps++;
    if (write_path(branch, branch->steps, path) == 0)
        return 0;
    return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                       "combinators are nested too deeply for a durable run: "
                       "a step's path has at most %d bytes",
                       LEBB_PATH_BYTES - 1);
}

void lebb_durable_place(const lebb_branch *branch, int next,
                        char path[LEBB_PATH_BYTES])
{
    write_path(branch, branch->steps + (uint64_t)next, path);
}

void lebb_durable_adopt(lua_State *L, lebb_branch *child, const char *path,
                        lua_Integer index)
{
    char own[LEBB_PATH_BYTES + 24];

    snprintf(own, sizeof own, "%s.%lld", path, (long long)index);
    child->path = ebb_mem_dup(own);
    if (!child->path)
        lebb_raise_code(L, EBB_NO_MEMORY, "no memory for a branch");
    child->durable = true;
}

void lebb_durable_stop(lebb_sched *s, const ebb_err *err)
{
    if (s->run_stop.code == EBB_OK)
        s->run_stop = *err;
}

void lebb_durable_idle(lebb_sched *s)
{
    if (!s->run)
        return;
    if (!s->run_cancel_seen && ebb_run_cancel_requested(s->run)) {
        s->run_cancel_seen = true;
        lebb_sched_cancel(s);
    }
    if (!s->ready_first)
        ebb_run_idle(s->run);
}

int64_t lebb_wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
