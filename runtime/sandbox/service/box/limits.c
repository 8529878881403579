/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sandbox/service/box/limits.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* bubblewrap's own process and the agent, beside those that are limited. */
#define OWN_PROCESSES 2
#define CPU_PERIOD_US 100000
#define DEL_ROUNDS_MAX 2000
#define DEL_ROUND_US 1000

/* One limit in one kind of group. */
typedef struct setting {
    ebb_cgroup_kind kind;
    const char *controller; /* of version 2, to be turned on above */
    const char *file;
    const char *how;
} setting;

typedef enum limited { MEMORY, PIDS, CPUS, LIMITED } limited;

static const setting unified_settings[LIMITED] = {
    { EBB_CGROUP_UNIFIED, "+memory", "memory.max", "cgroup v2" },
    { EBB_CGROUP_UNIFIED, "+pids", "pids.max", "cgroup v2" },
    { EBB_CGROUP_UNIFIED, "+cpu", "cpu.max", "cgroup v2" },
};

static const setting old_settings[LIMITED] = {
    { EBB_CGROUP_MEMORY, "", "memory.limit_in_bytes", "cgroup v1" },
    { EBB_CGROUP_PIDS, "", "pids.max", "cgroup v1" },
    { EBB_CGROUP_CPU, "", "cpu.cfs_quota_us", "cgroup v1" },
};

static bool wanted(const ebb_box_limits *asked, limited what)
{
    return what == MEMORY ? asked->memory_bytes > 0
           : what == PIDS ? asked->pids > 0
                          : asked->cpus > 0;
}

static bool any_wanted(const ebb_box_limits *asked)
{
    return wanted(asked, MEMORY) || wanted(asked, PIDS) ||
           wanted(asked, CPUS);
}

/* Whether the version 2 group offers all that is wanted of it. */
static bool offers(const char *dir, const ebb_box_limits *asked)
{
    for (limited what = MEMORY; what < LIMITED; what++)
        if (wanted(asked, what) &&
            !ebb_cgroup_has(dir, unified_settings[what].file))
            return false;
    return true;
}

static char *make_unified(const char *parent, const char *id,
                          const ebb_box_limits *asked)
{
    if (parent == NULL)
        return NULL;
    /* May fail: not ours, or processes in it. The files tell later. */
    for (limited what = MEMORY; what < LIMITED; what++)
        if (wanted(asked, what))
            (void)ebb_cgroup_write(parent, "cgroup.subtree_control",
                                   unified_settings[what].controller);
    return ebb_cgroup_new(parent, id);
}

/*
 * Below our own group, or at the top of the tree if that offers more: a group
 * that holds processes, as ours does, cannot hand controllers on.
 */
static void open_unified(ebb_limits *limits, const ebb_cgroup_places *places,
                         const char *id, const ebb_box_limits *asked)
{
    char *dir = make_unified(places->own[EBB_CGROUP_UNIFIED], id, asked);
    char *other = NULL;

    if (places->top != NULL && any_wanted(asked) &&
        (dir == NULL || !offers(dir, asked)) &&
        strcmp(places->top, places->own[EBB_CGROUP_UNIFIED]) != 0)
        other = make_unified(places->top, id, asked);
    if (other != NULL && (dir == NULL || offers(other, asked))) {
        if (dir != NULL)
            rmdir(dir);
        ebb_mem_free(dir);
        dir = other;
    } else if (other != NULL) {
        rmdir(other);
        ebb_mem_free(other);
    }
    limits->dirs[EBB_CGROUP_UNIFIED] = dir;
    if (dir != NULL)
        limits->unified_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int write_limit(const ebb_limits *limits, const setting *s,
                       const ebb_box_limits *asked, limited what)
{
    const char *dir = limits->dirs[s->kind];
    char text[64];

    if (what == MEMORY)
        snprintf(text, sizeof text, "%" PRIu64, asked->memory_bytes);
    else if (what == PIDS)
        snprintf(text, sizeof text, "%" PRIu64,
                 asked->pids + OWN_PROCESSES);
    else if (s->kind == EBB_CGROUP_UNIFIED)
        snprintf(text, sizeof text, "%.0f %d", asked->cpus * CPU_PERIOD_US,
                 CPU_PERIOD_US);
    else
        snprintf(text, sizeof text, "%.0f", asked->cpus * CPU_PERIOD_US);
    if (ebb_cgroup_write(dir, s->file, text) < 0)
        return -1;
    /* Swap would let the memory grow past its limit; not all have a file. */
    if (what == MEMORY && s->kind == EBB_CGROUP_UNIFIED)
        (void)ebb_cgroup_write(dir, "memory.swap.max", "0");
    if (what == MEMORY && s->kind == EBB_CGROUP_MEMORY)
        (void)ebb_cgroup_write(dir, "memory.memsw.limit_in_bytes", text);
    return 0;
}

/* How the limit is enforced now, or NULL. */
static const char *set_limit(ebb_limits *limits,
                             const ebb_cgroup_places *places, const char *id,
                             const ebb_box_limits *asked, limited what)
{
    const setting *s = &unified_settings[what];

    if (limits->dirs[EBB_CGROUP_UNIFIED] != NULL &&
        write_limit(limits, s, asked, what) == 0)
        return s->how;
    s = &old_settings[what];
    limits->dirs[s->kind] = ebb_cgroup_new(places->own[s->kind], id);
    if (limits->dirs[s->kind] != NULL &&
        write_limit(limits, s, asked, what) == 0)
        return s->how;
    return what == PIDS ? "rlimit" : NULL;
}

static void open_groups(ebb_limits *limits, const char *id,
                        const ebb_box_limits *asked,
                        ebb_limits_report *report)
{
    const char **how[LIMITED] = { &report->memory, &report->pids,
                                  &report->cpus };
    ebb_cgroup_places places;
    ebb_err ignored;

    if (ebb_cgroup_find(&places, &ignored) == 0) {
        open_unified(limits, &places, id, asked);
        for (limited what = MEMORY; what < LIMITED; what++)
            if (wanted(asked, what))
                *how[what] = set_limit(limits, &places, id, asked, what);
    }
    if (limits->unified_fd >= 0 &&
        ebb_cgroup_has(limits->dirs[EBB_CGROUP_UNIFIED], "cgroup.freeze")) {
        report->freeze = "cgroup v2";
    } else {
        limits->dirs[EBB_CGROUP_FREEZER] =
            ebb_cgroup_new(places.own[EBB_CGROUP_FREEZER], id);
        report->freeze = limits->dirs[EBB_CGROUP_FREEZER] != NULL
                             ? "cgroup v1"
                             : "SIGSTOP";
    }
    ebb_cgroup_clear(&places);
}

static int refuse(ebb_err *err, const char *what, const char *option)
{
    return ebb_err_set(err, EBB_UNSUPPORTED,
                       "a limit of %s cannot be enforced on this machine: no "
                       "control group may be used for it; start without %s, "
                       "or as root, or in a delegated cgroup v2 (systemd-run "
                       "-p Delegate=yes)",
                       what, option);
}

static int check(const ebb_limits_report *report,
                 const ebb_box_limits *asked, ebb_err *err)
{
    if (wanted(asked, MEMORY) && report->memory == NULL)
        return refuse(err, "memory", "--memory");
    if (wanted(asked, CPUS) && report->cpus == NULL)
        return refuse(err, "CPUs", "--cpus");
    if (asked->disk_bytes > 0)
        return ebb_err_set(err, EBB_UNSUPPORTED,
                           "a limit of disk space cannot be enforced: a "
                           "sandbox's home is a directory of the host's file "
                           "system; start without --disk");
    return 0;
}

static void init(ebb_limits *limits, const ebb_box_limits *asked)
{
    *limits = (ebb_limits){ .unified_fd = -1 };
    limits->processes_max =
        asked->pids > 0 ? asked->pids : EBB_LIMITS_PROCESSES_DEFAULT;
}

int ebb_limits_open(ebb_limits *limits, const char *id,
                    const ebb_box_limits *asked, ebb_err *err)
{
    ebb_limits_report report = { .pids = "rlimit" };

    init(limits, asked);
    open_groups(limits, id, asked, &report);
    if (check(&report, asked, err) == 0)
        return 0;
    ebb_limits_close(limits);
    return -1;
}

static void probe(const ebb_box_limits *asked, ebb_limits_report *report)
{
    ebb_limits limits;
    char id[32];

    snprintf(id, sizeof id, "probe-%ld", (long)getpid());
    *report = (ebb_limits_report){ .pids = "rlimit" };
    init(&limits, asked);
    open_groups(&limits, id, asked, report);
    ebb_limits_close(&limits);
}

void ebb_limits_describe(ebb_limits_report *report)
{
    const ebb_box_limits all = { .memory_bytes = 1u << 30,
                                 .pids = EBB_LIMITS_PROCESSES_DEFAULT,
                                 .cpus = 1 };

    probe(&all, report);
}

int ebb_limits_check(const ebb_box_limits *asked, ebb_err *err)
{
    ebb_limits_report report;

    probe(asked, &report);
    return check(&report, asked, err);
}

int ebb_limits_join(const ebb_limits *limits, bool born)
{
    for (int kind = 0; kind < EBB_CGROUP_KINDS; kind++) {
        if (limits->dirs[kind] == NULL ||
            (born && kind == EBB_CGROUP_UNIFIED))
            continue;
        if (ebb_cgroup_write(limits->dirs[kind], "cgroup.procs", "0") < 0)
            return -1;
    }
    return 0;
}

static const char *freezer(const ebb_limits *limits)
{
    return limits->dirs[EBB_CGROUP_FREEZER];
}

bool ebb_limits_can_freeze(const ebb_limits *limits)
{
    return freezer(limits) != NULL || limits->unified_fd >= 0;
}

int ebb_limits_freeze(const ebb_limits *limits, bool frozen, ebb_err *err)
{
    int failed =
        freezer(limits) != NULL
            ? ebb_cgroup_write(freezer(limits), "freezer.state",
                               frozen ? "FROZEN" : "THAWED")
            : ebb_cgroup_write(limits->dirs[EBB_CGROUP_UNIFIED],
                               "cgroup.freeze", frozen ? "1" : "0");

    if (failed < 0)
        return ebb_err_set_errno(err, EBB_SERVER, "%s the sandbox's cgroup",
                                 frozen ? "freeze" : "thaw");
    return 0;
}

bool ebb_limits_is_frozen(const ebb_limits *limits, bool frozen)
{
    char text[64];

    if (freezer(limits) == NULL)
        return ebb_cgroup_read(limits->dirs[EBB_CGROUP_UNIFIED],
                               "cgroup.events", "frozen") == frozen;
    return ebb_cgroup_read_text(freezer(limits), "freezer.state", text,
                                sizeof text) > 0 &&
           strcmp(text, frozen ? "FROZEN\n" : "THAWED\n") == 0;
}

void ebb_limits_kill(const ebb_limits *limits)
{
    const char *unified = limits->dirs[EBB_CGROUP_UNIFIED];

    if (unified != NULL)
        (void)ebb_cgroup_write(unified, "cgroup.kill", "1");
    if (freezer(limits) != NULL)
        (void)ebb_cgroup_write(freezer(limits), "freezer.state", "THAWED");
}

bool ebb_limits_close(ebb_limits *limits)
{
    bool all = true;

    if (limits->unified_fd >= 0)
        close(limits->unified_fd);
    limits->unified_fd = -1;
    for (int kind = 0; kind < EBB_CGROUP_KINDS; kind++) {
        char *dir = limits->dirs[kind];

        if (dir != NULL && rmdir(dir) < 0 && errno == EBUSY) {
            all = false;
            continue;
        }
        ebb_mem_free(dir);
        limits->dirs[kind] = NULL;
    }
    return all;
}

/* The group's directory if it is there. */
static char *find_group(const char *parent, const char *id)
{
    char *dir = parent == NULL ? NULL : ebb_mem_printf("%s/ebb-%s", parent,
                                                       id);

    if (dir != NULL && access(dir, F_OK) == 0)
        return dir;
    ebb_mem_free(dir);
    return NULL;
}

void ebb_limits_del(const char *id)
{
    ebb_limits limits = { .unified_fd = -1 };
    ebb_cgroup_places places;
    ebb_err ignored;

    if (strchr(id, '/') != NULL || ebb_cgroup_find(&places, &ignored) < 0)
        return;
    for (int kind = 0; kind < EBB_CGROUP_KINDS; kind++)
        limits.dirs[kind] = find_group(places.own[kind], id);
    if (limits.dirs[EBB_CGROUP_UNIFIED] == NULL)
        limits.dirs[EBB_CGROUP_UNIFIED] = find_group(places.top, id);
    ebb_cgroup_clear(&places);
    ebb_limits_kill(&limits);
    for (int i = 0; !ebb_limits_close(&limits) && i < DEL_ROUNDS_MAX; i++)
        usleep(DEL_ROUND_US);
    for (int kind = 0; kind < EBB_CGROUP_KINDS; kind++)
        ebb_mem_free(limits.dirs[kind]);
}
