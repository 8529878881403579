/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/agent/agent.h"

#include "base/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long STOP waits until nothing runs any more. */
#define STOP_ROUNDS_MAX 200
#define STOP_ROUND_NS 1000000

static ebb_agent_process *find(ebb_agent *agent, uint32_t pid)
{
    for (size_t i = 0; i < agent->processes_count; i++)
        if (agent->processes[i].pid == pid)
            return &agent->processes[i];
    return NULL;
}

static void del(ebb_agent *agent, ebb_agent_process *process)
{
    size_t index = (size_t)(process - agent->processes);

    if (process->ended)
        agent->ended_count--;
    agent->processes_count--;
    memmove(process, process + 1,
            (agent->processes_count - index) * sizeof *process);
}

/* Forgets the one that ended (or started) first. */
static void del_oldest_ended(ebb_agent *agent)
{
    for (size_t i = 0; i < agent->processes_count; i++)
        if (agent->processes[i].ended) {
            del(agent, &agent->processes[i]);
            return;
        }
}

int ebb_agent_process_reserve(ebb_agent *agent)
{
    size_t room = agent->processes_room;
    ebb_agent_process *grown;

    if (agent->processes_count == EBB_AGENT_PROCESSES_MAX)
        del_oldest_ended(agent);
    if (agent->processes_count < room)
        return 0;
    if (room >= EBB_AGENT_PROCESSES_MAX)
        return -1;
    room = room == 0 ? 32 : room * 2;
    grown = ebb_mem_resize(agent->processes, room * sizeof *grown);
    if (grown == NULL)
        return -1;
    agent->processes = grown;
    agent->processes_room = room;
    return 0;
}

void ebb_agent_process_add(ebb_agent *agent, ebb_agent_process process)
{
    ebb_agent_process *old = find(agent, process.pid);

    /* The kernel has given the pid of one that ended to a new process. */
    if (old != NULL)
        del(agent, old);
    agent->processes[agent->processes_count++] = process;
}

static void send_exit(ebb_agent *agent, const ebb_agent_process *process)
{
    ebb_agent_head head = { .type = EBB_AGENT_EXIT,
                            .pid = process->pid,
                            .result = process->status };

    ebb_agent_send(agent, &head, NULL, NULL, 0);
}

static void end(ebb_agent *agent, ebb_agent_process *process, int status)
{
    close(process->stdout_fd);
    close(process->stderr_fd);
    process->stdout_fd = process->stderr_fd = -1;
    process->ended = true;
    process->status = status;
    send_exit(agent, process);
    agent->ended_count++;
    if (agent->ended_count > EBB_AGENT_ENDED_MAX)
        del_oldest_ended(agent);
}

/* A worker that was killed has not sent its last answer. */
static bool end_worker(ebb_agent *agent, pid_t pid, int status)
{
    for (size_t i = 0; i < EBB_AGENT_WORKERS_MAX; i++) {
        ebb_agent_worker *worker = &agent->workers[i];

        if (worker->pid != pid)
            continue;
        if (status != 0 && worker->connection == agent->connection)
            ebb_agent_send_done(agent, worker->id, EINTR);
        worker->pid = 0;
        return true;
    }
    return false;
}

void ebb_agent_reap(ebb_agent *agent)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        ebb_agent_process *process;

        if (end_worker(agent, pid, status))
            continue;
        process = find(agent, (uint32_t)pid);
        /* What is not ours was left to us by a parent that died. */
        if (process != NULL && !process->ended)
            end(agent, process, status);
    }
}

void ebb_agent_send_exits(ebb_agent *agent)
{
    for (size_t i = 0; i < agent->processes_count; i++)
        if (agent->processes[i].ended)
            send_exit(agent, &agent->processes[i]);
}

void ebb_agent_signal(ebb_agent *agent, const ebb_agent_request *request)
{
    const ebb_agent_head *head = &request->head;
    ebb_agent_process *process = find(agent, head->pid);
    bool group = head->flags & EBB_AGENT_GROUP;
    pid_t pid = (pid_t)head->pid;
    int error = ESRCH;

    /*
     * Only what we started is signalled. The group of one that has ended may
     * live on, and its number is not given away before the group is empty.
     */
    if (process != NULL && group && kill(-pid, (int)head->value) == 0)
        error = 0;
    else if (process != NULL && !process->ended)
        error = kill(pid, (int)head->value) == 0 ? 0 : errno;
    ebb_agent_send_done(agent, head->id, error);
}

/* The state letter of proc(5), or 0 if there is no such process (any more). */
static char state_of(const char *pid)
{
    char path[64], text[512];
    const char *state;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    state = strrchr(text, ')'); /* the name before it may hold anything */
    if (state == NULL || state[1] != ' ')
        return 0;
    return state[2];
}

static bool anything_runs(void)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    bool runs = proc == NULL;

    while (!runs && (entry = readdir(proc)) != NULL) {
        char state;

        if (!isdigit((unsigned char)entry->d_name[0]) ||
            strcmp(entry->d_name, "1") == 0)
            continue;
        state = state_of(entry->d_name);
        runs = state != '\0' && strchr("TtZX", state) == NULL;
    }
    if (proc != NULL)
        closedir(proc);
    return runs;
}

void ebb_agent_signal_all(ebb_agent *agent, uint32_t id, int signum)
{
    const struct timespec pause = { .tv_nsec = STOP_ROUND_NS };
    int error = 0;

    /* To all but the caller, and fork cannot slip one past it. */
    if (kill(-1, signum) < 0 && errno != ESRCH)
        error = errno;
    for (int i = 0; error == 0 && signum == SIGSTOP && anything_runs(); i++) {
        if (i == STOP_ROUNDS_MAX)
            error = EBUSY;
        nanosleep(&pause, NULL);
        kill(-1, signum);
    }
    ebb_agent_send_done(agent, id, error);
}
