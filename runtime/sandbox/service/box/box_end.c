/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/log.h"
#include "sandbox/service/box/box_parts.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_BYTES_MAX 1024 /* of bubblewrap's standard error */
#define POLL_US 200
#define CLOSE_ROUNDS_MAX 10000

/*
 * SIGKILL to the first process takes its whole pid namespace along; the group
 * also holds bubblewrap's own process.
 */
void ebb_box_kill(ebb_box *box)
{
    ebb_limits_kill(&box->limits);
    if (box->pid_fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, box->pid_fd, SIGKILL, NULL, 0);
}

/* What bubblewrap had to say is the better reason. */
static void add_log(const ebb_box *box, ebb_err *err)
{
    char text[LOG_BYTES_MAX];
    ssize_t n = box->log_fd < 0 ? 0
                                : pread(box->log_fd, text, sizeof text - 1,
                                        0);

    while (n > 0 && text[n - 1] == '\n')
        n--;
    if (n > 0) {
        text[n] = '\0';
        ebb_err_set(err, EBB_SERVER, "bubblewrap did not start: %s", text);
    }
}

/* ---- the end ---- */

static bool processes_gone(ebb_box *box)
{
    return (box->outer_pid == 0 || box->outer_gone) &&
           (box->pid_fd < 0 || box->inner_gone) && box->pid_pipe < 0;
}

/* The last thing: the owner may free the box in here. */
static void tell_end(ebb_box *box)
{
    ebb_loop_fn *stopped = box->on_stopped;

    ebb_box_freeze_end(box);
    ebb_box_requests_end(box);
    if (stopped != NULL) {
        box->on_stopped = NULL;
        stopped(box->stop_context);
    } else if (!box->said_ready) {
        box->said_ready = true;
        add_log(box, &box->err);
        box->config.on_ready(box->config.context, box, &box->err);
    } else if (!box->stopped) {
        box->config.on_death(box->config.context, box);
    }
}

/* Never seen; if it is, the service goes on and somebody is told. */
static void give_up(ebb_box *box)
{
    if (!box->outer_gone)
        (void)syscall(SYS_pidfd_send_signal, box->outer_fd, SIGKILL, NULL, 0);
    ebb_log_write(EBB_LOG_ERROR,
                  "sandbox %s: the kernel still holds a process or control "
                  "group of it after %d ms",
                  box->config.id, EBB_BOX_END_MS);
}

static void end(ebb_box *box)
{
    /* Not the loop's time, which stands still while a callback runs. */
    bool late = ebb_clock_steady_ms(ebb_clock_real()) - box->end_ms >
                EBB_BOX_END_MS;

    if (!processes_gone(box) && !late) {
        ebb_loop_timer_start(box->timer, EBB_BOX_END_MS + 1);
        return;
    }
    if (!ebb_limits_close(&box->limits) && !late) {
        ebb_loop_timer_start(box->timer, EBB_BOX_POLL_MS);
        return;
    }
    if (late)
        give_up(box);
    ebb_loop_timer_cancel(box->timer);
    ebb_loop_watch_free(box->outer_watch);
    ebb_loop_watch_free(box->inner_watch);
    box->outer_watch = box->inner_watch = NULL;
    box->state = EBB_BOX_ENDED;
    tell_end(box);
}

void ebb_box_begin_end(ebb_box *box)
{
    if (box->state >= EBB_BOX_ENDING)
        return;
    box->state = EBB_BOX_ENDING;
    box->end_ms = ebb_clock_steady_ms(ebb_clock_real());
    ebb_box_link_close(box);
    ebb_box_kill(box);
    ebb_loop_timer_start(box->timer, EBB_BOX_END_MS + 1);
}

void ebb_box_condemn(ebb_box *box, const char *fmt, ...)
{
    char why[EBB_ERR_MSG_BYTES];
    va_list args;

    if (box->state >= EBB_BOX_ENDING)
        return;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    /* Of a launch the owner hears, with bubblewrap's reason. */
    if (box->said_ready)
        ebb_log_write(EBB_LOG_WARN, "sandbox %s ends: %s", box->config.id,
                      why);
    ebb_err_set(&box->err, EBB_SERVER, "the sandbox did not start: %s", why);
    ebb_box_begin_end(box);
}

void ebb_box_proceed(ebb_box *box)
{
    if (box->state == EBB_BOX_ENDING) {
        end(box);
    } else if (box->state == EBB_BOX_LAUNCHING && box->greeted &&
               box->pid_fd >= 0) {
        box->state = EBB_BOX_READY;
        ebb_loop_timer_cancel(box->timer);
        close(box->log_fd);
        box->log_fd = -1;
        box->said_ready = true;
        box->config.on_ready(box->config.context, box, NULL);
    }
}

static void tell_stopped(void *context)
{
    tell_end(context);
}

void ebb_box_stop(ebb_box *box, ebb_loop_fn *done, void *context)
{
    box->on_stopped = done;
    box->stop_context = context;
    box->stopped = true;
    if (box->state == EBB_BOX_ENDED)
        (void)ebb_loop_defer(box->loop, tell_stopped, box);
    else
        ebb_box_begin_end(box);
}

void ebb_box_stop_cancel(ebb_box *box)
{
    ebb_loop_defer_cancel(box->loop, tell_stopped, box);
}

void ebb_box_end_now(ebb_box *box)
{
    /* bubblewrap says the pid or ends, both within milliseconds. */
    while (box->pid_pipe >= 0 && box->pid_fd < 0)
        if (!ebb_box_pid_read(box))
            usleep(POLL_US);
    ebb_box_kill(box);
    if (!box->outer_gone)
        waitpid(box->outer_pid, NULL, 0);
    for (int i = 0; i < CLOSE_ROUNDS_MAX; i++) {
        if (ebb_limits_close(&box->limits))
            return;
        usleep(POLL_US);
    }
}
