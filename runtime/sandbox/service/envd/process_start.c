/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/process.h"

#include "base/mem.h"
#include "sandbox/service/envd/envd_path.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Of a command line in the log and in errors. */
#define COMMAND_BYTES 200

/* The command and its arguments on one line, cut between two characters. */
static void describe(const Process__ProcessConfig *config,
                     char out[COMMAND_BYTES])
{
    size_t i;
    int n = snprintf(out, COMMAND_BYTES, "%s", config->cmd);

    for (i = 0; i < config->n_args && n < COMMAND_BYTES; i++)
        n += snprintf(out + n, COMMAND_BYTES - (size_t)n, " %s",
                      config->args[i]);
    if (n < COMMAND_BYTES)
        return;
    n = COMMAND_BYTES - 1;
    while (n > 0 && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
        n--;
    if (n > 0 && (unsigned char)out[n - 1] >= 0xc0)
        n--;
    out[n] = '\0';
}

/* A signal whose outcome nobody waits for. */
static void signalled(void *context, const ebb_err *err)
{
    (void)context;
    (void)err;
}

/*
 * The command's time is over, also when its client is long gone. The whole
 * group dies: what the command left in the background is part of it.
 */
static void on_deadline(void *context)
{
    ebb_envd_process *process = context;

    process->signalled = true;
    ebb_box_signal(process->envd->sandbox->box, process->pid, SIGKILL, true,
                   signalled, NULL);
    ebb_sandbox_log_add(process->envd->sandbox, "warn", "envd",
                        "process %" PRIu32 " was killed at its deadline",
                        process->pid);
    ebb_envd_output_expire(process);
}

/*
 * Lists a started process. Takes the descriptors and the call's request; NULL
 * when there is no memory for it.
 */
static ebb_envd_process *add_process(ebb_envd_call *call, uint32_t pid,
                                     const int fds[3])
{
    ebb_envd *envd = call->envd;
    ebb_envd_process *process = ebb_mem_zero(sizeof *process), **at;
    ebb_err err;
    int i;

    for (i = 0; !process && i < 3; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    if (!process)
        return NULL;
    process->envd = envd;
    process->pid = pid;
    process->request = (Process__StartRequest *)ebb_envd_rpc_take(call);
    process->stdin_fd = fds[0];
    if (ebb_envd_output_open(process, fds[1], fds[2], &err) != 0) {
        ebb_envd_process_free(process);
        return NULL;
    }
    for (at = &envd->processes; *at; at = &(*at)->next)
        ;
    *at = process;
    envd->processes_count++;
    return process;
}

static void limit_process(ebb_envd_process *process, const ebb_envd_rpc *rpc)
{
    /* The real envd lets a process run on without limit after 0 and less. */
    if (!rpc->bound || rpc->timeout_ms <= 0)
        return;
    process->deadline =
        ebb_loop_timer_new(process->envd->loop, on_deadline, process);
    if (process->deadline)
        ebb_loop_timer_start(process->deadline, rpc->timeout_ms);
}

static void refuse_start(ebb_envd_call *call, const ebb_err *err)
{
    const Process__ProcessConfig *config = ebb_envd_process_config(
        (const Process__StartRequest *)call->rpc->request);
    char command[COMMAND_BYTES];

    describe(config, command);
    if (err->code == EBB_INVALID_INPUT && err->status == ENOENT)
        ebb_envd_fail(call, EBB_CONNECT_INVALID_ARGUMENT,
                      "cwd '%s' does not exist",
                      config->_cwd_case != 0 ? config->cwd : EBB_ENVD_HOME);
    else if (err->code == EBB_INVALID_INPUT)
        ebb_envd_fail(call, EBB_CONNECT_INVALID_ARGUMENT,
                      "error starting process '%s': %s", command,
                      err->status == ENOTDIR ? "not a directory" : err->msg);
    else if (err->code == EBB_SANDBOX_NOT_RUNNING)
        ebb_envd_fail(call, EBB_CONNECT_UNAVAILABLE, "%s", err->msg);
    else
        ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED,
                      "error starting process '%s': %s", command, err->msg);
}

static void on_spawned(void *context, uint32_t pid, int stdin_fd, int stdout_fd,
                       int stderr_fd, const ebb_err *err)
{
    const int fds[3] = { stdin_fd, stdout_fd, stderr_fd };
    ebb_envd_call *call = context;
    ebb_envd_process *process = NULL;
    char command[COMMAND_BYTES];

    if (err) {
        refuse_start(call, err);
        ebb_envd_call_arrived(call);
        return;
    }
    if (call->envd) {
        process = add_process(call, pid, fds);
        if (!process) {
            ebb_box_signal(call->envd->sandbox->box, pid, SIGKILL, true,
                           signalled, NULL);
            ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED,
                          "no memory for the process");
        }
    } else { /* the sandbox went while it started */
        close(stdout_fd);
        close(stderr_fd);
        if (stdin_fd >= 0)
            close(stdin_fd);
    }
    if (process) {
        describe(ebb_envd_process_config(process->request), command);
        ebb_sandbox_log_add(call->envd->sandbox, "info", "envd",
                            "process %" PRIu32 " started: %s", pid, command);
        limit_process(process, call->rpc);
        if (call->rpc->bound && call->rpc->timeout_ms < 0)
            ebb_envd_fail(call, EBB_CONNECT_DEADLINE_EXCEEDED,
                          "context deadline exceeded");
        if (ebb_envd_call_open(call))
            ebb_envd_subscribe(process, call, true);
    }
    ebb_envd_call_arrived(call);
}

void ebb_envd_start(ebb_envd_call *call, const ProtobufCMessage *request)
{
    const Process__StartRequest *start = (const Process__StartRequest *)request;
    const Process__ProcessConfig *config = ebb_envd_process_config(start);
    ebb_envd_launch launch;
    ebb_err err;

    if (start->_pty_case != 0) {
        ebb_envd_fail(call, EBB_CONNECT_UNIMPLEMENTED,
                      "the local service does not offer a pty");
        return;
    }
    if (call->envd->processes_count >= EBB_ENVD_PROCESSES_MAX) {
        ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED,
                      "more than %u processes at once", EBB_ENVD_PROCESSES_MAX);
        return;
    }
    if (ebb_envd_launch_init(&launch, call, config, &err) == 0) {
        launch.spawn.stdin_pipe = start->_stdin_case == 0 || start->stdin;
        ebb_envd_call_hold(call);
        ebb_box_spawn(call->envd->sandbox->box, &launch.spawn, on_spawned,
                      call);
    } else {
        ebb_envd_fail(call, EBB_CONNECT_INVALID_ARGUMENT, "%s", err.msg);
    }
    ebb_envd_launch_clear(&launch);
}
