/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include "lua/ebb_lua.h"

#include <string.h>

#define SCRIPT_BYTES_MAX (16u << 20)
#define POLL_MS 100

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

static int finish(const ebb_cli *cli, ebb_lua *lua)
{
    ebb_value *out = NULL;
    ebb_err err = { 0 };
    int result = ebb_lua_take(lua, &out, &err);
    int status = ebb_lua_exit_status(lua); /* os.exit, or -1 */

    if (status < 0 && result == 0)
        status = ebb_output_value(cli, out);
    else if (status < 0)
        status = script_status(ebb_output_error(cli, &err, out));
    ebb_value_free(out);
    return status;
}

static int run_script(ebb_cli *cli, ebb_lua *lua,
                      const ebb_lua_script *script)
{
    ebb_err err = { 0 };

    if (ebb_lua_start(lua, script, &err) < 0)
        return script_status(ebb_output_error(cli, &err, NULL));
    while (!ebb_lua_done(lua)) {
        if (ebb_lua_poll(lua, POLL_MS, &err) < 0)
            return ebb_output_error(cli, &err, NULL);
        if (!ebb_lua_done(lua))
            ebb_progress_lua(cli, lua);
    }
    return finish(cli, lua);
}

static int with_runtime(ebb_cli *cli, const ebb_lua_script *script)
{
    ebb_lua_config config;
    ebb_err err = { 0 };
    ebb_lua *lua;
    int status = EBB_EXIT_FAILED;
    ebb_runtime *rt = ebb_cli_open(cli, &status);

    if (rt == NULL)
        return status;
    ebb_lua_config_init(&config);
    config.runtime = rt;
    config.before = wipe;
    lua = ebb_lua_open(&config, &err);
    if (lua == NULL) {
        status = ebb_output_error(cli, &err, NULL);
    } else {
        ebb_interrupt_on(cancel, lua);
        status = run_script(cli, lua, script);
        ebb_interrupt_off();
        ebb_lua_close(lua);
    }
    ebb_close(rt);
    return status;
}

/* The script from standard input; *owned is the caller's to free. */
static int read_stdin(ebb_lua_script *script, char **owned, ebb_err *err)
{
    *owned = ebb_input_read(SCRIPT_BYTES_MAX, &script->text_n, err);
    script->path = "stdin";
    script->text = *owned;
    return *owned != NULL ? 0 : -1;
}

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    const char *id = NULL;
    const ebb_option options[] = { { "id", NULL, &id }, { 0 } };
    ebb_lua_script script = { 0 };
    ebb_err err = { 0 };
    char *text = NULL;
    int first = ebb_options_parse(cli, self, argc, argv, options, false);
    int status;

    if (first < 0)
        return ebb_options_status(first);
    if (first >= argc)
        return ebb_usage_error(self, "which script?");
    if (id != NULL) {
        ebb_err_set(&err, EBB_UNSUPPORTED,
                    "--id: durable runs are not in this version of ebb (%s)",
                    ebb_version());
        return ebb_output_error(cli, &err, NULL);
    }
    script.path = argv[first];
    script.args = (const char *const *)(argv + first + 1);
    script.args_count = (size_t)(argc - first - 1);
    if (strcmp(script.path, "-") == 0 &&
        read_stdin(&script, &text, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    status = with_runtime(cli, &script);
    ebb_free(text);
    return status;
}

const ebb_command ebb_cmd_run = {
    .name = "run",
    .synopsis = "[--local] SCRIPT [ARG…]",
    .help = "run a Lua script and print what it returns",
    .text = "  SCRIPT  a file, or - for standard input\n"
            "  ARG     reach the script as `...` and in `arg`\n\n"
            "A string is printed as it is, another value as JSON, nil not at "
            "all.\nCtrl-C cancels the call that waits; cleanup still runs.\n",
    .run = run,
};
