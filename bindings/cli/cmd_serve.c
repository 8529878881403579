/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

static int stop(const ebb_cli *cli)
{
    ebb_config config;
    ebb_err err = { 0 };

    ebb_config_init(&config);
    if (ebb_local_stop(&config, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    return EBB_EXIT_OK;
}

/* Everything but --stop is the service's own business, --help too. */
static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    ebb_err err = { 0 };
    char *program;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--stop") == 0)
            return argc == 2 ? stop(cli)
                             : ebb_usage_error(self, "--stop stands alone");
    program = ebb_libexec("ebb-sandboxd", &err);
    if (program == NULL)
        return ebb_output_error(cli, &err, NULL);
    argv[0] = program;
    execv(program, argv);
    ebb_err_set_errno(&err, EBB_NO_SERVICE, "start %s", program);
    ebb_free(program);
    return ebb_output_error(cli, &err, NULL);
}

const ebb_command ebb_cmd_serve = {
    .name = "serve",
    .synopsis = "[--listen HOST:PORT] [--socket PATH] [--api-key KEY] … | "
                "--stop",
    .help = "serve E2B's API for any SDK, with local sandboxes",
    .run = run,
};
