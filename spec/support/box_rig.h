/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One sandbox in a state directory of its own, and calls that wait: for the
 * tests of sandbox/service/box. As root it runs under a uid of ebb's range, as
 * anybody else under that uid.
 */

#include "base/buf.h"
#include "base/fs.h"
#include "net/loop.h"
#include "sandbox/service/box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define RIG_WAIT_MS 20000
#define RIG_UID_FIRST 1879048192u
#define RIG_OUTPUT_MAX (64u << 20)

typedef struct rig {
    ebb_loop *loop;
    ebb_box *box;
    ebb_box_config config;
    char state[64], dir[128], id[32];
    bool ready, dead, stopped, done;
    ebb_err err; /* of the last call; code 0: none */
    unsigned deaths;

    uint32_t pid; /* of the last spawn */
    int stdin_fd, stdout_fd, stderr_fd;
    bool exited;
    int status;
    ebb_buf out, errors;

    int fd;             /* of the last open */
    ebb_box_entry entry; /* of the last stat; its strings are in text */
    char path[PATH_MAX], target[PATH_MAX], owner[64], metadata[256];
    ebb_buf names; /* of the last list: a path a line */
    size_t entries;
} rig;

static inline double rig_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline void rig_wait(rig *r, const bool *what)
{
    double end = rig_ms() + RIG_WAIT_MS;

    while (!*what) {
        if (rig_ms() > end)
            fail_msg("nothing came within %d ms", RIG_WAIT_MS);
        ebb_loop_run(r->loop, 1000);
    }
}

/* ---- callbacks ---- */

static inline void rig_note(rig *r, const ebb_err *err)
{
    r->err = err != NULL ? *err : (ebb_err){ .code = EBB_OK };
}

static inline void rig_on_ready(void *context, ebb_box *box,
                                const ebb_err *err)
{
    rig *r = context;

    (void)box;
    assert_false(r->ready);
    rig_note(r, err);
    r->ready = true;
}

static inline void rig_on_death(void *context, ebb_box *box)
{
    rig *r = context;

    (void)box;
    r->dead = true;
    r->deaths++;
}

static inline void rig_on_exit(void *context, ebb_box *box, uint32_t pid,
                               int status)
{
    rig *r = context;

    (void)box;
    if (pid == r->pid) {
        r->exited = true;
        r->status = status;
    }
}

static inline void rig_on_stopped(void *context)
{
    ((rig *)context)->stopped = true;
}

static inline void rig_on_done(void *context, const ebb_err *err)
{
    rig *r = context;

    assert_false(r->done);
    rig_note(r, err);
    r->done = true;
}

static inline void rig_on_spawned(void *context, uint32_t pid, int stdin_fd,
                                  int stdout_fd, int stderr_fd,
                                  const ebb_err *err)
{
    rig *r = context;

    rig_on_done(r, err);
    r->pid = pid;
    r->stdin_fd = stdin_fd;
    r->stdout_fd = stdout_fd;
    r->stderr_fd = stderr_fd;
    r->exited = false;
}

static inline void rig_on_opened(void *context, int fd, const ebb_err *err)
{
    rig *r = context;

    rig_on_done(r, err);
    r->fd = fd;
}

static inline void rig_on_stat(void *context, const ebb_box_entry *entry,
                               const ebb_err *err)
{
    rig *r = context;

    rig_on_done(r, err);
    if (entry == NULL)
        return;
    r->entry = *entry;
    snprintf(r->path, sizeof r->path, "%s", entry->path);
    snprintf(r->target, sizeof r->target, "%s", entry->target);
    snprintf(r->owner, sizeof r->owner, "%s:%s", entry->owner, entry->group);
    memcpy(r->metadata, entry->metadata, sizeof r->metadata);
}

static inline void rig_on_entry(void *context, const ebb_box_entry *entry)
{
    rig *r = context;

    r->entries++;
    ebb_buf_printf(&r->names, "%s\n", entry->path);
}

/* ---- life ---- */

static inline void rig_open_state(rig *r)
{
    ebb_err err = { .code = EBB_OK };
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 64);

    *r = (rig){ .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .fd = -1 };
    self[n] = '\0';
    strcpy(strrchr(self, '/'), "/../libexec");
    setenv("EBB_LIBEXEC", self, 0);
    snprintf(r->state, sizeof r->state, "/tmp/ebb-box-XXXXXX");
    assert_non_null(mkdtemp(r->state));
    assert_int_equal(chmod(r->state, 0711), 0);
    r->loop = ebb_loop_new(NULL, &err);
    assert_non_null(r->loop);
    ebb_buf_init(&r->out, RIG_OUTPUT_MAX);
    ebb_buf_init(&r->errors, RIG_OUTPUT_MAX);
    ebb_buf_init(&r->names, RIG_OUTPUT_MAX);
}

/* The directories as the service makes them; config has the defaults. */
static inline void rig_make_dirs(rig *r, const char *id)
{
    char home[160];
    uid_t uid = geteuid() == 0
                    ? RIG_UID_FIRST + (uid_t)(getpid() % 60000)
                    : geteuid();

    snprintf(r->id, sizeof r->id, "%s-%d", id, (int)getpid());
    snprintf(r->dir, sizeof r->dir, "%s/%s", r->state, r->id);
    snprintf(home, sizeof home, "%s/home", r->dir);
    assert_int_equal(mkdir(r->dir, 0711), 0);
    assert_int_equal(mkdir(home, 0700), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(home, uid, uid), 0);
    r->config = (ebb_box_config){ .id = r->id,
                                  .dir = r->dir,
                                  .uid = uid,
                                  .context = r,
                                  .on_ready = rig_on_ready,
                                  .on_death = rig_on_death,
                                  .on_exit = rig_on_exit };
}

static inline void rig_start(rig *r)
{
    ebb_err err = { .code = EBB_OK };

    r->ready = r->dead = r->stopped = false;
    r->box = ebb_box_start(r->loop, &r->config, &err);
    if (r->box == NULL)
        fail_msg("%s", err.msg);
    rig_wait(r, &r->ready);
}

static inline void rig_stop(rig *r)
{
    ebb_box_stop(r->box, rig_on_stopped, r);
    rig_wait(r, &r->stopped);
    ebb_box_free(r->box);
    r->box = NULL;
}

static inline void rig_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static inline void rig_close_state(rig *r)
{
    ebb_err err;

    rig_close_fd(&r->stdin_fd);
    rig_close_fd(&r->stdout_fd);
    rig_close_fd(&r->stderr_fd);
    rig_close_fd(&r->fd);
    ebb_loop_run(r->loop, 0);
    ebb_loop_free(r->loop);
    ebb_buf_clear(&r->out);
    ebb_buf_clear(&r->errors);
    ebb_buf_clear(&r->names);
    assert_int_equal(ebb_fs_remove_tree(r->state, &err), 0);
}

/* cmocka's set-up and tear-down: a sandbox for each test. */
static inline int rig_setup(void **state)
{
    static rig r;

    rig_open_state(&r);
    rig_make_dirs(&r, "box");
    rig_start(&r);
    if (r.err.code != EBB_OK)
        fail_msg("%s", r.err.msg);
    *state = &r;
    return 0;
}

static inline int rig_teardown(void **state)
{
    rig *r = *state;

    if (r->box != NULL)
        rig_stop(r);
    rig_close_state(r);
    return 0;
}
