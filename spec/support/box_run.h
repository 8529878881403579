/* SPDX-License-Identifier: MIT */
#pragma once

/* Commands in the sandbox of a rig, run to their end. */

#include "support/box_rig.h"

static inline void rig_spawn_config(rig *r, const ebb_box_spawn_config *c)
{
    rig_close_fd(&r->stdin_fd);
    rig_close_fd(&r->stdout_fd);
    rig_close_fd(&r->stderr_fd);
    ebb_buf_reset(&r->out);
    ebb_buf_reset(&r->errors);
    r->done = false;
    ebb_box_spawn(r->box, c, rig_on_spawned, r);
    assert_false(r->done); /* never from inside the call */
    rig_wait(r, &r->done);
}

static const char *const rig_env[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
                                       "HOME=/home/user", NULL };

static inline void rig_spawn(rig *r, const char *script)
{
    const char *const argv[] = { "/bin/bash", "-c", script, NULL };

    rig_spawn_config(r, &(ebb_box_spawn_config){ .argv = argv,
                                                 .envp = rig_env,
                                                 .cwd = "/home/user" });
}

/* Reads what is there; false at the end of the stream. */
static inline bool rig_drain(int fd, ebb_buf *into)
{
    char chunk[65536];
    ssize_t n;

    if (fd < 0)
        return false;
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        ebb_buf_add(into, chunk, (size_t)n);
    return n < 0 && errno == EAGAIN;
}

/* Until both streams have ended and the exit was told. */
static inline void rig_finish(rig *r)
{
    double end = rig_ms() + RIG_WAIT_MS;
    bool out = true, errors = true;

    while (out || errors || !r->exited) {
        if (rig_ms() > end)
            fail_msg("the process did not end within %d ms", RIG_WAIT_MS);
        out = out && rig_drain(r->stdout_fd, &r->out);
        errors = errors && rig_drain(r->stderr_fd, &r->errors);
        ebb_loop_run(r->loop, 0);
        usleep(100);
    }
}

/* Runs a bash script to its end; its exit status. */
static inline int rig_run(rig *r, const char *script)
{
    rig_spawn(r, script);
    assert_int_equal(r->err.code, EBB_OK);
    rig_finish(r);
    return WIFEXITED(r->status) ? WEXITSTATUS(r->status)
                                : 128 + WTERMSIG(r->status);
}

static inline const char *rig_out(const rig *r)
{
    return r->out.bytes != NULL ? r->out.bytes : "";
}

static inline const char *rig_errors(const rig *r)
{
    return r->errors.bytes != NULL ? r->errors.bytes : "";
}

static inline ebb_code rig_signal(rig *r, int signum, bool group)
{
    r->done = false;
    ebb_box_signal(r->box, r->pid, signum, group, rig_on_done, r);
    rig_wait(r, &r->done);
    return r->err.code;
}
