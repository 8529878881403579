/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/service/box/box_command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_UID 65534 /* what a root service tries as: no privileges */
#define OUTPUT_BYTES_MAX 1024
#define FILE_BYTES_MAX 4096

/* The number in a file of /proc, or -1 if there is none. */
static long number_in(const char *path)
{
    ebb_buf text;
    ebb_err absent;
    long number = -1;

    ebb_buf_init(&text, FILE_BYTES_MAX);
    if (ebb_fs_read(path, FILE_BYTES_MAX, &text, &absent) == 0 && text.n > 0)
        number = strtol(text.bytes, NULL, 10);
    ebb_buf_clear(&text);
    return number;
}

/* The number behind a key of /proc/self/status, or -1. */
static long status_of(const char *key)
{
    ebb_buf text;
    ebb_err absent;
    const char *place = NULL;
    long number;

    ebb_buf_init(&text, FILE_BYTES_MAX);
    if (ebb_fs_read("/proc/self/status", FILE_BYTES_MAX, &text, &absent) == 0)
        place = strstr(text.bytes, key);
    number = place != NULL ? strtol(place + strlen(key), NULL, 10) : -1;
    ebb_buf_clear(&text);
    return number;
}

/*
 * In a chroot our root is not the root of our mount namespace, which the
 * kernel wants for a user namespace. Its inode says so where init's is seen.
 */
static bool in_chroot(void)
{
    struct stat ours, first;

    return stat("/", &ours) == 0 && stat("/proc/1/root/.", &first) == 0 &&
           (ours.st_dev != first.st_dev || ours.st_ino != first.st_ino);
}

/* The errno of making a user namespace, which a child tries; or 0. */
static int try_namespace(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
    if (pid > 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Why the kernel refuses a user namespace, and what to do about it. */
static const char *reason(void)
{
    int error = try_namespace();

    if (number_in("/proc/sys/kernel/unprivileged_userns_clone") == 0)
        return "kernel.unprivileged_userns_clone is 0: sysctl -w "
               "kernel.unprivileged_userns_clone=1";
    if (number_in("/proc/sys/user/max_user_namespaces") == 0)
        return "user.max_user_namespaces is 0: sysctl -w "
               "user.max_user_namespaces=15000";
    if (number_in("/proc/sys/kernel/"
                  "apparmor_restrict_unprivileged_userns") == 1)
        return "AppArmor forbids user namespaces: sysctl -w "
               "kernel.apparmor_restrict_unprivileged_userns=0, or give "
               "/usr/bin/bwrap a profile with userns";
    if (error == ENOSPC)
        return "too many are in use or nested: raise "
               "user.max_user_namespaces";
    if (error == EINVAL || error == ENOSYS)
        return "this kernel has none (CONFIG_USER_NS)";
    if (error == EPERM && (in_chroot() || status_of("Seccomp:") != 2))
        return "the kernel allows none in a chroot: start ebb outside it, "
               "or enter with pivot_root (a container) instead of chroot";
    if (error == EPERM)
        return "a seccomp filter forbids them, as Docker's does: start the "
               "container with --security-opt seccomp=unconfined";
    return NULL;
}

/* In the child: a sandbox of nothing but /usr, which runs true. */
static void try(const char *program, int log_fd)
{
    const char *const args[] = {
        program, "--unshare-all", "--unshare-user", "--disable-userns",
        "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr", "--symlink",
        "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink",
        "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--",
        "/usr/bin/true", NULL
    };
    char *argv[sizeof args / sizeof *args], *environment[] = { NULL };

    memcpy(argv, args, sizeof args);
    if (dup2(log_fd, 2) < 0 || dup2(log_fd, 1) < 0)
        _exit(127);
    close_range(3, ~0u, 0);
    if (geteuid() == 0 &&
        (setgroups(0, NULL) < 0 ||
         setresgid(TRIAL_UID, TRIAL_UID, TRIAL_UID) < 0 ||
         setresuid(TRIAL_UID, TRIAL_UID, TRIAL_UID) < 0)) {
        dprintf(2, "cannot give up root's rights: %s", strerror(errno));
        _exit(127);
    }
    execve(program, argv, environment);
    dprintf(2, "%s: %s", program, strerror(errno));
    _exit(127);
}

/* Runs it; false if it failed, with what it said in out. */
static bool works(const char *program, char out[OUTPUT_BYTES_MAX])
{
    int status = -1, log_fd = memfd_create("bwrap.log", MFD_CLOEXEC);
    ssize_t n;
    pid_t pid = log_fd < 0 ? -1 : fork();

    out[0] = '\0';
    if (pid == 0)
        try(program, log_fd);
    if (pid > 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    if (log_fd >= 0) {
        n = pread(log_fd, out, OUTPUT_BYTES_MAX - 1, 0);
        while (n > 0 && out[n - 1] == '\n')
            n--;
        out[n > 0 ? n : 0] = '\0';
        close(log_fd);
    }
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int ebb_box_check(ebb_err *err)
{
    char *program = ebb_box_program_find(err);
    char said[OUTPUT_BYTES_MAX];
    const char *why;
    bool ok;

    if (program == NULL)
        return -1;
    ok = works(program, said);
    ebb_mem_free(program);
    if (ok)
        return 0;
    why = reason();
    if (why != NULL)
        return ebb_err_set(err, EBB_UNSUPPORTED,
                           "sandboxes need user namespaces: %s", why);
    return ebb_err_set(err, EBB_UNSUPPORTED,
                       "bubblewrap cannot make a sandbox here: %s",
                       said[0] != '\0' ? said : "it gave no reason");
}
