/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sigabbrev_np */
#include "sandbox/service/interpreter/context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/mem.h"

#define REASON_BYTES 256

static void pump(ebb_context *context);

/* ---- the queue ---- */

static void push(ebb_context *context, ebb_execution *execution)
{
    if (context->last != NULL) {
        ebb_execution_set_next(context->last, execution);
    } else {
        context->first = execution;
    }
    context->last = execution;
    context->waiting++;
}

static ebb_execution *pop(ebb_context *context)
{
    ebb_execution *execution = context->first;
    if (execution != NULL) {
        context->first = ebb_execution_next(execution);
        if (context->first == NULL) {
            context->last = NULL;
        }
        ebb_execution_set_next(execution, NULL);
        context->waiting--;
    }
    return execution;
}

/* The client of a run has left: the run is pointless. */
static void on_leave(void *owner, ebb_execution *execution)
{
    ebb_context *context = owner;
    unsigned n = context->waiting;
    if (execution == context->active) {
        if (context->kernel != NULL) {
            ebb_kernel_interrupt(context->kernel);
        }
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        ebb_execution *waiting = pop(context);
        if (waiting == execution) {
            ebb_execution_free(waiting);
        } else {
            push(context, waiting);
        }
    }
}

static void on_full(void *owner, ebb_execution *execution, bool full)
{
    ebb_context *context = owner;
    if (execution == context->active && context->kernel != NULL) {
        ebb_kernel_hold(context->kernel, full);
    }
}

/* Refuses what waits; what is active has its own end. */
static void refuse_waiting(ebb_context *context, int status, const char *name,
                           const char *text)
{
    ebb_execution *execution;
    while ((execution = pop(context)) != NULL) {
        ebb_execution_refuse(execution, status, name, text);
        ebb_execution_free(execution);
    }
}

/* ---- the kernel's events ---- */

static void finish_active(ebb_context *context)
{
    ebb_execution *execution = context->active;
    if (execution != NULL) {
        ebb_execution_end(execution);
        context->active = NULL;
        ebb_execution_free(execution);
    }
}

static void tell_started(ebb_context *context, const ebb_err *err)
{
    void (*fn)(void *, ebb_context *, const ebb_err *) = context->on_started;
    context->on_started = NULL;
    if (fn != NULL) {
        fn(context->owner, context, err);
    }
}

static void on_ready(void *owner, const ebb_err *failed)
{
    ebb_context *context = owner;
    if (failed != NULL) {
        ebb_err err = *failed;
        if (err.status == ENOENT || err.status == ENOTDIR) {
            ebb_err_set(&err, EBB_INVALID_INPUT,
                        "there is no directory %s in the sandbox",
                        context->cwd);
        }
        ebb_kernel_free(context->kernel);
        context->kernel = NULL;
        ebb_sandbox_log_add(context->sandbox, "error", "interpreter", "%s",
                            err.msg);
        refuse_waiting(context, 500, "ExecutionAborted", err.msg);
        tell_started(context, &err); /* may free the context */
        return;
    }
    pump(context);
    tell_started(context, NULL);
}

static void on_output(void *owner, ebb_kernel_stream stream, const char *bytes,
                      size_t n)
{
    ebb_context *context = owner;
    ebb_execution_output(context->active, stream, bytes, n);
}

static void on_message(void *owner, const ebb_value *message)
{
    ebb_context *context = owner;
    ebb_execution_message(context->active, message);
}

static void say_status(ebb_context *context, int status)
{
    char text[REASON_BYTES];
    if (status != 0) {
        snprintf(text, sizeof text, "exit status %d", status);
        ebb_execution_error(context->active, "ExitStatus", text);
    }
}

static void on_end(void *owner, int status)
{
    ebb_context *context = owner;
    say_status(context, status);
    finish_active(context);
    pump(context);
}

static void on_death(void *owner, int exit_status)
{
    ebb_context *context = owner;
    bool exited = WIFEXITED(exit_status);
    char why[REASON_BYTES];
    if (exited) {
        snprintf(why, sizeof why, "exited with status %d",
                 WEXITSTATUS(exit_status));
    } else {
        const char *name = sigabbrev_np(WTERMSIG(exit_status));
        snprintf(why, sizeof why, "was killed by SIG%s%s",
                 name != NULL ? name : "?",
                 WTERMSIG(exit_status) == 9 ? " (out of memory?)" : "");
    }
    ebb_sandbox_log_add(context->sandbox, "warn", "interpreter",
                        "the %s kernel %s", context->language->name, why);
    if (context->active != NULL && exited && context->language->is_shell) {
        say_status(context, WEXITSTATUS(exit_status)); /* the code's exit */
    } else if (context->active != NULL) {
        char text[2 * REASON_BYTES];
        snprintf(text, sizeof text,
                 "the %s kernel %s before the run had ended; its state is "
                 "lost, the next run gets a new kernel",
                 context->language->name, why);
        ebb_execution_error(context->active, "UnexpectedEndOfExecution", text);
    }
    ebb_kernel_free(context->kernel);
    context->kernel = NULL;
    finish_active(context);
    pump(context);
}

static int start(ebb_context *context, ebb_err *err)
{
    ebb_kernel_events events = { .context = context,
                                 .on_ready = on_ready,
                                 .on_output = on_output,
                                 .on_message = on_message,
                                 .on_end = on_end,
                                 .on_death = on_death };
    context->count = 0;
    context->kernel = ebb_kernel_start(context->sandbox, context->language,
                                       context->cwd, &events, err);
    return context->kernel != NULL ? 0 : -1;
}

/* Starts what can start: the kernel, then the next execution. */
static void pump(ebb_context *context)
{
    ebb_err err;
    while (context->active == NULL && context->first != NULL) {
        if (context->kernel == NULL && start(context, &err) != 0) {
            refuse_waiting(context, 500, "ExecutionAborted", err.msg);
            return;
        }
        if (!ebb_kernel_is_ready(context->kernel)) {
            return;
        }
        context->active = pop(context);
        ebb_execution_begin(context->active, context->count + 1);
        if (ebb_kernel_run(context->kernel, ebb_execution_code(context->active),
                           ebb_execution_env(context->active), &err) == 0) {
            context->count++;
            return;
        }
        ebb_execution_error(context->active, "ExecutionAborted", err.msg);
        finish_active(context);
    }
}

/* ---- for the interpreter ---- */

ebb_context *ebb_context_new(ebb_sandbox *sandbox, const ebb_language *language,
                             const char *cwd, ebb_err *err)
{
    unsigned char random[16];
    ebb_context *context = ebb_mem_zero(sizeof *context);
    if (context == NULL || (context->cwd = ebb_mem_dup(cwd)) == NULL) {
        ebb_mem_free(context);
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for a context");
        return NULL;
    }
    if (ebb_digest_random(random, sizeof random, err) != 0) {
        ebb_context_free(context);
        return NULL;
    }
    ebb_id_uuid(random, context->id);
    context->sandbox = sandbox;
    context->language = language;
    return context;
}

void ebb_context_free(ebb_context *context)
{
    ebb_execution *execution;
    if (context == NULL) {
        return;
    }
    ebb_kernel_free(context->kernel);
    ebb_execution_free(context->active);
    while ((execution = pop(context)) != NULL) {
        ebb_execution_free(execution);
    }
    ebb_mem_free(context->cwd);
    ebb_mem_free(context);
}

void ebb_context_start(ebb_context *context)
{
    ebb_err err;
    if (context->kernel == NULL && start(context, &err) != 0) {
        tell_started(context, &err);
    }
}

int ebb_context_execute(ebb_context *context, ebb_exchange *exchange,
                        const ebb_value *code, const ebb_value *env,
                        ebb_err *err)
{
    ebb_execution_config config = {
        .loop = ebb_service_loop(context->sandbox->service),
        .exchange = exchange,
        .code = code,
        .env = env,
        .context = context,
        .on_leave = on_leave,
        .on_full = on_full,
    };
    ebb_execution *execution;
    if (context->waiting >= EBB_CONTEXT_QUEUE_MAX) {
        return ebb_err_set(err, EBB_RATE_LIMITED,
                           "%u executions wait in this context; the limit "
                           "is %u",
                           context->waiting, EBB_CONTEXT_QUEUE_MAX);
    }
    execution = ebb_execution_new(&config, err);
    if (execution == NULL) {
        return -1;
    }
    push(context, execution);
    pump(context);
    return 0;
}

void ebb_context_reset(ebb_context *context, const char *name, const char *text)
{
    ebb_kernel_free(context->kernel);
    context->kernel = NULL;
    context->count = 0;
    if (context->active != NULL) {
        ebb_execution_error(context->active, name, text);
        finish_active(context);
    }
    refuse_waiting(context, 500, name, text);
}

void ebb_context_cut(ebb_context *context)
{
    ebb_execution *execution;
    if (context->active != NULL) {
        ebb_execution_cut(context->active);
    }
    while ((execution = pop(context)) != NULL) {
        ebb_execution_free(execution);
    }
}

bool ebb_context_exited(ebb_context *context, uint32_t pid, int exit_status)
{
    return context->kernel != NULL &&
           ebb_kernel_exited(context->kernel, pid, exit_status);
}
