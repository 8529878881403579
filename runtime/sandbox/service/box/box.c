/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/box.h"

#include "base/mem.h"
#include "sandbox/service/box/box_parts.h"
#include "sandbox/service/box/process_stat.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void free_watch(ebb_loop_watch **watch)
{
    ebb_loop_watch_free(*watch);
    *watch = NULL;
}

static void free_timer(ebb_loop_timer **timer)
{
    ebb_loop_timer_free(*timer);
    *timer = NULL;
}

static int watch(ebb_box *box, int fd, ebb_loop_watch **out,
                 ebb_loop_watch_fn *fn, ebb_err *err)
{
    *out = ebb_loop_watch_new(box->loop, fd, fn, box, err);
    if (*out == NULL)
        return -1;
    if (ebb_loop_watch_set(*out, EBB_READABLE) < 0)
        return ebb_err_set(err, EBB_SERVER, "watch a sandbox");
    return 0;
}

/* ---- events ---- */

static void on_timer(void *context)
{
    ebb_box *box = context;

    if (box->state == EBB_BOX_LAUNCHING) {
        ebb_err_set(&box->err, EBB_TIMEOUT,
                    "the sandbox's agent did not answer within %d ms",
                    EBB_BOX_READY_MS);
        ebb_box_begin_end(box);
    }
    ebb_box_proceed(box);
}

static void on_outer(void *context, unsigned events)
{
    ebb_box *box = context;

    (void)events;
    if (waitpid(box->outer_pid, NULL, WNOHANG) == 0)
        return;
    box->outer_gone = true;
    ebb_loop_watch_set(box->outer_watch, 0);
    if (box->state < EBB_BOX_ENDING)
        ebb_err_set(&box->err, EBB_SERVER, "bubblewrap ended early");
    ebb_box_begin_end(box);
    ebb_box_proceed(box);
}

static void on_inner(void *context, unsigned events)
{
    ebb_box *box = context;

    (void)events;
    box->inner_gone = true;
    ebb_loop_watch_set(box->inner_watch, 0);
    ebb_box_begin_end(box);
    ebb_box_proceed(box);
}

/*
 * The number may be another process's by now; it is the right one if, once we
 * hold it, it is still bubblewrap's child. If not, bubblewrap is about to end.
 */
static void hold_pid(ebb_box *box, pid_t pid)
{
    int fd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    ebb_process_stat stat;

    if (fd >= 0 && (ebb_process_stat_get(pid, &stat) != 0 ||
                    stat.parent != box->outer_pid))
        close_fd(&fd);
    if (fd < 0)
        return;
    box->pid = pid;
    box->pid_fd = fd;
    if (watch(box, fd, &box->inner_watch, on_inner, &box->err) < 0)
        ebb_box_begin_end(box);
}

/*
 * bubblewrap writes {"child-pid": N first, then more, then closes; it is read
 * to the end, since a broken pipe would kill it.
 */
bool ebb_box_pid_read(ebb_box *box)
{
    static const char key[] = "\"child-pid\":";
    char text[1024];
    ssize_t n = read(box->pid_pipe, text, sizeof text - 1);
    const char *place;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    text[n > 0 ? n : 0] = '\0';
    place = strstr(text, key);
    if (place != NULL && box->pid_fd < 0)
        hold_pid(box, (pid_t)strtol(place + sizeof key - 1, NULL, 10));
    if (n > 0)
        return true;
    free_watch(&box->pid_watch);
    close_fd(&box->pid_pipe);
    return true;
}

static void on_pid(void *context, unsigned events)
{
    ebb_box *box = context;

    (void)events;
    if (!ebb_box_pid_read(box))
        return;
    if (box->state == EBB_BOX_ENDING)
        ebb_box_kill(box);
    ebb_box_proceed(box);
}

/* ---- start ---- */

static int check_config(const ebb_box_config *config, ebb_err *err)
{
    if (config->uid == 0 || (geteuid() != 0 && config->uid != geteuid()))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "sandbox %s cannot run under the host's uid %ld",
                           config->id, (long)config->uid);
    if (config->dir == NULL || config->dir[0] != '/')
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "the directory of sandbox %s is no absolute path",
                           config->id);
    return 0;
}

static ebb_box *new_box(ebb_loop *loop, const ebb_box_config *config)
{
    ebb_box *box = ebb_mem_zero(sizeof *box);
    size_t n = strlen(config->dir);

    if (box == NULL)
        return NULL;
    box->loop = loop;
    box->config = *config;
    while (n > 1 && config->dir[n - 1] == '/')
        n--;
    box->config.id = box->id = ebb_mem_dup(config->id);
    box->config.dir = box->dir = ebb_mem_dup_n(config->dir, n);
    box->outer_fd = box->pid_fd = box->pid_pipe = box->log_fd = -1;
    box->home_fd = box->socket_fd = box->limits.unified_fd = -1;
    box->queue_end = &box->queue;
    box->timer = ebb_loop_timer_new(loop, on_timer, box);
    if (box->id != NULL && box->dir != NULL && box->timer != NULL)
        return box;
    ebb_box_free(box);
    return NULL;
}

ebb_box *ebb_box_start(ebb_loop *loop, const ebb_box_config *config,
                       ebb_err *err)
{
    ebb_box *box;

    if (check_config(config, err) < 0)
        return NULL;
    box = new_box(loop, config);
    if (box == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "start sandbox %s", config->id);
        return NULL;
    }
    if (ebb_limits_open(&box->limits, config->id, &config->limits, err) ==
            0 &&
        ebb_box_launch(box, err) == 0 &&
        watch(box, box->outer_fd, &box->outer_watch, on_outer, err) == 0 &&
        watch(box, box->pid_pipe, &box->pid_watch, on_pid, err) == 0 &&
        ebb_box_link_open(box, err) == 0) {
        ebb_loop_timer_start(box->timer, EBB_BOX_READY_MS);
        return box;
    }
    ebb_err_wrap(err, "start sandbox %s", config->id);
    ebb_box_free(box);
    return NULL;
}

void ebb_box_free(ebb_box *box)
{
    if (box == NULL)
        return;
    assert(box->state != EBB_BOX_READY);
    ebb_box_link_close(box);
    if (box->state != EBB_BOX_ENDED && box->outer_pid > 0)
        ebb_box_end_now(box);
    ebb_box_freeze_end(box);
    ebb_box_requests_end(box);
    ebb_limits_close(&box->limits);
    free_watch(&box->outer_watch);
    free_watch(&box->inner_watch);
    free_watch(&box->pid_watch);
    free_timer(&box->timer);
    free_timer(&box->freeze_timer);
    ebb_box_stop_cancel(box);
    close_fd(&box->outer_fd);
    close_fd(&box->pid_fd);
    close_fd(&box->pid_pipe);
    close_fd(&box->log_fd);
    close_fd(&box->home_fd);
    ebb_mem_free(box->id);
    ebb_mem_free(box->dir);
    ebb_mem_free(box);
}

pid_t ebb_box_pid(const ebb_box *box)
{
    return box->said_ready ? box->pid : 0;
}

void ebb_box_usage_get(ebb_box *box, ebb_box_usage *usage)
{
    struct statvfs fs;

    *usage = (ebb_box_usage){ .cpu_seconds = 0 };
    if (box->state == EBB_BOX_READY)
        ebb_limits_usage_get(&box->limits, box->pid, usage);
    if (box->home_fd >= 0 && fstatvfs(box->home_fd, &fs) == 0) {
        usage->disk_total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
        usage->disk_bytes =
            (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
    }
}
