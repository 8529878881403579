/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/process.h"

#include "base/mem.h"
#include "sandbox/service/envd/envd_path.h"

#include <string.h>

#define DEFAULT_PATH                                                           \
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/*
 * The variables of a process as an object, so that a later one of the same
 * name replaces an earlier: envd's own, the user's, the sandbox's, the
 * request's. PWD is there because E2B starts commands through a shell.
 */
static ebb_value *collect_envs(const ebb_envd_call *call, const char *cwd,
                               const Process__ProcessConfig *config)
{
    const ebb_value *global = call->envd->sandbox->envs;
    ebb_value *all = ebb_value_object(), *member;
    const char *key;
    void *place = NULL;
    size_t i;

    if (!all)
        return NULL;
    ebb_value_set(all, "PATH", ebb_value_text(DEFAULT_PATH));
    ebb_value_set(all, "HOME", ebb_value_text(EBB_ENVD_HOME));
    ebb_value_set(all, "USER", ebb_value_text(call->user));
    ebb_value_set(all, "LOGNAME", ebb_value_text(call->user));
    ebb_value_set(all, "PWD", ebb_value_text(cwd));
    ebb_value_set(all, "E2B_SANDBOX", ebb_value_text("true"));
    while (global && ebb_value_next(global, &place, &key, &member))
        ebb_value_set(all, key, ebb_value_copy(member));
    for (i = 0; i < config->n_envs; i++) {
        if (*config->envs[i]->key) /* an empty name vanishes, as in Go */
            ebb_value_set(all, config->envs[i]->key,
                          ebb_value_text(config->envs[i]->value));
    }
    return all;
}

/* A NULL-terminated array of "name=value". */
static char **write_envs(const ebb_value *all)
{
    char **list = ebb_mem_zero((ebb_value_size(all) + 1) * sizeof *list);
    ebb_value *member;
    const char *key;
    void *place = NULL;
    size_t n = 0;

    while (list && ebb_value_next(all, &place, &key, &member)) {
        const char *text = ebb_value_get_string(member, NULL);

        list[n] = ebb_mem_printf("%s=%s", key, text ? text : "");
        if (!list[n++])
            break; /* no memory: noticed as a list that is too short */
    }
    return list;
}

int ebb_envd_launch_init(ebb_envd_launch *launch, const ebb_envd_call *call,
                         const Process__ProcessConfig *config, ebb_err *err)
{
    ebb_value *envs = NULL;
    size_t i, n = 0;

    memset(launch, 0, sizeof *launch);
    launch->cwd =
        ebb_envd_path_expand(config->_cwd_case != 0 ? config->cwd : "", err);
    if (!launch->cwd)
        return -1;
    launch->argv = ebb_mem_zero((config->n_args + 2) * sizeof *launch->argv);
    envs = collect_envs(call, launch->cwd, config);
    if (envs)
        launch->envp = write_envs(envs);
    while (launch->envp && launch->envp[n])
        n++;
    if (!launch->argv || !launch->envp || n < ebb_value_size(envs)) {
        ebb_value_free(envs);
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for a process");
    }
    ebb_value_free(envs);
    launch->argv[0] = config->cmd;
    for (i = 0; i < config->n_args; i++)
        launch->argv[i + 1] = config->args[i];
    launch->spawn.argv = (const char *const *)launch->argv;
    launch->spawn.envp = (const char *const *)launch->envp;
    launch->spawn.cwd = launch->cwd;
    return 0;
}

void ebb_envd_launch_clear(ebb_envd_launch *launch)
{
    char **each;

    for (each = launch->envp; each && *each; each++)
        ebb_mem_free(*each);
    ebb_mem_free(launch->envp);
    ebb_mem_free(launch->argv);
    ebb_mem_free(launch->cwd);
    memset(launch, 0, sizeof *launch);
}
