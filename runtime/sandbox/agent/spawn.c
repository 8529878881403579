/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/agent/agent.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT_NOT_FOUND 127
#define EXIT_NOT_EXECUTABLE 126

/* Everything a start needs, gathered before anything is begun. */
typedef struct plan {
    char *text;       /* the strings of the message; mapped if mapped > 0 */
    size_t mapped;
    const char *cwd;
    char **argv, **envp; /* one block: argv is its start */
    int stdin_fd, stdout_fds[2], stderr_fds[2];
} plan;

/* Points argv and envp into the text: cwd, argc arguments, the rest. */
static int split(plan *p, const ebb_agent_head *head)
{
    size_t count = head->count, argc = head->value, at = 0;
    char **list;

    if (p->text == NULL || head->bytes == 0 ||
        p->text[head->bytes - 1] != '\0' || argc == 0 ||
        count > EBB_AGENT_STRINGS_MAX || count < argc + 1)
        return EINVAL;
    list = ebb_mem_alloc((count + 1) * sizeof *list);
    if (list == NULL)
        return ENOMEM;
    p->argv = list;
    p->envp = list + argc + 1;
    p->cwd = p->text;
    for (size_t i = 0; i < count; i++) {
        if (at >= head->bytes)
            return EINVAL;
        if (i > 0)
            list[i - 1 + (i > argc)] = p->text + at;
        at += strlen(p->text + at) + 1;
    }
    list[argc] = NULL;
    list[count] = NULL;
    return 0;
}

static int take_text(plan *p, ebb_agent_request *request)
{
    const ebb_agent_head *head = &request->head;
    void *map;

    if (!(head->flags & EBB_AGENT_MEMFD)) {
        p->text = ebb_mem_alloc(head->bytes + 1);
        if (p->text == NULL)
            return ENOMEM;
        memcpy(p->text, request->text, head->bytes);
        return 0;
    }
    if (request->fds_count == 0 || head->bytes == 0 ||
        head->bytes > EBB_AGENT_MEMFD_BYTES_MAX)
        return EINVAL;
    map = mmap(NULL, head->bytes, PROT_READ, MAP_PRIVATE,
               request->fds[request->fds_count - 1], 0);
    if (map == MAP_FAILED)
        return errno;
    p->text = map;
    p->mapped = head->bytes;
    return 0;
}

static void clear(plan *p)
{
    int fds[] = { p->stdin_fd, p->stdout_fds[0], p->stdout_fds[1],
                  p->stderr_fds[0], p->stderr_fds[1] };

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    ebb_mem_free(p->argv);
    if (p->mapped > 0)
        munmap(p->text, p->mapped);
    else
        ebb_mem_free(p->text);
}

static int open_pipes(plan *p, ebb_agent_request *request)
{
    if (request->head.flags & EBB_AGENT_STDIN) {
        if (request->fds_count == 0)
            return EINVAL;
        p->stdin_fd = request->fds[0];
        request->fds[0] = -1;
    } else {
        p->stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (p->stdin_fd < 0)
            return errno;
    }
    if (pipe2(p->stdout_fds, O_CLOEXEC) < 0 ||
        pipe2(p->stderr_fds, O_CLOEXEC) < 0)
        return errno;
    return 0;
}

/* By the kernel's own call, since the library keeps 32 and 33 to itself. */
static void reset_signals(void)
{
    static const unsigned long ordinary[8]; /* a struct sigaction, all zero */
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        syscall(SYS_rt_sigaction, i, ordinary, NULL, (size_t)(NSIG - 1) / 8);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * In the child. What cannot be executed says so on its own standard error and
 * exits as a shell does, so that the service sees an ordinary run.
 */
static void execute(const plan *p)
{
    int error;

    setsid();
    reset_signals();
    if (dup2(p->stdin_fd, 0) < 0 || dup2(p->stdout_fds[1], 1) < 0 ||
        dup2(p->stderr_fds[1], 2) < 0)
        _exit(EXIT_NOT_EXECUTABLE);
    close_range(3, ~0u, 0);
    environ = p->envp; /* execvp searches the PATH of the new environment */
    execvp(p->argv[0], p->argv);
    error = errno;
    dprintf(2, "%s: %s\n", p->argv[0], strerror(error));
    _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static void started(ebb_agent *agent, plan *p, uint32_t id, pid_t pid)
{
    int fds[] = { p->stdout_fds[0], p->stderr_fds[0] };
    ebb_agent_head head = { .type = EBB_AGENT_STARTED,
                            .id = id,
                            .pid = (uint32_t)pid };

    ebb_agent_process_add(agent, (ebb_agent_process){
                                     .pid = (uint32_t)pid,
                                     .stdout_fd = fds[0],
                                     .stderr_fd = fds[1] });
    p->stdout_fds[0] = p->stderr_fds[0] = -1;
    ebb_agent_send(agent, &head, NULL, fds, 2);
}

/* The child inherits the working directory, so its errors are known here. */
static int start(ebb_agent *agent, plan *p, uint32_t id)
{
    pid_t pid;
    int error = 0;

    if (chdir(p->cwd) < 0)
        return errno;
    pid = fork();
    if (pid == 0)
        execute(p);
    if (pid < 0)
        error = errno;
    else
        started(agent, p, id, pid);
    (void)!chdir("/"); /* it is always there */
    return error;
}

void ebb_agent_spawn(ebb_agent *agent, ebb_agent_request *request)
{
    plan p = { .stdin_fd = -1,
               .stdout_fds = { -1, -1 },
               .stderr_fds = { -1, -1 } };
    int error = take_text(&p, request);

    if (error == 0)
        error = split(&p, &request->head);
    if (error == 0)
        error = open_pipes(&p, request);
    if (error == 0 && ebb_agent_process_reserve(agent) < 0)
        error = EAGAIN;
    if (error == 0)
        error = start(agent, &p, request->head.id);
    if (error != 0)
        ebb_agent_send_done(agent, request->head.id, error);
    clear(&p);
}
