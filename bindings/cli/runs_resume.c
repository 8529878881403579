/* SPDX-License-Identifier: MIT */

/* `ebb runs resume` and `fork`: the script goes on with what is recorded. */

#include <stdio.h>
#include <string.h>

#include "cli/runs.h"
#include "cli/script.h"

/* The arguments that a run was begun with: borrowed, in a new list. */
static const char **list_args(const ebb_value *args)
{
    size_t n = ebb_value_size(args);
    const char **list = ebb_mem_zero((n + 1) * sizeof *list);

    for (size_t i = 0; list != NULL && i < n; i++)
        list[i] = ebb_value_get_string(ebb_value_at(args, i), NULL);
    return list;
}

/* The script that a run was begun with. */
static int find_script(const ebb_value *run, ebb_lua_script *script,
                       ebb_err *err)
{
    const char *path = ebb_output_text(run, "script");

    script->path = path;
    script->args_count = ebb_value_size(ebb_value_find(run, "args"));
    if (script->args == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "the arguments of a run");
    if (strcmp(path, EBB_SCRIPT_CALL) == 0)
        ebb_script_of_call(script);
    else if (*path != '/')
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "run %s was not begun from a file; go on with "
                           "`ebb run --id %s SCRIPT`",
                           ebb_output_text(run, "id"),
                           ebb_output_text(run, "id"));
    return 0;
}

/*
 * run: as it is shown, with the script and arguments it was begun with, and on
 * the local service if its sandboxes are there.
 */
static int execute(const ebb_cli *given, const ebb_value *run,
                   const ebb_runs_options *options)
{
    ebb_cli cli = *given;
    const char **args = list_args(ebb_value_find(run, "args"));
    ebb_lua_script script = { .args = args };
    ebb_run_config config;
    ebb_err err = { 0 };
    int status;

    if (strcmp(ebb_output_text(run, "backend"), "local") == 0)
        cli.local = true;
    ebb_run_config_init(&config);
    config.id = ebb_output_text(run, "id");
    config.resume = options->id != NULL;
    config.interrupted = options->id == NULL; /* a sweep */
    config.take_over = options->take_over;
    config.force = options->force;
    if (find_script(run, &script, &err) < 0) {
        status = ebb_output_error(&cli, &err, NULL);
    } else {
        cli.one_line = script.text != NULL; /* as `ebb call` prints */
        status = ebb_script_run(&cli, &script, &config);
    }
    ebb_mem_free(args);
    return status;
}

static int resume_one(ebb_cli *cli, ebb_runtime *rt,
                      const ebb_runs_options *options)
{
    ebb_value *run = NULL;
    ebb_err err = { 0 };
    int status;

    if (ebb_runs_show(rt, options->id, &run, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    status = execute(cli, run, options);
    ebb_value_free(run);
    return status;
}

/* One of a sweep, which others may have taken, ended or removed meanwhile. */
static int sweep_one(ebb_cli *cli, ebb_runtime *rt, const char *id)
{
    const ebb_runs_options options = { 0 };
    ebb_value *run = NULL;
    ebb_err err = { 0 };
    int status;

    if (ebb_runs_show(rt, id, &run, &err) < 0)
        return err.code == EBB_NOT_FOUND ? EBB_EXIT_OK
                                         : ebb_output_error(cli, &err, NULL);
    status = execute(cli, run, &options);
    ebb_value_free(run);
    return status;
}

/* Every run whose owner is dead, the oldest first; the last failure counts. */
static int resume_all(ebb_cli *cli, ebb_runtime *rt)
{
    ebb_value *runs = NULL;
    ebb_err err = { 0 };
    int status = EBB_EXIT_OK, ended;
    size_t n = 0;

    if (ebb_runs_list(rt, &runs, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    for (size_t i = ebb_value_size(runs); i-- > 0 && !ebb_interrupted();) {
        const ebb_value *run = ebb_value_at(runs, i);
        if (strcmp(ebb_output_text(run, "state"), "interrupted") != 0)
            continue;
        n++;
        ended = sweep_one(cli, rt, ebb_output_text(run, "id"));
        if (ended != EBB_EXIT_OK)
            status = ended;
    }
    if (n == 0 && !cli->quiet)
        fprintf(stderr, "ebb: no run is interrupted\n");
    ebb_value_free(runs);
    return status;
}

int ebb_runs_resume(ebb_cli *cli, ebb_runtime *rt,
                    const ebb_runs_options *options)
{
    return options->id != NULL ? resume_one(cli, rt, options)
                               : resume_all(cli, rt);
}

int ebb_runs_fork_on(ebb_cli *cli, ebb_runtime *rt,
                     const ebb_runs_options *options)
{
    ebb_runs_options forked = { 0 };
    char *id = NULL;
    ebb_err err = { 0 };
    int status;

    if (ebb_runs_fork(rt, options->id, options->from, &id, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    if (!cli->quiet)
        fprintf(stderr, "ebb: run %s, from step %s of %s\n", id,
                options->from, options->id);
    forked.id = id;
    status = ebb_runs_resume(cli, rt, &forked);
    ebb_free(id);
    return status;
}
