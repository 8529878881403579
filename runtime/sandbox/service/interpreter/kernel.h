/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One kernel: the process inside a sandbox that keeps the state of a context
 * and runs its code, one run at a time. It knows no HTTP and no queue.
 *
 * What is said:
 *   to the kernel, on its standard input, a line of JSON each (bash: shell
 *   text, see language.h):
 *     {"env": {…}}                     variables that stay
 *     {"id": N, "code": "…", "env": {…}}  a run; env for the run only
 *   by the kernel, as lines in frames (frames.h) in its standard output:
 *     {"type": "ready"} or {"type": "unavailable", "message"}
 *     {"type": "result", "data": {mime: form}, "main": bool}
 *     {"type": "error", "name", "value", "traceback"}
 *     {"type": "end", "id": N, "status"?}  also in its standard error
 * Everything else in both pipes is output of the user's code. A run is over
 * when both pipes have said so, hence nothing of it is behind.
 *
 * The kernel is user code's own process: nothing it says is trusted.
 */

#include "base/err.h"
#include "base/value.h"
#include "sandbox/service/interpreter/language.h"
#include "sandbox/service/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBB_KERNEL_START_MS          30000 /* to its first word */
#define EBB_KERNEL_INTERRUPT_MS      3000  /* from SIGINT to SIGKILL */
#define EBB_KERNEL_REQUEST_BYTES_MAX (64u * 1024 * 1024)

typedef struct ebb_kernel ebb_kernel;

typedef enum ebb_kernel_stream {
    EBB_KERNEL_STDOUT,
    EBB_KERNEL_STDERR
} ebb_kernel_stream;

/* Callbacks come from the loop; on_end and on_death may free the kernel. */
typedef struct ebb_kernel_events {
    void *context;
    /* It takes runs now, or err says why it never will. Once. */
    void (*on_ready)(void *context, const ebb_err *err);
    /* Of the run that is active. */
    void (*on_output)(void *context, ebb_kernel_stream stream,
                      const char *bytes, size_t n);
    void (*on_message)(void *context, const ebb_value *message);
    /* The run is over; status is that of a shell's last command, else 0. */
    void (*on_end)(void *context, int status);
    /*
     * The process has ended, after on_ready; a run that was active is over.
     * exit_status: as of wait.
     */
    void (*on_death)(void *context, int exit_status);
} ebb_kernel_events;

/* Starts one in the sandbox's box. cwd is absolute. */
ebb_kernel *ebb_kernel_start(ebb_sandbox *sandbox, const ebb_language *language,
                             const char *cwd, const ebb_kernel_events *events,
                             ebb_err *err);

/* Kills the process; no callback comes any more. NULL is fine. */
void ebb_kernel_free(ebb_kernel *kernel);

/* Runs code; only while ready and no run is active. */
int ebb_kernel_run(ebb_kernel *kernel, const ebb_value *code,
                   const ebb_value *env, ebb_err *err);

bool ebb_kernel_is_ready(const ebb_kernel *kernel); /* and idle */

/*
 * Ends the active run by SIGINT, and the kernel by SIGKILL if that does not
 * end the run in time: on_end or on_death comes.
 */
void ebb_kernel_interrupt(ebb_kernel *kernel);

/* While held, nothing is read from the kernel: its writes wait. */
void ebb_kernel_hold(ebb_kernel *kernel, bool held);

/* The box has reported an exit. Whether pid was this kernel's. */
bool ebb_kernel_exited(ebb_kernel *kernel, uint32_t pid, int exit_status);
