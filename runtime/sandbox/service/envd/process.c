/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/process.h"

#include "base/mem.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* ---- finding ---- */

/* A request without a process is one with an empty command: exit 127. */
Process__ProcessConfig *ebb_envd_process_config(
    const Process__StartRequest *request)
{
    static Process__ProcessConfig none = PROCESS__PROCESS_CONFIG__INIT;

    return request->process ? request->process : &none;
}

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

void ebb_envd_process_free(ebb_envd_process *process)
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
    ebb_envd_process_free(process);
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
        ebb_envd_process_free(process);
    }
    while (envd->ended) {
        ebb_envd_ended *ended = envd->ended;

        envd->ended = ended->next;
        ended_free(ended);
    }
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
        infos[n].config = ebb_envd_process_config(each->request);
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
