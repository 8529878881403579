/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One isolation: a bubblewrap with our agent as pid 1, and the connection to
 * that agent. It knows processes, files and signals inside; it knows nothing
 * of HTTP, E2B's states or deadlines.
 *
 * The agent is untrusted once user code runs: everything it says is bounded
 * and checked here, every pipe it passes is reopened, and no path it names is
 * opened by the service. Callbacks come from the loop, once per request, also
 * when the box dies first (EBB_SANDBOX_NOT_RUNNING).
 */

#include "base/err.h"
#include "net/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct ebb_box ebb_box;

/* What can be limited; 0: the default of the service, or none. */
typedef struct ebb_box_limits {
    uint64_t memory_bytes;
    uint64_t pids;
    double cpus;
    uint64_t disk_bytes;
} ebb_box_limits;

typedef struct ebb_box_config {
    const char *id;      /* of the sandbox, for messages */
    /*
     * Its state directory, made by the caller with home/ in it: dir is ours
     * and 0711 (0700 for a plain user), home is uid's (and its gid's).
     */
    const char *dir;
    uid_t uid;           /* host uid to run under; never 0 */
    bool network;        /* share the host's network; else none */
    ebb_box_limits limits;
    void *context;
    /* The agent answers, or err says why it never will. */
    void (*on_ready)(void *context, ebb_box *box, const ebb_err *err);
    /* The box is dead, for whatever reason; after on_ready only. */
    void (*on_death)(void *context, ebb_box *box);
    /* A process that ebb_box_spawn started has ended. status as wait's. */
    void (*on_exit)(void *context, ebb_box *box, uint32_t pid, int status);
} ebb_box_config;

/*
 * Checked once at the start of the service: bubblewrap is there and may make
 * namespaces. The error says the reason and the fix.
 */
int ebb_box_check(ebb_err *err);

ebb_box *ebb_box_start(ebb_loop *loop, const ebb_box_config *config,
                       ebb_err *err);

/*
 * Kills every process inside and calls done when none exists any more and
 * nothing is mounted. on_death does not come then.
 */
void ebb_box_stop(ebb_box *box, ebb_loop_fn *done, void *context);

/* Only before ready or after death or stop. */
void ebb_box_free(ebb_box *box);

/*
 * The host's pid of a process whose death by SIGKILL ends everything inside
 * (bubblewrap with --die-with-parent, or the first process itself): what a
 * later service must kill if this one is killed. 0 before ready.
 */
pid_t ebb_box_pid(const ebb_box *box);

/*
 * The file in a box's directory that names bubblewrap's process. It is written
 * before that process may go on, so that a service which is killed at any
 * moment of a start leaves no box that nobody knows.
 */
#define EBB_BOX_LEFT_NAME "started"

/*
 * Kills what a service that was killed has left of the box in dir, by that
 * file, and waits for its end. Blocks for at most a few seconds; nothing to
 * kill is fine.
 */
void ebb_box_left_kill(const char *dir);

/* Stops or continues every process inside; done says how it went. */
typedef void ebb_box_done_fn(void *context, const ebb_err *err);
void ebb_box_freeze(ebb_box *box, ebb_box_done_fn *done, void *context);
void ebb_box_thaw(ebb_box *box, ebb_box_done_fn *done, void *context);

/* CPU time and memory of everything inside; 0 where unknown. */
typedef struct ebb_box_usage {
    double cpu_seconds;
    uint64_t memory_bytes;
    uint64_t disk_bytes, disk_total_bytes;
} ebb_box_usage;
void ebb_box_usage_get(ebb_box *box, ebb_box_usage *usage);

/* ---- processes ---- */

typedef struct ebb_box_spawn_config {
    const char *const *argv; /* NULL-terminated; argv[0] searched in PATH */
    const char *const *envp; /* NULL-terminated, the whole environment */
    const char *cwd;         /* absolute, inside */
    bool stdin_pipe;         /* else /dev/null */
} ebb_box_spawn_config;

/*
 * A started process: pid inside, and the service's ends of its pipes, already
 * reopened and non-blocking; they are the callee's to close (stdin_fd -1 if
 * there is none). err: EBB_INVALID_INPUT (status ENOENT or ENOTDIR) for a bad
 * cwd. A program that cannot be executed is no error: it is a process that
 * writes one line to stderr and exits 127 or 126.
 */
typedef void ebb_box_spawn_fn(void *context, uint32_t pid, int stdin_fd,
                              int stdout_fd, int stderr_fd,
                              const ebb_err *err);
void ebb_box_spawn(ebb_box *box, const ebb_box_spawn_config *config,
                   ebb_box_spawn_fn *done, void *context);

/*
 * Sends signum to the process and, if group, to its whole process group (each
 * spawned process leads one). EBB_NOT_FOUND if it has ended.
 */
void ebb_box_signal(ebb_box *box, uint32_t pid, int signum, bool group,
                    ebb_box_done_fn *done, void *context);

/* ---- files; paths are absolute and resolved inside the sandbox ---- */

typedef struct ebb_box_entry {
    const char *name;   /* borrowed, as all strings here; maybe not UTF-8 */
    const char *path;
    const char *target; /* of a link: resolved; its own path if dangling */
    const char *owner, *group;
    uint32_t mode;        /* st_mode of the entry itself (lstat) */
    uint32_t target_mode; /* st_mode after following; 0 if dangling */
    int64_t size;
    int64_t mtime_s;
    uint32_t mtime_ns;
    const char *metadata; /* "key\0value\0…\0", empty: none */
} ebb_box_entry;

/*
 * Errors of the calls below carry the errno as status: EBB_FILE_NOT_FOUND for
 * ENOENT, EBB_INVALID_INPUT for ENOTDIR, EISDIR, ELOOP and the like, else
 * EBB_SERVER.
 */
typedef void ebb_box_stat_fn(void *context, const ebb_box_entry *entry,
                             const ebb_err *err);
void ebb_box_stat(ebb_box *box, const char *path, ebb_box_stat_fn *done,
                  void *context);

/*
 * Lists a directory to a depth (1: its children), parents before children, in
 * byte order: on_entry for each, then done. At most entries_max (then
 * EBB_LIMIT_EXCEEDED).
 */
void ebb_box_list(ebb_box *box, const char *path, unsigned depth,
                  size_t entries_max,
                  void (*on_entry)(void *context,
                                   const ebb_box_entry *entry),
                  ebb_box_done_fn *done, void *context);

/* Makes the directory and its missing parents; EBB_CONFLICT if it exists. */
void ebb_box_make_dir(ebb_box *box, const char *path, ebb_box_done_fn *done,
                      void *context);
/* rename(2), making the destination's parents. */
void ebb_box_move(ebb_box *box, const char *from, const char *to,
                  ebb_box_done_fn *done, void *context);
/* Recursive; a missing path is no error. */
void ebb_box_remove(ebb_box *box, const char *path, ebb_box_done_fn *done,
                    void *context);

#define EBB_BOX_READ 0u
#define EBB_BOX_WRITE 1u /* create (0666 & ~umask, parents 0755), truncate */

/*
 * Opens a regular file inside and hands it over, checked: regular, not of
 * proc, sysfs or the like (EBB_UNSUPPORTED), a fifo or device never blocks
 * (EBB_INVALID_INPUT). fd is the callee's.
 */
typedef void ebb_box_open_fn(void *context, int fd, const ebb_err *err);
void ebb_box_open(ebb_box *box, const char *path, unsigned how,
                  ebb_box_open_fn *done, void *context);

/* Replaces the user.e2b.* attributes: "key\0value\0…\0". */
void ebb_box_set_metadata(ebb_box *box, const char *path, const char *pairs,
                          size_t n, ebb_box_done_fn *done, void *context);
