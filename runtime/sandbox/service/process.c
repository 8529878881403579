/* SPDX-License-Identifier: MIT */
#include "sandbox/service/process.h"

#include "base/mem.h"
#include "sandbox/service/envd_path.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a command line in the log and in errors. */
#define COMMAND_BYTES 200

static Process__ProcessConfig no_config = PROCESS__PROCESS_CONFIG__INIT;

/* A request without a process is one with an empty command: exit 127. */
static Process__ProcessConfig *config_of(const Process__StartRequest *request)
{
    return request->process ? request->process : &no_config;
}

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

/* ---- finding ---- */

ebb_envd_process *ebb_envd_process_of(const ebb_envd *envd, uint32_t pid)
{
    ebb_envd_process *each = envd->processes;

    while (each && each->pid != pid)
        each = each->next;
    return each;
}

ebb_envd_process *ebb_envd_process_match(const ebb_envd *envd,
                                         const Process__ProcessSelector *by)
{
    ebb_envd_process *each;

    if (by->selector_case == PROCESS__PROCESS_SELECTOR__SELECTOR_PID)
        return ebb_envd_process_of(envd, by->pid);
    for (each = envd->processes; each; each = each->next) {
        if (each->request->_tag_case != 0 &&
            strcmp(each->request->tag, by->tag) == 0)
            return each;
    }
    return NULL;
}

ebb_envd_process *ebb_envd_process_find(ebb_envd_call *call,
                                        const Process__ProcessSelector *by)
{
    ebb_envd_process *found;

    if (!by || by->selector_case == 0) {
        ebb_envd_fail(call, EBB_CONNECT_UNIMPLEMENTED,
                      "invalid input type *process.ProcessSelector");
        return NULL;
    }
    found = ebb_envd_process_match(call->envd, by);
    if (found)
        return found;
    if (by->selector_case == PROCESS__PROCESS_SELECTOR__SELECTOR_PID)
        ebb_envd_fail(call, EBB_CONNECT_NOT_FOUND,
                      "process with pid %" PRIu32 " not found", by->pid);
    else
        ebb_envd_fail(call, EBB_CONNECT_NOT_FOUND,
                      "process with tag %s not found", by->tag);
    return NULL;
}

/* ---- the end of a process ---- */

static void ended_free(ebb_envd_ended *ended)
{
    ebb_mem_free(ended->tag);
    ebb_mem_free(ended);
}

/* Forgets what is too old or too much; the list is newest first. */
static void prune_ended(ebb_envd *envd)
{
    int64_t now = ebb_loop_now_ms(envd->loop);
    ebb_envd_ended **at = &envd->ended;
    size_t kept = 0;

    while (*at && kept < EBB_ENVD_ENDED_MAX &&
           now - (*at)->ended_ms <= EBB_ENVD_RETENTION_MS) {
        at = &(*at)->next;
        kept++;
    }
    while (*at) {
        ebb_envd_ended *old = *at;

        *at = old->next;
        ended_free(old);
    }
    envd->ended_count = kept;
}

static void remember_end(ebb_envd_process *process)
{
    ebb_envd *envd = process->envd;
    ebb_envd_ended *ended = ebb_mem_zero(sizeof *ended);

    if (!ended)
        return; /* then a late Connect finds nothing */
    ended->pid = process->pid;
    ended->status = process->status;
    ended->ended_ms = ebb_loop_now_ms(envd->loop);
    if (process->request->_tag_case != 0)
        ended->tag = ebb_mem_dup(process->request->tag);
    ended->next = envd->ended;
    envd->ended = ended;
    prune_ended(envd);
}

/* The process is out of the list and nobody is subscribed. */
static void process_free(ebb_envd_process *process)
{
    ebb_envd_input_close(process);
    ebb_envd_output_close(process);
    ebb_loop_timer_free(process->deadline);
    if (process->request)
        process__start_request__free_unpacked(process->request, NULL);
    ebb_mem_free(process);
}

static void unlink_process(ebb_envd_process *process)
{
    ebb_envd_process **at = &process->envd->processes;

    while (*at && *at != process)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = process->next;
    process->envd->processes_count--;
}

void ebb_envd_process_finish(ebb_envd_process *process)
{
    int status = process->status;

    if (WIFEXITED(status))
        ebb_sandbox_log_add(process->envd->sandbox, "info", "envd",
                            "process %" PRIu32 " exited with %d", process->pid,
                            WEXITSTATUS(status));
    else
        ebb_sandbox_log_add(process->envd->sandbox, "info", "envd",
                            "process %" PRIu32 " was ended by signal %d",
                            process->pid, WTERMSIG(status));
    unlink_process(process);
    remember_end(process);
    ebb_envd_output_end(process);
    process_free(process);
}

bool ebb_envd_exited(ebb_envd *envd, uint32_t pid, int status)
{
    ebb_envd_process *process = ebb_envd_process_of(envd, pid);

    if (!process || process->exited)
        return false;
    process->exited = true;
    process->status = status;
    ebb_envd_output_check(process);
    return true;
}

void ebb_envd_processes_free(ebb_envd *envd)
{
    while (envd->processes) {
        ebb_envd_process *process = envd->processes;

        envd->processes = process->next;
        process_free(process);
    }
    while (envd->ended) {
        ebb_envd_ended *ended = envd->ended;

        envd->ended = ended->next;
        ended_free(ended);
    }
}

/* ---- Start ---- */

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
        process_free(process);
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
    const Process__ProcessConfig *config =
        config_of((const Process__StartRequest *)call->rpc->request);
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
        describe(config_of(process->request), command);
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
    const Process__ProcessConfig *config = config_of(start);
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

/* ---- List, SendSignal, Update ---- */

void ebb_envd_list(ebb_envd_call *call, const ProtobufCMessage *request)
{
    Process__ListResponse response = PROCESS__LIST_RESPONSE__INIT;
    size_t room = call->envd->processes_count;
    Process__ProcessInfo *infos = ebb_mem_zero(room * sizeof *infos);
    Process__ProcessInfo **list = ebb_mem_zero(room * sizeof(void *));
    ebb_envd_process *each;
    size_t n = 0;

    (void)request;
    for (each = call->envd->processes; infos && list && each;
         each = each->next) {
        if (each->exited)
            continue; /* its output is still awaited */
        process__process_info__init(&infos[n]);
        infos[n].config = config_of(each->request);
        infos[n].pid = each->pid;
        if (each->request->_tag_case != 0) {
            infos[n]._tag_case = PROCESS__PROCESS_INFO___TAG_TAG;
            infos[n].tag = each->request->tag;
        }
        list[n] = &infos[n];
        n++;
    }
    response.n_processes = n;
    response.processes = list;
    if (infos && list)
        ebb_envd_answer(call, &response.base);
    else
        ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED, "no memory");
    ebb_mem_free(infos);
    ebb_mem_free(list);
}

static void on_signalled(void *context, const ebb_err *err)
{
    Process__SendSignalResponse response = PROCESS__SEND_SIGNAL_RESPONSE__INIT;
    ebb_envd_call *call = context;

    if (!err)
        ebb_envd_answer(call, &response.base);
    else
        ebb_envd_fail(call,
                      err->code == EBB_NOT_FOUND ? EBB_CONNECT_NOT_FOUND
                                                 : EBB_CONNECT_INTERNAL,
                      "error sending signal: %s", err->msg);
    ebb_envd_call_arrived(call);
}

/*
 * Ends a command with everything it started in its group, where E2B's reaches
 * one pid and leaves its children running: that is what callers mean by it.
 */
void ebb_envd_signal(ebb_envd_call *call, const ProtobufCMessage *request)
{
    const Process__SendSignalRequest *send =
        (const Process__SendSignalRequest *)request;
    ebb_envd_process *process = ebb_envd_process_find(call, send->process);
    int signum = (int)send->signal;

    if (!process)
        return;
    if (signum == PROCESS__SIGNAL__SIGNAL_UNSPECIFIED) {
        ebb_envd_fail(call, EBB_CONNECT_UNIMPLEMENTED,
                      "invalid signal: SIGNAL_UNSPECIFIED");
    } else if (signum != SIGKILL && signum != SIGTERM) {
        ebb_envd_fail(call, EBB_CONNECT_UNIMPLEMENTED, "invalid signal: %d",
                      signum);
    } else {
        process->signalled = true;
        ebb_envd_call_hold(call);
        ebb_box_signal(call->envd->sandbox->box, process->pid, signum, true,
                       on_signalled, call);
        if (process->exited) /* and was waiting for its pipes */
            ebb_envd_output_check(process);
    }
}

void ebb_envd_update(ebb_envd_call *call, const ProtobufCMessage *request)
{
    const Process__UpdateRequest *update =
        (const Process__UpdateRequest *)request;
    Process__UpdateResponse response = PROCESS__UPDATE_RESPONSE__INIT;

    if (!ebb_envd_process_find(call, update->process))
        return;
    if (update->_pty_case != 0)
        ebb_envd_fail(call, EBB_CONNECT_INTERNAL,
                      "error resizing tty: tty not assigned to process");
    else
        ebb_envd_answer(call, &response.base);
}
