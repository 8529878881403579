/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/agent/agent.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Requests handled before the children and the listener are looked at. */
#define REQUESTS_PER_TURN_MAX 64

/* 1: a request; 0: none now; -1: the connection is over. */
static int receive(ebb_agent *agent, char *bytes, ebb_agent_request *request)
{
    ebb_agent_control control;
    struct iovec part = { bytes, EBB_AGENT_MESSAGE_BYTES_MAX };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    ebb_agent_head *head = &request->head;
    ssize_t n = recvmsg(agent->socket_fd, &message,
                        MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    request->fds_count = ebb_agent_control_get(&message, request->fds);
    if ((size_t)n < sizeof *head || (message.msg_flags & MSG_TRUNC))
        return -1;
    memcpy(head, bytes, sizeof *head);
    request->text = bytes + sizeof *head;
    if (!(head->type == EBB_AGENT_SPAWN && head->flags & EBB_AGENT_MEMFD) &&
        (head->bytes != (size_t)n - sizeof *head ||
         (head->bytes > 0 && request->text[head->bytes - 1] != '\0')))
        return -1;
    return 1;
}

/*
 * Runs what may take long beside us. The worker has our connection and sends
 * the last answer itself; if it is killed, ebb_agent_reap does.
 */
static void run_worker(ebb_agent *agent, const ebb_agent_request *request,
                       int (*run)(ebb_agent *, const ebb_agent_request *))
{
    ebb_agent_worker *worker = agent->workers;
    const ebb_agent_worker *end = worker + EBB_AGENT_WORKERS_MAX;
    pid_t pid;

    while (worker < end && worker->pid != 0)
        worker++;
    pid = worker < end ? fork() : (errno = EAGAIN, -1);
    if (pid < 0) {
        ebb_agent_send_done(agent, request->head.id, errno);
        return;
    }
    if (pid == 0) {
        close(agent->listen_fd);
        ebb_agent_send_done(agent, request->head.id, run(agent, request));
        _exit(agent->socket_fd < 0);
    }
    *worker = (ebb_agent_worker){ .pid = pid,
                                  .id = request->head.id,
                                  .connection = agent->connection };
}

static void greet(ebb_agent *agent, uint32_t id)
{
    ebb_agent_head head = { .type = EBB_AGENT_HELLO,
                            .id = id,
                            .value = EBB_AGENT_VERSION };

    ebb_agent_send(agent, &head, NULL, NULL, 0);
    ebb_agent_send_exits(agent);
}

static void list(ebb_agent *agent, const ebb_agent_request *request)
{
    if (request->head.value > 0)
        run_worker(agent, request, ebb_agent_list);
    else
        ebb_agent_send_done(agent, request->head.id,
                            ebb_agent_list(agent, request));
}

static void move(ebb_agent *agent, const ebb_agent_request *request)
{
    int error = ebb_agent_move(agent, request);

    if (error == EXDEV)
        run_worker(agent, request, ebb_agent_move_across);
    else
        ebb_agent_send_done(agent, request->head.id, error);
}

static void handle(ebb_agent *agent, ebb_agent_request *request)
{
    uint32_t id = request->head.id;

    switch (request->head.type) {
    case EBB_AGENT_HELLO: greet(agent, id); break;
    case EBB_AGENT_SPAWN: ebb_agent_spawn(agent, request); break;
    case EBB_AGENT_SIGNAL: ebb_agent_signal(agent, request); break;
    case EBB_AGENT_STOP: ebb_agent_signal_all(agent, id, SIGSTOP); break;
    case EBB_AGENT_CONT: ebb_agent_signal_all(agent, id, SIGCONT); break;
    case EBB_AGENT_LIST: list(agent, request); break;
    case EBB_AGENT_MAKE_DIR: ebb_agent_make_dir(agent, request); break;
    case EBB_AGENT_MOVE: move(agent, request); break;
    case EBB_AGENT_REMOVE:
        run_worker(agent, request, ebb_agent_remove);
        break;
    case EBB_AGENT_OPEN: ebb_agent_open(agent, request); break;
    case EBB_AGENT_SET_METADATA:
        ebb_agent_set_metadata(agent, request);
        break;
    default: ebb_agent_send_done(agent, id, ENOSYS);
    }
}

static void serve(ebb_agent *agent)
{
    static char bytes[EBB_AGENT_MESSAGE_BYTES_MAX + 1];

    for (int i = 0; i < REQUESTS_PER_TURN_MAX && agent->socket_fd >= 0; i++) {
        ebb_agent_request request = { .fds_count = 0 };
        int got = receive(agent, bytes, &request);

        if (got > 0)
            handle(agent, &request);
        for (unsigned k = 0; k < request.fds_count; k++)
            if (request.fds[k] >= 0)
                close(request.fds[k]);
        if (got < 0 && agent->socket_fd >= 0) {
            close(agent->socket_fd);
            agent->socket_fd = -1;
        }
        if (got == 0)
            return;
    }
}

/* The newest service wins: an older connection is that of one that died. */
static void take_connection(ebb_agent *agent)
{
    int fd = accept4(agent->listen_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (agent->socket_fd >= 0)
        close(agent->socket_fd);
    agent->socket_fd = fd;
    agent->connection++;
}

static void run(ebb_agent *agent)
{
    for (;;) {
        struct signalfd_siginfo signal;
        struct pollfd fds[] = {
            { .fd = agent->signal_fd, .events = POLLIN },
            { .fd = agent->listen_fd, .events = POLLIN },
            { .fd = agent->socket_fd, .events = POLLIN },
        };

        if (poll(fds, 3, -1) < 0)
            continue;
        if (fds[0].revents != 0) {
            (void)!read(agent->signal_fd, &signal, sizeof signal);
            ebb_agent_reap(agent);
        }
        if (fds[2].revents != 0)
            serve(agent);
        if (fds[1].revents != 0)
            take_connection(agent);
    }
}

/*
 * RLIMIT_NPROC is set in here, inside the user namespace: there it counts the
 * processes of this sandbox alone, not all of a plain user.
 */
static void set_processes_max(const char *text)
{
    rlim_t n = (rlim_t)strtoul(text, NULL, 10);

    if (n > 0)
        setrlimit(RLIMIT_NPROC, &(struct rlimit){ n, n });
}

int main(int argc, char **argv)
{
    static ebb_agent agent = { .listen_fd = EBB_AGENT_LISTEN_FD,
                               .socket_fd = -1 };
    sigset_t child;
    int null;

    /* User code runs as this uid: it must not trace us or see our files. */
    prctl(PR_SET_DUMPABLE, 0);
    umask(022);
    if (argc > 1)
        set_processes_max(argv[1]);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return 1;
    close_range(EBB_AGENT_LISTEN_FD + 1, ~0u, 0);
    fcntl(EBB_AGENT_LISTEN_FD, F_SETFD, FD_CLOEXEC);
    fcntl(EBB_AGENT_LISTEN_FD, F_SETFL, O_NONBLOCK);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    agent.signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (agent.signal_fd < 0)
        return 1;
    run(&agent);
}
