/* SPDX-License-Identifier: MIT */
#include "sandbox/service/box/box_command.h"

#include "base/mem.h"
#include "sandbox/service/box/box_child.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMP_BYTES_DEFAULT (UINT64_C(2) << 30) /* /tmp is memory */

char *ebb_box_program_find(ebb_err *err)
{
    const char *path = getenv("PATH"), *set = getenv("EBB_BWRAP");
    const char *places[] = { path != NULL ? path : "", "/usr/bin:/bin" };

    if (set != NULL && *set != '\0') {
        if (access(set, X_OK) == 0)
            return ebb_mem_dup(set);
        ebb_err_set(err, EBB_UNSUPPORTED,
                    "EBB_BWRAP names no program: %s", set);
        return NULL;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (const char *at = places[i]; *at != '\0';) {
            size_t n = strcspn(at, ":");
            char *file = ebb_mem_printf("%.*s/bwrap", (int)n, at);

            if (file != NULL && n > 0 && access(file, X_OK) == 0)
                return file;
            ebb_mem_free(file);
            at += n + (at[n] == ':');
        }
    ebb_err_set(err, EBB_UNSUPPORTED,
                "bubblewrap (bwrap) is not installed: apt-get install "
                "bubblewrap");
    return NULL;
}

static void add(ebb_box_command *c, const char *arg)
{
    char *copy = c->count < EBB_BOX_ARGS_MAX ? ebb_mem_dup(arg) : NULL;

    if (copy == NULL)
        c->failed = true;
    else
        c->args[c->count++] = copy;
}

static void add_all(ebb_box_command *c, const char *const *args)
{
    for (; *args != NULL; args++)
        add(c, *args);
}

static void add_bind(ebb_box_command *c, const char *how, const char *from,
                     const char *to)
{
    const char *const args[] = { how, from, to, NULL };

    add_all(c, args);
}

static void add_number(ebb_box_command *c, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, number);
    add(c, text);
}

static const char *const isolation[] = {
    "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop",
    "ALL", "--new-session", "--as-pid-1", "--hostname", "sandbox", "--uid",
    "1000", "--gid", "1000", "--clearenv", NULL
};

/* Each mount costs 0.1 to 0.3 ms of a start: the rest is in the root. */
static void add_mounts(ebb_box_command *c, const ebb_box *box,
                       const char *root, const char *home)
{
    static const char *const dirs[] = { "/bin", "/sbin", "/lib",
                                        "/lib32", "/lib64", "/libx32" };
    const ebb_box_limits *limits = &box->config.limits;
    struct stat st;

    add_bind(c, "--ro-bind", root, "/");
    add_bind(c, "--ro-bind", "/usr", "/usr");
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (lstat(dirs[i], &st) == 0 && S_ISDIR(st.st_mode))
            add_bind(c, "--ro-bind", dirs[i], dirs[i]);
    add_bind(c, "--ro-bind-try", "/etc/alternatives", "/etc/alternatives");
    add_bind(c, "--ro-bind-try", "/etc/ssl", "/etc/ssl");
    add_bind(c, "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache");
    if (box->config.network)
        add_bind(c, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf");
    add_bind(c, "--bind", home, "/home/user");
    add(c, "--size");
    add_number(c, limits->memory_bytes > 0 ? limits->memory_bytes
                                           : TMP_BYTES_DEFAULT);
    add_bind(c, "--perms", "1777", "--tmpfs");
    add(c, "/tmp");
    add_bind(c, "--proc", "/proc", "--dev");
    add(c, "/dev");
}

int ebb_box_command_init(ebb_box_command *c, const ebb_box *box,
                         const char *base, ebb_err *err)
{
    const char *name = strrchr(box->config.dir, '/') + 1;
    char *program = ebb_box_program_find(err);
    char *root = ebb_mem_printf("%s/" EBB_BOX_ROOT_NAME, base);
    char *home = ebb_mem_printf("%s/%s/home", base, name);
    char agent[32];

    *c = (ebb_box_command){ .count = 0 };
    if (program != NULL && root != NULL && home != NULL) {
        add(c, program);
        add_all(c, isolation);
        if (box->config.network)
            add(c, "--share-net");
        add_mounts(c, box, root, home);
        add(c, "--seccomp");
        add_number(c, EBB_BOX_CHILD_SECCOMP_FD);
        add(c, "--info-fd");
        add_number(c, EBB_BOX_CHILD_PID_FD);
        snprintf(agent, sizeof agent, "/proc/self/fd/%d",
                 EBB_AGENT_PROGRAM_FD);
        add_bind(c, "--chdir", "/", agent);
        add_number(c, box->limits.processes_max);
    }
    c->failed = c->failed || root == NULL || home == NULL;
    if (program != NULL && c->failed)
        ebb_err_set(err, EBB_NO_MEMORY, "start bubblewrap");
    ebb_mem_free(root);
    ebb_mem_free(home);
    if (program != NULL && !c->failed) {
        ebb_mem_free(program);
        return 0;
    }
    ebb_mem_free(program);
    ebb_box_command_clear(c);
    return -1;
}

void ebb_box_command_clear(ebb_box_command *c)
{
    for (size_t i = 0; i < c->count; i++)
        ebb_mem_free(c->args[i]);
    *c = (ebb_box_command){ .count = 0 };
}
