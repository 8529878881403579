/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/script.h"

/* The script from standard input; *owned is the caller's to free. */
static int read_stdin(ebb_lua_script *script, char **owned, ebb_err *err)
{
    *owned = ebb_input_read(EBB_SCRIPT_BYTES_MAX, &script->text_n, err);
    script->path = "stdin";
    script->text = *owned;
    return *owned != NULL ? 0 : -1;
}

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    ebb_run_config durable;
    const ebb_option options[] = { { "id", NULL, &durable.id },
                                   { "take-over", &durable.take_over, NULL },
                                   { "force", &durable.force, NULL },
                                   { 0 } };
    ebb_lua_script script = { 0 };
    ebb_err err = { 0 };
    char *text = NULL;
    int first, status;

    ebb_run_config_init(&durable);
    first = ebb_options_parse(cli, self, argc, argv, options, false);
    if (first < 0)
        return ebb_options_status(first);
    if (first >= argc)
        return ebb_usage_error(self, "which script?");
    if (durable.id == NULL && (durable.take_over || durable.force))
        return ebb_usage_error(self, "--%s needs --id",
                               durable.force ? "force" : "take-over");
    durable.resume = durable.force;
    script.path = argv[first];
    script.args = (const char *const *)(argv + first + 1);
    script.args_count = (size_t)(argc - first - 1);
    if (strcmp(script.path, "-") == 0 &&
        read_stdin(&script, &text, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    status = ebb_script_run(cli, &script,
                            durable.id != NULL ? &durable : NULL);
    ebb_free(text);
    return status;
}

const ebb_command ebb_cmd_run = {
    .name = "run",
    .synopsis = "[--local] [--id ID] SCRIPT [ARG…]",
    .help = "run a Lua script and print what it returns",
    .text = "  SCRIPT       a file, or - for standard input\n"
            "  ARG          reach the script as `...` and in `arg`\n"
            "  --id ID      a durable run: its steps are recorded; the same "
            "command\n"
            "               goes on with it, or prints its result again\n"
            "  --take-over  from a process that is alive\n"
            "  --force      go on after a failure, also with a step whose "
            "outcome\n"
            "               is unknown\n\n"
            "A string is printed as it is, another value as JSON, nil not at "
            "all.\nCtrl-C cancels the call that waits; cleanup still runs.\n",
    .run = run,
};
