/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/metrics.h"

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/service/service.h"

#include <math.h>
#include <unistd.h>

typedef struct sample {
    int64_t wall_ms, steady_ms;
    double cpu_seconds; /* of the box since it started */
    uint64_t memory_bytes, disk_bytes, disk_total_bytes;
} sample;

struct ebb_sandbox_meter {
    sample samples[EBB_METRICS_SAMPLES_MAX];
    size_t count;
    int64_t period_ms; /* distance of samples; doubles when full */
};

ebb_sandbox_meter *ebb_metrics_new(ebb_err *err)
{
    ebb_sandbox_meter *meter = ebb_mem_zero(sizeof *meter);

    if (meter == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "metrics");
    else
        meter->period_ms = EBB_METRICS_PERIOD_MS;
    return meter;
}

void ebb_metrics_free(ebb_sandbox_meter *meter)
{
    ebb_mem_free(meter);
}

/* CPU time counts up, so a dropped sample only makes two intervals one. */
static void thin_out(ebb_sandbox_meter *meter)
{
    size_t i;

    for (i = 0; 2 * i < meter->count; i++)
        meter->samples[i] = meter->samples[2 * i];
    meter->count = i;
    meter->period_ms *= 2;
}

/* The timer of the service is not exact: half a period early is enough. */
static bool is_early(const ebb_sandbox_meter *meter, int64_t steady_ms)
{
    int64_t last_ms;

    if (meter->count == 0)
        return false;
    last_ms = meter->samples[meter->count - 1].steady_ms;
    return steady_ms - last_ms < meter->period_ms - EBB_METRICS_PERIOD_MS / 2;
}

void ebb_metrics_add(ebb_sandbox_meter *meter, int64_t wall_ms,
                     int64_t steady_ms, const ebb_box_usage *usage)
{
    if (is_early(meter, steady_ms))
        return;
    if (meter->count == EBB_METRICS_SAMPLES_MAX)
        thin_out(meter);
    meter->samples[meter->count++] =
        (sample){ .wall_ms = wall_ms,
                  .steady_ms = steady_ms,
                  .cpu_seconds = usage->cpu_seconds,
                  .memory_bytes = usage->memory_bytes,
                  .disk_bytes = usage->disk_bytes,
                  .disk_total_bytes = usage->disk_total_bytes };
}

void ebb_metrics_sample(ebb_sandbox *sandbox)
{
    const ebb_clock *clock = ebb_clock_real();
    int64_t steady_ms = ebb_clock_steady_ms(clock);
    ebb_box_usage usage = { 0 };

    /* Asking costs system calls; a sample that is left out needs none. */
    if (is_early(sandbox->meter, steady_ms))
        return;
    ebb_box_usage_get(sandbox->box, &usage);
    ebb_metrics_add(sandbox->meter, ebb_clock_wall_ms(clock), steady_ms,
                    &usage);
}

int64_t ebb_metrics_cpu_count(const ebb_service *service)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    double limit = service->config.limits.cpus;

    if (limit > 0)
        return (int64_t)ceil(limit);
    return online > 0 ? online : 1;
}

int64_t ebb_metrics_memory_bytes(const ebb_service *service)
{
    uint64_t limit = service->config.limits.memory_bytes;

    if (limit > 0 && limit <= INT64_MAX)
        return (int64_t)limit;
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* The average over all cores since the sample before: 100 is all busy. */
static double cpu_used_pct(const ebb_sandbox_meter *meter, size_t at,
                           int64_t cpus)
{
    const sample *now = &meter->samples[at];
    const sample *before = at > 0 ? now - 1 : NULL;
    double used = now->cpu_seconds;
    int64_t ms;

    if (before == NULL || now->steady_ms <= before->steady_ms)
        return 0;
    ms = now->steady_ms - before->steady_ms;
    /* A fresh box after a pause without memory counts from zero again. */
    if (used >= before->cpu_seconds)
        used -= before->cpu_seconds;
    return round(used * 1000 * 100 / (double)ms / (double)cpus * 100) / 100;
}

static ebb_value *describe(const ebb_sandbox *sandbox, size_t at)
{
    const sample *s = &sandbox->meter->samples[at];
    int64_t cpus = ebb_metrics_cpu_count(sandbox->service);
    int64_t memory = ebb_metrics_memory_bytes(sandbox->service);
    double pct = cpu_used_pct(sandbox->meter, at, cpus);
    char time[EBB_CLOCK_ISO_BYTES];
    ebb_value *o = ebb_value_object();

    if (o == NULL)
        return NULL;
    ebb_clock_iso(s->wall_ms, time);
    if ((ebb_value_set(o, "timestamp", ebb_value_text(time)) |
         ebb_value_set(o, "timestampUnix", ebb_value_int(s->wall_ms / 1000)) |
         ebb_value_set(o, "cpuCount", ebb_value_int(cpus)) |
         ebb_value_set(o, "cpuUsedPct", ebb_value_float(pct)) |
         ebb_value_set(o, "memUsed", ebb_value_int((int64_t)s->memory_bytes)) |
         ebb_value_set(o, "memTotal", ebb_value_int(memory)) |
         ebb_value_set(o, "memCache", ebb_value_int(0)) |
         ebb_value_set(o, "diskUsed", ebb_value_int((int64_t)s->disk_bytes)) |
         ebb_value_set(o, "diskTotal",
                       ebb_value_int((int64_t)s->disk_total_bytes))) == 0)
        return o;
    ebb_value_free(o);
    return NULL;
}

ebb_value *ebb_metrics_get(const ebb_sandbox *sandbox, int64_t start_s,
                           int64_t end_s)
{
    const ebb_sandbox_meter *meter = sandbox->meter;
    ebb_value *array = ebb_value_array();
    size_t i;

    for (i = 0; array != NULL && i < meter->count; i++) {
        int64_t at_s = meter->samples[i].wall_ms / 1000;

        if (at_s < start_s || (end_s >= 0 && at_s > end_s))
            continue;
        if (ebb_value_add(array, describe(sandbox, i)) != 0) {
            ebb_value_free(array);
            return NULL;
        }
    }
    return array;
}

ebb_value *ebb_metrics_get_last(const ebb_sandbox *sandbox)
{
    if (sandbox->meter->count == 0)
        return NULL;
    return describe(sandbox, sandbox->meter->count - 1);
}
