/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* closefrom of posix_spawn, pidfd_open, ucred */

/*
 * The local service as a program: where its socket is, how it is started and
 * stopped. Nothing here waits but ebb_launch_stop.
 */

#include "ebb_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"

#define READY_FD 3
#define LINGER_S "60"
#define STOP_MS 15000

static const char *state_dir(const ebb_config *config)
{
    const char *dir =
        config->state_dir != NULL ? config->state_dir : getenv("EBB_STATE");

    return dir != NULL && *dir != '\0' ? dir : NULL;
}

/* The 0700 folder of the socket, made if it is not there. */
static char *socket_folder(const ebb_config *config, ebb_err *err)
{
    const char *state = state_dir(config);
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char *folder;

    if (state != NULL)
        folder = ebb_mem_dup(state);
    else if (runtime != NULL && *runtime == '/')
        folder = ebb_fs_join(runtime, "ebb");
    else
        folder = ebb_mem_printf("/tmp/ebb-%u", (unsigned)getuid());
    if (folder == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "the service's socket");
        return NULL;
    }
    if (ebb_fs_make_dirs(folder, state != NULL ? 0711 : 0700, err) < 0 ||
        ebb_fs_check_own_dir(folder, err) < 0) {
        err->code = EBB_NO_SERVICE;
        ebb_mem_free(folder);
        return NULL;
    }
    return folder;
}

char *ebb_local_socket(const ebb_config *config, ebb_err *err)
{
    char *folder = socket_folder(config, err);
    char *path = folder != NULL ? ebb_fs_join(folder, "service.sock") : NULL;

    if (folder != NULL && path == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "the service's socket");
    ebb_mem_free(folder);
    if (path != NULL &&
        strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path) {
        ebb_err_set(err, EBB_NO_SERVICE,
                    "the socket's path is too long for the kernel: %s; "
                    "choose a shorter EBB_STATE", path);
        ebb_mem_free(path);
        path = NULL;
    }
    return path;
}

int ebb_launch_connect(const char *socket_path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

int ebb_launch_lock(const char *socket_path, ebb_err *err)
{
    char *path = ebb_mem_printf("%s.lock", socket_path);
    int fd;

    if (path == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "the service's lock");
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    ebb_mem_free(path);
    if (fd < 0)
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "lock of %s",
                                 socket_path);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return ebb_err_set(err, EBB_CONFLICT, "another program starts it");
}

/* Standard streams to nowhere and the log, the pipe, nothing else. */
static int set_descriptors(posix_spawn_file_actions_t *actions,
                           const char *log, int ready)
{
    int bad = 0;

    bad |= posix_spawn_file_actions_adddup2(actions, ready, READY_FD);
    bad |= posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY,
                                            0);
    bad |= posix_spawn_file_actions_addopen(
        actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    bad |= posix_spawn_file_actions_adddup2(actions, 1, 2);
    bad |= posix_spawn_file_actions_addclosefrom_np(actions, READY_FD + 1);
    return bad;
}

/*
 * A shell starts the service in the background and ends, so that the service
 * is nobody's child and a host never sees a SIGCHLD of it later.
 */
static int spawn_detached(char *const argv[], const char *log, int ready)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t pid;
    int bad;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return -1;
    }
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                              POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    bad = set_descriptors(&actions, log, ready);
    if (bad == 0)
        bad = posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv,
                          environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (bad != 0) {
        errno = bad;
        return -1;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return 0;
}

static int start_program(const ebb_config *config, const char *program,
                         const char *socket_path, int ready, ebb_err *err)
{
    static char sh[] = "sh", c[] = "-c", run[] = "\"$0\" \"$@\" &";
    static char socket_flag[] = "--socket", ready_flag[] = "--ready-fd",
                ready_fd[] = "3", linger_flag[] = "--linger",
                state_flag[] = "--state";
    const char *linger = getenv("EBB_LINGER_S");
    const char *state = state_dir(config);
    char *name = ebb_mem_dup(program), *path = ebb_mem_dup(socket_path);
    char *seconds = ebb_mem_dup(linger != NULL ? linger : LINGER_S);
    char *dir = ebb_mem_dup(state);
    char *log = ebb_mem_printf("%s.log", socket_path);
    char *argv[] = { sh, c, run, name, socket_flag, path, ready_flag,
                     ready_fd, linger_flag, seconds,
                     dir != NULL ? state_flag : NULL, dir, NULL };
    int result;

    if (name == NULL || path == NULL || seconds == NULL || log == NULL)
        result = ebb_err_set(err, EBB_NO_MEMORY, "start the local service");
    else if (spawn_detached(argv, log, ready) < 0)
        result = ebb_err_set_errno(err, EBB_NO_SERVICE, "start %s", program);
    else
        result = 0;
    ebb_mem_free(name);
    ebb_mem_free(path);
    ebb_mem_free(seconds);
    ebb_mem_free(dir);
    ebb_mem_free(log);
    return result;
}

int ebb_launch_service(const ebb_config *config, const char *socket_path,
                       ebb_err *err)
{
    char *program = ebb_libexec("ebb-sandboxd", err);
    int ends[2], result;

    if (program == NULL)
        return -1;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        ebb_mem_free(program);
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "start the service");
    }
    result = start_program(config, program, socket_path, ends[1], err);
    close(ends[1]);
    ebb_mem_free(program);
    if (result < 0) {
        close(ends[0]);
        return -1;
    }
    return ends[0];
}

int ebb_launch_stop(int pid, int wait_ms, ebb_err *err)
{
    struct pollfd ended = { .events = POLLIN };
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    int ready;

    if (fd < 0)
        return errno == ESRCH ? 0
                              : ebb_err_set_errno(err, EBB_NO_SERVICE,
                                                  "service with pid %d", pid);
    ended.fd = fd;
    if (kill(pid, SIGTERM) < 0 && errno != ESRCH) {
        close(fd);
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "stop pid %d", pid);
    }
    do
        ready = poll(&ended, 1, wait_ms);
    while (ready < 0 && errno == EINTR);
    close(fd);
    if (ready <= 0)
        return ebb_err_set(err, EBB_TIMEOUT,
                           "the service with pid %d does not end", pid);
    return 0;
}

int ebb_local_stop(const ebb_config *config, ebb_err *err)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    char *path = ebb_local_socket(config, err);
    int fd, known;

    if (path == NULL)
        return -1;
    fd = ebb_launch_connect(path);
    ebb_mem_free(path);
    if (fd < 0)
        return ebb_err_set(err, EBB_NO_SERVICE,
                           "no local service is running");
    known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
    close(fd);
    if (known < 0)
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "the service's pid");
    return ebb_launch_stop(peer.pid, STOP_MS, err);
}
