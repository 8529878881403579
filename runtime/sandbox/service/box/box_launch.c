/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/box_parts.h"

#include "base/mem.h"
#include "sandbox/service/box/box_child.h"
#include "sandbox/service/box/box_command.h"
#include "sandbox/service/box/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <ebb_version.h>

#define SOCKET_NAME "agent.sock"
#define AGENT_NAME "ebb-agent"
#define BACKLOG 8

/* Descriptors kept out of the low numbers, where the child puts its own. */
static int raise_fd(int fd)
{
    int raised = fcntl(fd, F_DUPFD_CLOEXEC, EBB_BOX_CHILD_FD_MIN);
    int saved = errno;

    close(fd);
    errno = saved;
    return raised;
}

/* EBB_LIBEXEC, else the directory of this program, else where it installs. */
static int open_agent(ebb_err *err)
{
    const char *set = getenv("EBB_LIBEXEC");
    char self[PATH_MAX], path[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    int fd;

    self[n > 0 ? n : 0] = '\0';
    slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    snprintf(path, sizeof path, "%s/" AGENT_NAME,
             set != NULL && *set != '\0' ? set : self);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && set == NULL)
        fd = open(EBB_PREFIX "/libexec/ebb/" AGENT_NAME,
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ebb_err_set_errno(err, EBB_UNSUPPORTED,
                                 "open the agent %s (set EBB_LIBEXEC to its "
                                 "directory)",
                                 path);
    return fd;
}

/*
 * Bound and reached through the directory's descriptor: its path may be longer
 * than a socket's name can be.
 */
static int socket_address(int dir_fd, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    return snprintf(address->sun_path, sizeof address->sun_path,
                    "/proc/self/fd/%d/" SOCKET_NAME, dir_fd);
}

static int bind_socket(int fd, int dir_fd)
{
    struct sockaddr_un address;

    socket_address(dir_fd, &address);
    if (unlinkat(dir_fd, SOCKET_NAME, 0) < 0 && errno != ENOENT)
        return -1;
    /* Before bind: the file then has this mode from its start. */
    if (fchmod(fd, 0600) < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return listen(fd, BACKLOG);
}

/*
 * Connects before the agent runs: it will find us waiting, and if it never
 * runs, the end of the listening socket is the end of our connection.
 */
static int open_sockets(ebb_box *box, int *listen_fd, ebb_err *err)
{
    int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int dir_fd = open(box->config.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct sockaddr_un address;
    int result = -1;

    if (dir_fd < 0)
        return ebb_err_set_errno(err, EBB_SERVER, "open %s",
                                 box->config.dir);
    box->home_fd = openat(dir_fd, "home", O_PATH | O_DIRECTORY | O_CLOEXEC);
    *listen_fd = socket(AF_UNIX, type, 0);
    box->socket_fd = socket(AF_UNIX, type, 0);
    socket_address(dir_fd, &address);
    if (box->home_fd < 0)
        ebb_err_set_errno(err, EBB_SERVER, "open %s/home", box->config.dir);
    else if (*listen_fd < 0 || box->socket_fd < 0 ||
             bind_socket(*listen_fd, dir_fd) < 0 ||
             connect(box->socket_fd, (struct sockaddr *)&address,
                     sizeof address) < 0)
        ebb_err_set_errno(err, EBB_SERVER, "make the socket %s/%s",
                          box->config.dir, SOCKET_NAME);
    else
        result = 0;
    close(dir_fd);
    return result;
}

/* Born in its version 2 group; where that is refused, moved there later. */
static pid_t start_child(const ebb_box *box, const ebb_box_child *child)
{
    struct clone_args args = { .flags = CLONE_INTO_CGROUP,
                               .exit_signal = SIGCHLD };
    bool born = box->limits.unified_fd >= 0;
    pid_t pid = -1;

    args.cgroup = born ? (uint64_t)box->limits.unified_fd : 0;
    if (born)
        pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid < 0) {
        born = false;
        pid = fork();
    }
    if (pid == 0)
        ebb_box_child_run(child, born);
    return pid;
}

static int open_pipes(ebb_box *box, ebb_box_child *child, ebb_err *err)
{
    int pid_pipe[2];

    if (pipe2(pid_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return ebb_err_set_errno(err, EBB_SERVER, "make a pipe");
    box->pid_pipe = pid_pipe[0];
    child->pid_fd = raise_fd(pid_pipe[1]);
    if (child->pid_fd < 0 || pipe2(child->gate, O_CLOEXEC) < 0)
        return ebb_err_set_errno(err, EBB_LIMIT_EXCEEDED, "start bubblewrap");
    return 0;
}

/*
 * The child waits at its gate until its pid is in the box's directory: a
 * service that is killed before leaves a child that ends, one that is killed
 * later a box that the next service finds.
 */
static int start_recorded(ebb_box *box, ebb_box_child *child, ebb_err *err)
{
    int result = 0;

    box->outer_pid = start_child(box, child);
    if (box->outer_pid < 0) {
        ebb_err_set_errno(err, EBB_LIMIT_EXCEEDED, "start bubblewrap");
        box->outer_pid = 0;
        return -1;
    }
    if (ebb_box_left_write(box->dir, box->outer_pid, err) != 0)
        result = -1;
    else if (write(child->gate[1], "", 1) != 1)
        result = ebb_err_set_errno(err, EBB_SERVER, "start bubblewrap");
    return result;
}

static void close_pipes(const ebb_box_child *child)
{
    const int fds[] = { child->pid_fd, child->gate[0], child->gate[1] };

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int launch(ebb_box *box, ebb_box_child *child, ebb_err *err)
{
    int result = open_pipes(box, child, err);

    if (result == 0)
        result = start_recorded(box, child, err);
    close_pipes(child); /* an unrecorded child ends by this */
    if (result != 0)
        return -1;
    box->outer_fd = (int)syscall(SYS_pidfd_open, box->outer_pid, 0);
    if (box->outer_fd < 0)
        return ebb_err_set_errno(err, EBB_UNSUPPORTED,
                                 "watch a process (Linux 5.3 or newer is "
                                 "needed)");
    return 0;
}

/* The files that the child gets, all from EBB_BOX_CHILD_FD_MIN on. */
static int open_files(ebb_box *box, ebb_box_child *child, ebb_err *err)
{
    int *const fds[] = { &child->agent_fd, &child->seccomp_fd,
                         &child->listen_fd, &box->log_fd, &child->null_fd };

    child->agent_fd = open_agent(err);
    if (child->agent_fd < 0)
        return -1;
    child->seccomp_fd = ebb_seccomp_open(err);
    if (child->seccomp_fd < 0 || open_sockets(box, &child->listen_fd, err) < 0)
        return -1;
    box->log_fd = memfd_create("bwrap.log", MFD_CLOEXEC);
    child->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            *fds[i] = raise_fd(*fds[i]);
        if (*fds[i] < 0)
            return ebb_err_set_errno(err, EBB_LIMIT_EXCEEDED,
                                     "open the files of a sandbox");
    }
    child->log_fd = box->log_fd;
    return 0;
}

static void close_files(const ebb_box_child *child)
{
    const int fds[] = { child->agent_fd, child->seccomp_fd,
                        child->listen_fd, child->null_fd };

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/*
 * Whether the sandbox's uid can reach a directory of ours. Below /root, say,
 * it cannot; then the child shows it to bubblewrap in another place.
 */
static bool is_reachable(const char *dir, uid_t uid)
{
    char path[PATH_MAX];
    struct stat st;

    if (geteuid() == uid)
        return true;
    snprintf(path, sizeof path, "%s", dir);
    for (char *slash; (slash = strrchr(path, '/')) != NULL; *slash = '\0')
        if (stat(path, &st) < 0 || !(st.st_mode & S_IXOTH))
            return false;
    return true;
}

int ebb_box_launch(ebb_box *box, ebb_err *err)
{
    const char *dir = box->config.dir;
    char *parent = ebb_mem_dup_n(dir, (size_t)(strrchr(dir, '/') - dir));
    ebb_box_child child = { .agent_fd = -1,
                            .seccomp_fd = -1,
                            .listen_fd = -1,
                            .null_fd = -1,
                            .pid_fd = -1,
                            .gate = { -1, -1 },
                            .uid = box->config.uid,
                            .limits = &box->limits };
    ebb_box_command command = { .count = 0 };
    int result = -1;

    if (parent == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "start bubblewrap");
        goto done;
    }
    if (!is_reachable(parent, box->config.uid))
        child.hidden = parent;
    if (ebb_box_root_make(parent, err) < 0 ||
        ebb_box_command_init(&command, box,
                             child.hidden != NULL ? EBB_BOX_CHILD_SHOWN
                                                  : parent,
                             err) < 0 ||
        open_files(box, &child, err) < 0)
        goto done;
    child.argv = command.args;
    result = launch(box, &child, err);
done:
    close_files(&child);
    ebb_box_command_clear(&command);
    ebb_mem_free(parent);
    return result;
}
