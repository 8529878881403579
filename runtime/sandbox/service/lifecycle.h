/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The life of a sandbox: the only module that changes its state, starts and
 * stops its box and moves its end. It knows no HTTP.
 *
 *   STARTING → RUNNING → PAUSING → PAUSED → STARTING → …
 *   any → KILLING → gone
 *
 * A transition takes several turns of the loop; who needs its outcome waits
 * for the sandbox to settle (waiter.h). A sandbox is freed
 * only from the loop, never inside a call made here.
 */

#include "base/err.h"
#include "base/value.h"
#include "sandbox/service/sandbox.h"
#include "sandbox/service/remover.h"
#include "sandbox/service/service.h"
#include "sandbox/service/waiter.h"

#include <stdbool.h>
#include <stdint.h>

/* How long a sandbox may be asked to live. */
#define EBB_TIMEOUT_HOURS_MAX 720
#define EBB_TIMEOUT_S_MAX     ((int64_t)EBB_TIMEOUT_HOURS_MAX * 3600)

struct ebb_lifecycle {
    int64_t timeout_ms;    /* from the moment it runs */
    int64_t end_steady_ms; /* the true end; end_ms is for showing */
    bool auto_pause, auto_pause_memory; /* at the end instead of a kill */
    bool born;           /* was running once: it is shown to clients */
    bool frozen;         /* paused with its processes */
    bool stopping;       /* its box was told to stop */
    const char *cause;   /* of its end; a constant */
    pid_t pid;           /* what a later service would kill, and when */
    uint64_t pid_start;  /* that process was started */
    ebb_waiter *waiters; /* waiter.c's, oldest first */
    unsigned round;
    ebb_err error; /* why the box did not start; code EBB_OK: it did */
    ebb_remover remover;
};

/* Everything is borrowed and copied. */
typedef struct ebb_lifecycle_spec {
    const char *template_id; /* a constant */
    int64_t timeout_ms;
    bool secured;
    const ebb_value *metadata, *envs; /* objects of strings, or NULL */
    const ebb_value *allow_internet;  /* a bool, or NULL */
    bool auto_pause, auto_pause_memory;
} ebb_lifecycle_spec;

/* EBB_LIMIT_EXCEEDED when there are too many. The result is STARTING. */
ebb_sandbox *ebb_lifecycle_start(ebb_service *service,
                                 const ebb_lifecycle_spec *spec, ebb_err *err);

/*
 * A sandbox of an earlier service, by the name of its directory: an empty one
 * to be filled by ebb_state_parse, and taken into the service, when it was
 * paused without memory, by adopt.
 */
ebb_sandbox *ebb_lifecycle_new(ebb_service *service, const char *name);
int ebb_lifecycle_adopt(ebb_sandbox *sandbox, ebb_err *err);

/* RUNNING only. Without memory only the files stay. */
void ebb_lifecycle_pause(ebb_sandbox *sandbox, bool memory);

/* PAUSED only. Without memory a frozen box is replaced by a fresh one. */
void ebb_lifecycle_resume(ebb_sandbox *sandbox, int64_t timeout_ms,
                          bool memory);

/* In any state; in KILLING nothing happens. cause is a constant. */
void ebb_lifecycle_kill(ebb_sandbox *sandbox, const char *cause);

/* RUNNING only: sets the end to so long from now, or only moves it later. */
void ebb_lifecycle_set_end(ebb_sandbox *sandbox, int64_t timeout_ms,
                           bool extend_only);

/* Frees the struct and what hangs on it; its box must be gone. */
void ebb_lifecycle_free(ebb_sandbox *sandbox);

/*
 * For lifecycle.c: the storage alone. name is that of its directory, or NULL
 * while it has none; set gives it one by its id, and what spec says.
 */
ebb_sandbox *ebb_sandbox_new(ebb_service *service, const char *name,
                             ebb_loop_fn *expired);
int ebb_sandbox_set(ebb_sandbox *sandbox, const ebb_lifecycle_spec *spec,
                    ebb_err *err);
void ebb_sandbox_free(ebb_sandbox *sandbox);
