/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/describe.h"

#include "base/clock.h"
#include "sandbox/service/lifecycle.h"
#include "sandbox/service/control/metrics.h"

#include <stdlib.h>

/* E2B's clients want one, and do nothing with it. */
#define CLIENT_ID "6562625f"

/* A clock that was set later must not change how long a sandbox has left. */
#define CLOCK_STEP_MS 1000

#define MIB (1 << 20)

static ebb_value *time_value(int64_t ms)
{
    char time[EBB_CLOCK_ISO_BYTES];

    ebb_clock_iso(ms, time);
    return ebb_value_text(time);
}

bool ebb_describe_is_shown(const ebb_sandbox *sandbox)
{
    return sandbox->life->born && sandbox->state != EBB_SANDBOX_KILLING;
}

bool ebb_describe_is_running(const ebb_sandbox *sandbox)
{
    return sandbox->state == EBB_SANDBOX_RUNNING;
}

/* The end by the steady clock, unless that differs by rounding only. */
static int64_t end_ms(const ebb_sandbox *s)
{
    const ebb_clock *clock = ebb_clock_real();
    int64_t end = s->life->end_steady_ms - ebb_clock_steady_ms(clock) +
                  ebb_clock_wall_ms(clock);

    if (s->state != EBB_SANDBOX_RUNNING ||
        llabs(end - s->end_ms) < CLOCK_STEP_MS)
        return s->end_ms;
    return end;
}

static int add_names(ebb_value *o, const ebb_sandbox *s)
{
    return ebb_value_set(o, "templateID", ebb_value_text(s->template_id)) |
           ebb_value_set(o, "alias", ebb_value_text(s->template_id)) |
           ebb_value_set(o, "sandboxID", ebb_value_text(s->id)) |
           ebb_value_set(o, "clientID", ebb_value_text(CLIENT_ID)) |
           ebb_value_set(o, "envdVersion", ebb_value_text(EBB_ENVD_VERSION));
}

static int add_access(ebb_value *o, const ebb_sandbox *s)
{
    int failed = ebb_value_set(o, "domain", ebb_value_null());

    if (s->token[0] != '\0')
        failed |= ebb_value_set(o, "envdAccessToken", ebb_value_text(s->token));
    return failed;
}

static int add_life(ebb_value *o, const ebb_sandbox *s)
{
    const char *state = ebb_describe_is_running(s) ? "running" : "paused";
    int64_t memory = ebb_metrics_memory_bytes(s->service) / MIB;
    int64_t disk = (int64_t)(s->service->config.limits.disk_bytes / MIB);

    return ebb_value_set(o, "startedAt", time_value(s->started_ms)) |
           ebb_value_set(o, "endAt", time_value(end_ms(s))) |
           ebb_value_set(o, "state", ebb_value_text(state)) |
           ebb_value_set(o, "cpuCount",
                         ebb_value_int(ebb_metrics_cpu_count(s->service))) |
           ebb_value_set(o, "memoryMB", ebb_value_int(memory)) |
           ebb_value_set(o, "diskSizeMB", ebb_value_int(disk)) |
           ebb_value_set(o, "metadata", ebb_value_copy(s->metadata)) |
           ebb_value_set(o, "volumeMounts", ebb_value_array());
}

static int add_lifecycle(ebb_value *o, const ebb_sandbox *s)
{
    const char *end = s->life->auto_pause ? "pause" : "kill";
    ebb_value *lifecycle = ebb_value_object();

    if (lifecycle != NULL &&
        (ebb_value_set(lifecycle, "autoResume", ebb_value_bool(false)) |
         ebb_value_set(lifecycle, "onTimeout", ebb_value_text(end))) != 0) {
        ebb_value_free(lifecycle);
        lifecycle = NULL;
    }
    return ebb_value_set(o, "lifecycle", lifecycle);
}

/* allowInternetAccess says what is so, not what was asked for. */
static int add_detail(ebb_value *o, const ebb_sandbox *s)
{
    int failed =
        add_access(o, s) | add_lifecycle(o, s) |
        ebb_value_set(o, "allowInternetAccess", ebb_value_bool(s->network));

    if (s->state == EBB_SANDBOX_PAUSED)
        failed |= ebb_value_set(
            o, "pauseMode",
            ebb_value_text(s->box != NULL ? "full" : "filesystem"));
    return failed;
}

static ebb_value *checked(ebb_value *o, int failed)
{
    if (failed == 0)
        return o;
    ebb_value_free(o);
    return NULL;
}

ebb_value *ebb_describe_sandbox(const ebb_sandbox *sandbox)
{
    ebb_value *o = ebb_value_object();

    return checked(o, add_names(o, sandbox) | add_access(o, sandbox));
}

ebb_value *ebb_describe_listed(const ebb_sandbox *sandbox)
{
    ebb_value *o = ebb_value_object();

    return checked(o, add_names(o, sandbox) | add_life(o, sandbox));
}

ebb_value *ebb_describe_detail(const ebb_sandbox *sandbox)
{
    ebb_value *o = ebb_value_object();

    return checked(o, add_names(o, sandbox) | add_life(o, sandbox) |
                          add_detail(o, sandbox));
}
