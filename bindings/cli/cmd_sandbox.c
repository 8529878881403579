/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void show_table(const ebb_value *sandboxes)
{
    size_t n = ebb_value_size(sandboxes);

    if (n == 0) {
        fprintf(stderr, "no sandboxes\n");
        return;
    }
    printf("%-22s %-8s %-24s %-24s %s\n", "ID", "STATUS", "STARTED", "ENDS",
           "TEMPLATE");
    for (size_t i = 0; i < n; i++) {
        const ebb_value *box = ebb_value_at(sandboxes, i);
        printf("%-22s %-8s %-24s %-24s %s\n",
               ebb_output_text(box, "sandboxId"),
               ebb_output_text(box, "status"),
               ebb_output_text(box, "startedAt"),
               ebb_output_text(box, "endAt"),
               ebb_output_text(box, "templateId"));
    }
}

static int list(ebb_cli *cli, ebb_runtime *rt)
{
    ebb_err err = { 0 };
    ebb_value *sandboxes;
    int status = EBB_EXIT_OK;

    if (ebb_sandbox_list(rt, &sandboxes, &err) < 0)
        status = ebb_output_error(cli, &err, sandboxes);
    else if (cli->json)
        status = ebb_output_value(cli, sandboxes);
    else
        show_table(sandboxes);
    ebb_value_free(sandboxes);
    return status;
}

static int kill_one(ebb_cli *cli, ebb_runtime *rt, const char *id)
{
    ebb_err err = { 0 };
    ebb_value *input = ebb_value_object(), *out = NULL;
    int status = EBB_EXIT_OK;

    if (ebb_value_set(input, "sandboxId", ebb_value_text(id)) < 0) {
        ebb_err_set(&err, EBB_INVALID_INPUT, "the id is not UTF-8");
        status = ebb_output_error(cli, &err, NULL);
    } else if (ebb_call(rt, "e2b.killSandbox", input, &out, &err) < 0) {
        status = ebb_output_error(cli, &err, out);
    } else if (cli->json) {
        status = ebb_output_value(cli, out);
    } else {
        printf("%s %s\n", id,
               ebb_value_find_bool(out, "changed", false) ? "killed"
                                                          : "was not alive");
    }
    ebb_value_free(input);
    ebb_value_free(out);
    return status;
}

/* Goes on after a failure: each id is its own matter. */
static int kill_each(ebb_cli *cli, ebb_runtime *rt, char **ids, int n)
{
    int last_failure = EBB_EXIT_OK;

    for (int i = 0; i < n; i++) {
        int status = kill_one(cli, rt, ids[i]);
        if (status != EBB_EXIT_OK)
            last_failure = status;
    }
    return last_failure;
}

static int check_arguments(const ebb_command *self, const char *action,
                           int arguments)
{
    if (strcmp(action, "list") == 0)
        return arguments == 0
                   ? EBB_EXIT_OK
                   : ebb_usage_error(self, "list takes no argument");
    if (strcmp(action, "kill") == 0)
        return arguments > 0 ? EBB_EXIT_OK
                             : ebb_usage_error(self, "kill which sandbox?");
    return ebb_usage_error(self, "unknown action '%s'", action);
}

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    int first = ebb_options_parse(cli, self, argc, argv, NULL, true);
    int status, arguments = argc - first - 1;
    const char *action;
    ebb_runtime *rt;

    if (first < 0)
        return ebb_options_status(first);
    action = first < argc ? argv[first] : "list";
    status = check_arguments(self, action, arguments < 0 ? 0 : arguments);
    if (status != EBB_EXIT_OK)
        return status;
    rt = ebb_cli_open(cli, &status);
    if (rt == NULL)
        return status;
    if (strcmp(action, "kill") == 0)
        status = kill_each(cli, rt, argv + first + 1, arguments);
    else
        status = list(cli, rt);
    ebb_close(rt);
    return status;
}

const ebb_command ebb_cmd_sandbox = {
    .name = "sandbox",
    .synopsis = "[list | kill ID…]",
    .help = "list or kill sandboxes, on any back end",
    .run = run,
};
