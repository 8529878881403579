/* SPDX-License-Identifier: MIT */
#include "sandbox/service/state.h"

#include "base/fs.h"
#include "base/mem.h"
#include "sandbox/service/box/process_stat.h"
#include "sandbox/service/lifecycle.h"
#include "sandbox/service/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT          1
#define FILE_BYTES_MAX  (4u << 20)

static char *file_path(const ebb_sandbox *sandbox)
{
    return ebb_fs_join(sandbox->dir, "sandbox.json");
}

static int make_home(const ebb_sandbox *sandbox, const char *home, ebb_err *err)
{
    if (mkdir(home, 0700) != 0)
        return ebb_err_set_errno(err, EBB_SERVER, "make %s", home);
    /* Only root may give a directory away, and only root needs to. */
    if (geteuid() == 0 && chown(home, sandbox->uid, sandbox->uid) != 0)
        return ebb_err_set_errno(err, EBB_SERVER, "chown %s", home);
    return 0;
}

int ebb_state_make_dir(const ebb_sandbox *sandbox, ebb_err *err)
{
    mode_t mode = geteuid() == 0 ? 0711 : 0700;
    char *home;
    int rc;

    if (mkdir(sandbox->dir, mode) != 0 || chmod(sandbox->dir, mode) != 0)
        return ebb_err_set_errno(err, EBB_SERVER, "make %s", sandbox->dir);
    home = ebb_fs_join(sandbox->dir, "home");
    if (home == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "home directory");
    rc = make_home(sandbox, home, err);
    ebb_mem_free(home);
    return rc;
}

static const char *state_name(const ebb_sandbox *s)
{
    return s->state == EBB_SANDBOX_PAUSED && s->box == NULL ? "paused"
                                                            : "alive";
}

static int describe_life(const ebb_sandbox *s, ebb_value *o)
{
    const ebb_lifecycle *life = s->life;

    return ebb_value_set(o, "startedMs", ebb_value_int(s->started_ms)) |
           ebb_value_set(o, "endMs", ebb_value_int(s->end_ms)) |
           ebb_value_set(o, "pausedMs", ebb_value_int(s->paused_ms)) |
           ebb_value_set(o, "autoPause", ebb_value_bool(life->auto_pause)) |
           ebb_value_set(o, "autoPauseMemory",
                         ebb_value_bool(life->auto_pause_memory)) |
           ebb_value_set(o, "pid", ebb_value_int(life->pid)) |
           ebb_value_set(o, "pidStart",
                         ebb_value_int((int64_t)life->pid_start));
}

static ebb_value *describe(const ebb_sandbox *s)
{
    ebb_value *o = ebb_value_object();

    if (o == NULL)
        return NULL;
    if ((ebb_value_set(o, "format", ebb_value_int(FORMAT)) |
         ebb_value_set(o, "id", ebb_value_text(s->id)) |
         ebb_value_set(o, "token", ebb_value_text(s->token)) |
         ebb_value_set(o, "template", ebb_value_text(s->template_id)) |
         ebb_value_set(o, "state", ebb_value_text(state_name(s))) |
         ebb_value_set(o, "uid", ebb_value_int(s->uid)) |
         ebb_value_set(o, "network", ebb_value_bool(s->network)) |
         ebb_value_set(o, "allowInternet", ebb_value_copy(s->allow_internet)) |
         ebb_value_set(o, "metadata", ebb_value_copy(s->metadata)) |
         ebb_value_set(o, "envs", ebb_value_copy(s->envs)) |
         describe_life(s, o)) == 0)
        return o;
    ebb_value_free(o);
    return NULL;
}

int ebb_state_write(const ebb_sandbox *sandbox, ebb_err *err)
{
    ebb_value *o = describe(sandbox);
    size_t n = 0;
    char *text = o != NULL ? ebb_value_write(o, EBB_WRITE_COMPACT, &n) : NULL;
    char *path = file_path(sandbox);
    int rc;

    if (text == NULL || path == NULL)
        rc = ebb_err_set(err, EBB_NO_MEMORY, "state of %s", sandbox->id);
    else if (sandbox->state == EBB_SANDBOX_PAUSED)
        rc = ebb_fs_replace(path, text, n, 0600, err);
    else /* a failure of power ends it, whatever the file then says */
        rc = ebb_fs_replace_unsynced(path, text, n, 0600, err);
    ebb_mem_free(path);
    ebb_mem_free(text);
    ebb_value_free(o);
    return rc;
}

void ebb_state_del(const ebb_sandbox *sandbox)
{
    char *path = file_path(sandbox);

    if (path != NULL)
        unlink(path);
    ebb_mem_free(path);
}

/* Moves a member of the file into the sandbox. */
static ebb_value *take_copy(const ebb_value *o, const char *key, ebb_type type)
{
    const ebb_value *member = ebb_value_find(o, key);

    return ebb_value_type(member) == type ? ebb_value_copy(member) : NULL;
}

static int take_identity(ebb_sandbox *s, const ebb_value *o)
{
    const char *id = ebb_value_find_string(o, "id");
    const char *token = ebb_value_find_string(o, "token");
    const char *name = strrchr(s->dir, '/');
    int64_t uid = ebb_value_find_int(o, "uid", -1);

    s->template_id =
        ebb_table_find_template(ebb_value_find_string(o, "template"));
    if (id == NULL || token == NULL || name == NULL ||
        strcmp(name + 1, id) != 0 || !ebb_table_is_id(id) ||
        strlen(token) >= sizeof s->token || s->template_id == NULL ||
        uid <= 0 || uid >= UINT32_MAX)
        return -1;
    memcpy(s->id, id, sizeof s->id);
    memcpy(s->token, token, strlen(token) + 1);
    s->uid = (uid_t)uid;
    return 0;
}

static void take_life(ebb_sandbox *s, const ebb_value *o)
{
    ebb_lifecycle *life = s->life;
    const char *state = ebb_value_find_string(o, "state");

    s->state = state != NULL && strcmp(state, "paused") == 0
                   ? EBB_SANDBOX_PAUSED
                   : EBB_SANDBOX_RUNNING;
    s->started_ms = ebb_value_find_int(o, "startedMs", 0);
    s->end_ms = ebb_value_find_int(o, "endMs", 0);
    s->paused_ms = ebb_value_find_int(o, "pausedMs", 0);
    s->network = ebb_value_find_bool(o, "network", false);
    life->auto_pause = ebb_value_find_bool(o, "autoPause", false);
    life->auto_pause_memory = ebb_value_find_bool(o, "autoPauseMemory", true);
    life->pid = (pid_t)ebb_value_find_int(o, "pid", 0);
    life->pid_start = (uint64_t)ebb_value_find_int(o, "pidStart", 0);
}

static int take_all(ebb_sandbox *s, const ebb_value *o, ebb_err *err)
{
    const ebb_value *allow = ebb_value_find(o, "allowInternet");

    if (ebb_value_find_int(o, "format", 0) != FORMAT)
        return ebb_err_set(err, EBB_UNSUPPORTED, "written by another version");
    if (take_identity(s, o) != 0)
        return ebb_err_set(err, EBB_PROTOCOL, "not of this sandbox");
    take_life(s, o);
    s->metadata = take_copy(o, "metadata", EBB_OBJECT);
    s->envs = take_copy(o, "envs", EBB_OBJECT);
    s->allow_internet = ebb_value_type(allow) == EBB_BOOL
                            ? ebb_value_copy(allow)
                            : ebb_value_null();
    if (s->metadata == NULL || s->envs == NULL || s->allow_internet == NULL)
        return ebb_err_set(err, EBB_PROTOCOL, "no metadata or environment");
    return 0;
}

int ebb_state_parse(ebb_sandbox *sandbox, ebb_err *err)
{
    ebb_buf text;
    ebb_value *o = NULL;
    char *path = file_path(sandbox);
    int rc = -1;

    ebb_buf_init(&text, FILE_BYTES_MAX);
    if (path == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "state file");
    else if (ebb_fs_read(path, FILE_BYTES_MAX, &text, err) == 0)
        o = ebb_value_parse(text.bytes, text.n, 0, err);
    if (o != NULL)
        rc = take_all(sandbox, o, err);
    if (rc != 0)
        ebb_err_wrap(err, "%s", path != NULL ? path : sandbox->dir);
    ebb_value_free(o);
    ebb_buf_clear(&text);
    ebb_mem_free(path);
    return rc;
}

/* Field 22 of /proc/PID/stat, after the name in parentheses (proc(5)). */
uint64_t ebb_state_pid_start(pid_t pid)
{
    ebb_process_stat stat;

    return ebb_process_stat_get(pid, &stat) == 0 ? stat.start : 0;
}
