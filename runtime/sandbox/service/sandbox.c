/* SPDX-License-Identifier: MIT */

/* The storage of a sandbox; its life is lifecycle.c's. */

#include "sandbox/service/sandbox.h"

#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/service/lifecycle.h"
#include "sandbox/service/control/logs.h"
#include "sandbox/service/control/metrics.h"

static ebb_value *copy_object(const ebb_value *from)
{
    return from != NULL ? ebb_value_copy(from) : ebb_value_object();
}

ebb_sandbox *ebb_sandbox_new(ebb_service *service, const char *name,
                             ebb_loop_fn *expired)
{
    ebb_sandbox *s = ebb_mem_zero(sizeof *s);

    if (s == NULL)
        return NULL;
    s->service = service;
    s->life = ebb_mem_zero(sizeof *s->life);
    s->expiry = ebb_loop_timer_new(service->loop, expired, s);
    if (name != NULL)
        s->dir = ebb_fs_join(service->sandboxes_dir, name);
    if (s->life != NULL && s->expiry != NULL &&
        (name == NULL || s->dir != NULL))
        return s;
    ebb_sandbox_free(s);
    return NULL;
}

int ebb_sandbox_set(ebb_sandbox *sandbox, const ebb_lifecycle_spec *spec,
                    ebb_err *err)
{
    ebb_sandbox *s = sandbox;
    bool wanted = spec->allow_internet == NULL ||
                  ebb_value_get_bool(spec->allow_internet);

    s->template_id = spec->template_id;
    s->metadata = copy_object(spec->metadata);
    s->envs = copy_object(spec->envs);
    s->allow_internet = spec->allow_internet != NULL
                            ? ebb_value_copy(spec->allow_internet)
                            : ebb_value_null();
    s->network = s->service->config.network && wanted;
    s->life->auto_pause = spec->auto_pause;
    s->life->auto_pause_memory = spec->auto_pause_memory;
    s->dir = ebb_fs_join(s->service->sandboxes_dir, s->id);
    if (s->metadata == NULL || s->envs == NULL || s->allow_internet == NULL ||
        s->dir == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "create sandbox");
    return 0;
}

void ebb_sandbox_free(ebb_sandbox *sandbox)
{
    ebb_logs_close(sandbox->log);
    ebb_metrics_free(sandbox->meter);
    ebb_loop_timer_free(sandbox->expiry);
    ebb_value_free(sandbox->metadata);
    ebb_value_free(sandbox->envs);
    ebb_value_free(sandbox->allow_internet);
    ebb_mem_free(sandbox->life);
    ebb_mem_free(sandbox->dir);
    ebb_mem_free(sandbox);
}
