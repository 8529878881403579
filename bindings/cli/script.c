/* SPDX-License-Identifier: MIT */
#include "cli/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS 100

typedef struct execution {
    ebb_cli *cli;
    const ebb_lua_script *script;
    ebb_runtime *rt;
    ebb_run *run; /* NULL: nothing is recorded */
    ebb_lua *lua;
} execution;

static const char call_text[] =
    "local name, input = ...\n"
    "local task = name:match '^e2b%.(.+)$'\n"
    "if not task then\n"
    "  error(('there is no task %s; `ebb tasks` lists them'):format(name), 0)\n"
    "end\n"
    "return require 'e2b'[task](require 'ebb'.json.decode(input))\n";

void ebb_script_of_call(ebb_lua_script *script)
{
    script->path = EBB_SCRIPT_CALL;
    script->text = call_text;
    script->text_n = sizeof call_text - 1;
}

static void cancel(void *context)
{
    ebb_lua_cancel(context);
}

static void wipe(void *context)
{
    (void)context;
    ebb_progress_wipe();
}

/* A script's own bad input is an error of the script, not of usage. */
static int script_status(int status)
{
    return status == EBB_EXIT_USAGE ? EBB_EXIT_FAILED : status;
}

static void say_how_to_go_on(const execution *e, const ebb_err *err)
{
    if (e->cli->json || e->cli->quiet)
        return;
    if (err->code == EBB_REPLAY_MISMATCH)
        fprintf(stderr, "  nothing was executed; `ebb runs show %s` shows "
                        "what is recorded\n",
                ebb_run_id(e->run));
    else if (err->code == EBB_LOST_OWNERSHIP)
        fprintf(stderr, "  here the run stays interrupted; `ebb runs show %s` "
                        "says who has it\n",
                ebb_run_id(e->run));
    else if (err->code == EBB_JOURNAL ||
             ebb_run_get_state(e->run) == EBB_RUN_ACTIVE)
        fprintf(stderr, "  the run stays interrupted: `ebb runs resume %s` "
                        "goes on\n",
                ebb_run_id(e->run));
    else if (err->code == EBB_OUTCOME_UNKNOWN)
        fprintf(stderr, "  `ebb runs resume %s --force` runs that step "
                        "again\n",
                ebb_run_id(e->run));
    else
        fprintf(stderr, "  `ebb runs resume %s` tries the step that failed "
                        "again\n",
                ebb_run_id(e->run));
}

static int fail(const execution *e, const ebb_err *err, const ebb_value *out)
{
    int status = script_status(ebb_output_error(e->cli, err, out));

    if (e->run != NULL)
        say_how_to_go_on(e, err);
    return status;
}

/* Taking the end of a durable run commits it first. */
static int finish(const execution *e)
{
    ebb_value *out = NULL;
    ebb_err err = { 0 };
    int failed = ebb_lua_take(e->lua, &out, &err);
    int status = ebb_lua_exit_status(e->lua); /* os.exit, or -1 */

    if (failed < 0)
        status = fail(e, &err, out);
    else if (status < 0)
        status = ebb_output_value(e->cli, out);
    ebb_value_free(out);
    return status;
}

static int execute(const execution *e)
{
    ebb_err err = { 0 };

    if (ebb_lua_start(e->lua, e->script, &err) < 0)
        return script_status(ebb_output_error(e->cli, &err, NULL));
    while (!ebb_lua_done(e->lua)) {
        if (ebb_lua_poll(e->lua, POLL_MS, &err) < 0)
            return ebb_output_error(e->cli, &err, NULL);
        if (!ebb_lua_done(e->lua))
            ebb_progress_lua(e->cli, e->lua);
    }
    return finish(e);
}

static int with_lua(execution *e)
{
    ebb_lua_config config;
    ebb_err err = { 0 };
    int status;

    ebb_lua_config_init(&config);
    config.runtime = e->rt;
    config.before = wipe;
    config.run = e->run;
    e->lua = ebb_lua_open(&config, &err);
    if (e->lua == NULL)
        return ebb_output_error(e->cli, &err, NULL);
    ebb_interrupt_on(cancel, e->lua);
    status = execute(e);
    ebb_interrupt_off();
    ebb_lua_close(e->lua);
    return status;
}

/* ---- a durable run ---- */

static int show_ended(const execution *e)
{
    const ebb_value *out = ebb_run_outcome(e->run);
    const char *code = ebb_value_find_string(out, "code");
    int64_t os_exit = ebb_value_find_int(ebb_value_find(out, "details"),
                                         "exitStatus", 0);
    ebb_err err = { 0 };
    int status;

    if (ebb_run_get_state(e->run) == EBB_RUN_DONE)
        return ebb_output_value(e->cli,
                                ebb_value_type(out) == EBB_NULL ? NULL : out);
    ebb_err_set(&err, code != NULL ? ebb_code_find(code) : EBB_SCRIPT,
                "run %s failed", ebb_run_id(e->run));
    status = fail(e, &err, out);
    return os_exit > 0 ? (int)os_exit : status;
}

static ebb_value *args_value(const ebb_lua_script *script)
{
    ebb_value *args = ebb_value_array();

    for (size_t i = 0; i < script->args_count; i++)
        if (ebb_value_add(args, ebb_value_text(script->args[i])) < 0) {
            ebb_value_free(args);
            return NULL;
        }
    return args;
}

/* The text is read once: what is digested is what runs. */
static char *read_text(const ebb_lua_script *script, size_t *n, ebb_err *err)
{
    FILE *file = fopen(script->path, "rb");
    char *text;

    if (file == NULL) {
        ebb_err_set_errno(err, EBB_FILE_NOT_FOUND, "%s", script->path);
        return NULL;
    }
    text = ebb_mem_alloc(EBB_SCRIPT_BYTES_MAX + 1);
    if (text == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "%s", script->path);
    } else {
        *n = fread(text, 1, EBB_SCRIPT_BYTES_MAX + 1, file);
        if (ferror(file) || *n > EBB_SCRIPT_BYTES_MAX) {
            ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                        "%s: cannot be read, or is longer than %u bytes",
                        script->path, EBB_SCRIPT_BYTES_MAX);
            ebb_mem_free(text);
            text = NULL;
        }
    }
    fclose(file);
    return text;
}

/* An id that was used for something else gives that one's result. */
static void note_changes(const ebb_run *run)
{
    const char *id = ebb_run_id(run);

    if (ebb_run_script_changed(run))
        fprintf(stderr, "ebb: note: the script was changed since run %s "
                        "began\n",
                id);
    if (ebb_run_args_changed(run))
        fprintf(stderr, "ebb: note: run %s began with other arguments\n", id);
}

/* Another program has, had or removed it: nothing for a sweep to do. */
static bool was_taken(const ebb_run_config *config, const ebb_err *err)
{
    return config->interrupted &&
           (err->code == EBB_OWNED || err->code == EBB_CONFLICT ||
            err->code == EBB_NOT_FOUND);
}

static int run_durably(execution *e, ebb_run_config *config)
{
    ebb_err err = { 0 };
    int status;

    e->run = ebb_run_open(e->rt, config, &err);
    if (e->run == NULL)
        return was_taken(config, &err) ? EBB_EXIT_OK
                                       : ebb_output_error(e->cli, &err, NULL);
    if (config->interrupted && !e->cli->quiet)
        fprintf(stderr, "ebb: resuming run %s\n", ebb_run_id(e->run));
    if (!e->cli->quiet)
        note_changes(e->run);
    if (ebb_run_get_state(e->run) != EBB_RUN_ACTIVE) {
        status = show_ended(e);
    } else {
        status = with_lua(e);
    }
    ebb_run_close(e->run);
    return status;
}

static int durable(execution *e, const ebb_run_config *run)
{
    const ebb_lua_script *given = e->script;
    ebb_lua_script script = *given;
    ebb_run_config config = *run;
    ebb_err err = { 0 };
    char digest[65];
    char *path = script.text == NULL ? realpath(script.path, NULL) : NULL;
    char *text = NULL;
    ebb_value *args = args_value(&script);
    int status;

    if (script.text == NULL)
        script.text = text = read_text(&script, &script.text_n, &err);
    if (args == NULL)
        ebb_err_set(&err, EBB_INVALID_INPUT,
                    "an argument of the script is not UTF-8");
    if (script.text == NULL || args == NULL) {
        status = script_status(ebb_output_error(e->cli, &err, NULL));
    } else {
        ebb_run_sha256(script.text, script.text_n, digest);
        config.script = path != NULL ? path : script.path;
        config.script_sha256 = digest;
        config.args = args;
        e->script = &script;
        status = run_durably(e, &config);
        e->script = given;
    }
    ebb_mem_free(text);
    ebb_value_free(args);
    free(path);
    return status;
}

int ebb_script_run(ebb_cli *cli, const ebb_lua_script *script,
                   const ebb_run_config *run)
{
    execution e = { .cli = cli, .script = script };
    int status = EBB_EXIT_FAILED;

    e.rt = ebb_cli_open(cli, &status);
    if (e.rt == NULL)
        return status;
    status = run != NULL ? durable(&e, run) : with_lua(&e);
    ebb_close(e.rt);
    return status;
}
