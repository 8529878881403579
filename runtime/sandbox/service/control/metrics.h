/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a sandbox uses, sampled every five seconds while it runs. The samples
 * cover its whole life in bounded memory: when the table is full, every
 * second one is dropped and the distance doubles.
 */

#include "base/err.h"
#include "base/value.h"
#include "sandbox/service/sandbox.h"

#include <stddef.h>
#include <stdint.h>

#define EBB_METRICS_PERIOD_MS   5000
#define EBB_METRICS_SAMPLES_MAX 720

ebb_sandbox_meter *ebb_metrics_new(ebb_err *err);
void ebb_metrics_free(ebb_sandbox_meter *meter);

/* A sample of these times; one that comes too early is left out. */
void ebb_metrics_add(ebb_sandbox_meter *meter, int64_t wall_ms,
                     int64_t steady_ms, const ebb_box_usage *usage);

/* The sandbox has a box that answers. */
void ebb_metrics_sample(ebb_sandbox *sandbox);

/*
 * The samples from start_s to end_s (wall clock; both included, end_s -1: no
 * end), oldest first, as an array of E2B's objects. NULL: no memory.
 */
ebb_value *ebb_metrics_get(const ebb_sandbox *sandbox, int64_t start_s,
                           int64_t end_s);

/* The newest as one object; NULL if there is none. */
ebb_value *ebb_metrics_get_last(const ebb_sandbox *sandbox);

/* What a sandbox may use at most, or what the machine has. */
int64_t ebb_metrics_cpu_count(const ebb_service *service);
int64_t ebb_metrics_memory_bytes(const ebb_service *service);
