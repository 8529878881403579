/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A context of the code interpreter: one kernel, made when it is needed, and
 * the executions that wait for it. Runs in one context are one after another;
 * a kernel that dies takes its state with it and the next run gets a new one.
 *
 * It knows no routes and no exchange but those inside executions.
 */

#include "base/err.h"
#include "sandbox/service/interpreter/execution.h"
#include "sandbox/service/interpreter/language.h"
#include "sandbox/service/sandbox.h"

#include <stdbool.h>

#define EBB_CONTEXT_ID_BYTES  37
#define EBB_CONTEXT_QUEUE_MAX 100u

typedef struct ebb_context {
    struct ebb_context *next; /* the interpreter's */
    ebb_sandbox *sandbox;     /* borrowed */
    char id[EBB_CONTEXT_ID_BYTES];
    const ebb_language *language;
    char *cwd;
    bool is_default;    /* of its language */
    ebb_kernel *kernel; /* NULL while there is none */
    int64_t count;      /* of runs of this kernel */
    ebb_execution *active;
    ebb_execution *first, *last; /* that wait */
    unsigned waiting;
    /* Told once when the kernel has started, or not: then err. */
    void (*on_started)(void *owner, struct ebb_context *context,
                       const ebb_err *err);
    void *owner;
} ebb_context;

ebb_context *ebb_context_new(ebb_sandbox *sandbox, const ebb_language *language,
                             const char *cwd, ebb_err *err);

/* Kills the kernel and cuts every execution. */
void ebb_context_free(ebb_context *context);

/* Starts the kernel now; on_started tells, also at once. */
void ebb_context_start(ebb_context *context);

/*
 * Takes an exchange whose code is to run here. Its answer comes when its turn
 * does; EBB_RATE_LIMITED when too many wait (the exchange is then untouched).
 */
int ebb_context_execute(ebb_context *context, ebb_exchange *exchange,
                        const ebb_value *code, const ebb_value *env,
                        ebb_err *err);

/*
 * Kills the kernel and ends every execution with an error of this name and
 * text; the context stays.
 */
void ebb_context_reset(ebb_context *context, const char *name,
                       const char *text);

/* Cuts every execution's exchange; a run that is active goes on. */
void ebb_context_cut(ebb_context *context);

/* Whether the pid was this context's kernel. */
bool ebb_context_exited(ebb_context *context, uint32_t pid, int exit_status);
