/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdio.h>

static const char *mark(bool ok, bool required)
{
    return ok ? "ok" : required ? "MISSING" : "absent";
}

static void show(const ebb_value *rows)
{
    bool colour = ebb_output_colour();

    for (size_t i = 0; i < ebb_value_size(rows); i++) {
        const ebb_value *row = ebb_value_at(rows, i);
        bool ok = ebb_value_find_bool(row, "ok", false);
        bool required = ebb_value_find_bool(row, "required", true);
        const char *paint = ok ? "\033[32m" : required ? "\033[31m" : "";
        printf("%s%-8s%s %-14s %s\n", colour ? paint : "",
               mark(ok, required), colour ? "\033[0m" : "",
               ebb_output_text(row, "name"), ebb_output_text(row, "message"));
        if (!ok)
            printf("%-8s %-14s fix: %s\n", "", "",
                   ebb_output_text(row, "fix"));
    }
}

static int count_missing(const ebb_value *rows)
{
    int missing = 0;

    for (size_t i = 0; i < ebb_value_size(rows); i++) {
        const ebb_value *row = ebb_value_at(rows, i);
        missing += !ebb_value_find_bool(row, "ok", false) &&
                   ebb_value_find_bool(row, "required", true);
    }
    return missing;
}

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    int first = ebb_options_parse(cli, self, argc, argv, NULL, true);
    int status = EBB_EXIT_FAILED;
    ebb_err err = { 0 };
    ebb_runtime *rt;
    ebb_value *rows;

    if (first < 0)
        return ebb_options_status(first);
    if (first < argc)
        return ebb_usage_error(self, "no arguments, got '%s'", argv[first]);
    rt = ebb_cli_open(cli, &status);
    if (rt == NULL)
        return status;
    rows = ebb_check(rt, &err);
    if (rows == NULL)
        status = ebb_output_error(cli, &err, NULL);
    else if (cli->json)
        status = ebb_output_value(cli, rows);
    else
        show(rows);
    if (rows != NULL)
        status = count_missing(rows) == 0 ? EBB_EXIT_OK : 3;
    ebb_value_free(rows);
    ebb_close(rt);
    return status;
}

const ebb_command ebb_cmd_doctor = {
    .name = "doctor",
    .synopsis = "[--json]",
    .help = "check what ebb needs here and say the fix for what is missing",
    .text = "The exit status is 0 when nothing required is missing, else 3.\n",
    .run = run,
};
