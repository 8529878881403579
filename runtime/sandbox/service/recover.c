/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pidfd_open by syscall(2) */

#include "sandbox/service/recover.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/service/lifecycle.h"
#include "sandbox/service/box/box.h"
#include "sandbox/service/box/limits.h"
#include "sandbox/service/state.h"
#include "sandbox/service/table.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KILL_WAIT_MS 2000

/*
 * A pid may belong to somebody else by now: the process is pinned first, and
 * only one with the recorded start time is killed.
 */
static void kill_left(const ebb_sandbox *s)
{
    struct pollfd pinned = { .events = POLLIN };
    pid_t pid = s->life->pid;

    if (pid <= 1 || s->life->pid_start == 0)
        return;
    pinned.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pinned.fd < 0)
        return;
    if (ebb_state_pid_start(pid) == s->life->pid_start) {
        ebb_log_write(EBB_LOG_WARN,
                      "sandbox %s: killing process %ld of an earlier service",
                      s->id, (long)pid);
        syscall(SYS_pidfd_send_signal, pinned.fd, SIGKILL, NULL, 0);
        poll(&pinned, 1, KILL_WAIT_MS);
    }
    close(pinned.fd);
}

static void remove_left(const ebb_service *service, const char *name)
{
    char *path = ebb_fs_join(service->sandboxes_dir, name);
    ebb_err err;

    if (path != NULL && ebb_fs_remove_tree(path, &err) != 0)
        ebb_log_write(EBB_LOG_WARN, "%s", err.msg);
    ebb_mem_free(path);
}

/*
 * What was paused without memory is somebody's files: they are removed only
 * when it is certain that there is no sandbox to take back.
 */
static bool is_dead(ebb_service *service, ebb_sandbox *s, ebb_err *err)
{
    if (ebb_state_parse(s, err) != 0)
        return err->code == EBB_FILE_NOT_FOUND || err->code == EBB_PROTOCOL;
    kill_left(s);
    if (s->state != EBB_SANDBOX_PAUSED) {
        ebb_table_add_grave(service, s->id,
                            "the service that ran it was killed");
        ebb_err_set(err, EBB_SANDBOX_NOT_RUNNING,
                    "it ended with the service that ran it");
        return true;
    }
    if (service->sandboxes_count >= EBB_SANDBOXES_MAX)
        ebb_err_set(err, EBB_LIMIT_EXCEEDED, "there are %d sandboxes already",
                    EBB_SANDBOXES_MAX);
    else
        ebb_lifecycle_adopt(s, err);
    return false;
}

static void recover(ebb_service *service, const char *name)
{
    ebb_err err = { .code = EBB_OK };
    ebb_sandbox *s = ebb_lifecycle_new(service, name);
    bool dead;

    if (s == NULL) {
        ebb_log_write(EBB_LOG_WARN, "sandbox %s: no memory, left alone", name);
        return;
    }
    ebb_box_left_kill(s->dir);
    ebb_limits_del(name);
    dead = is_dead(service, s, &err);
    if (err.code == EBB_OK) {
        ebb_log_write(EBB_LOG_INFO, "sandbox %s is paused", name);
        return;
    }
    ebb_log_write(EBB_LOG_WARN, "sandbox %s is %s: %s", name,
                  dead ? "removed" : "left alone", err.msg);
    ebb_lifecycle_free(s);
    if (dead)
        remove_left(service, name);
}

int ebb_recover_start(ebb_service *service, ebb_err *err)
{
    DIR *dir = opendir(service->sandboxes_dir);
    const struct dirent *entry;

    if (dir == NULL)
        return ebb_err_set_errno(err, EBB_NO_SERVICE, "read %s",
                                 service->sandboxes_dir);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') /* also the root that boxes share */
            continue;
        if (ebb_table_is_id(entry->d_name))
            recover(service, entry->d_name);
        else
            remove_left(service, entry->d_name);
    }
    closedir(dir);
    return 0;
}
