/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void show_all(const ebb_value *tasks)
{
    for (size_t i = 0; i < ebb_value_size(tasks); i++) {
        const ebb_value *task = ebb_value_at(tasks, i);
        printf("%-24s %-9s  %s\n", ebb_output_text(task, "name"),
               ebb_output_text(task, "class"), ebb_output_text(task, "help"));
    }
    printf("\n`ebb tasks NAME` shows the fields of one.\n");
}

static void show_field(const ebb_value *field, int indent)
{
    const ebb_value *otherwise = ebb_value_find(field, "default");
    const ebb_value *items = ebb_value_find(field, "items");
    bool required = ebb_value_find_bool(field, "required", false);
    char *text;

    printf("%*s%-*s %-7s %-9s %s", indent, "", 18 - indent,
           ebb_output_text(field, "name"), ebb_output_text(field, "type"),
           required ? "required" : "", ebb_output_text(field, "help"));
    if (otherwise != NULL) {
        text = ebb_value_write(otherwise, EBB_WRITE_COMPACT, NULL);
        printf(" (default %s)", text != NULL ? text : "?");
        ebb_free(text);
    }
    putchar('\n');
    for (size_t i = 0; i < ebb_value_size(items); i++)
        show_field(ebb_value_at(items, i), indent + 2);
}

static void show_one(const ebb_value *task)
{
    const ebb_value *fields = ebb_value_find(task, "fields");
    int64_t attempts = ebb_value_find_int(task, "attempts", 1);

    printf("%s: %s\nclass %s, %lld attempt%s\n\n",
           ebb_output_text(task, "name"), ebb_output_text(task, "help"),
           ebb_output_text(task, "class"), (long long)attempts,
           attempts == 1 ? "" : "s");
    for (size_t i = 0; i < ebb_value_size(fields); i++)
        show_field(ebb_value_at(fields, i), 2);
}

/* Also without the "e2b." in front. */
static const ebb_value *find_task(const ebb_value *tasks, const char *name)
{
    for (size_t i = 0; i < ebb_value_size(tasks); i++) {
        const ebb_value *task = ebb_value_at(tasks, i);
        const char *full = ebb_output_text(task, "name");
        const char *dot = strchr(full, '.');
        if (strcmp(full, name) == 0 ||
            (dot != NULL && strcmp(dot + 1, name) == 0))
            return task;
    }
    return NULL;
}

static int show(const ebb_cli *cli, const ebb_value *tasks, const char *name)
{
    const ebb_value *task = NULL;
    ebb_err err = { 0 };

    if (name != NULL && (task = find_task(tasks, name)) == NULL) {
        ebb_err_set(&err, EBB_INVALID_INPUT,
                    "there is no task '%s'; `ebb tasks` lists them", name);
        return ebb_output_error(cli, &err, NULL);
    }
    if (cli->json)
        return ebb_output_value(cli, name != NULL ? task : tasks);
    if (name != NULL)
        show_one(task);
    else
        show_all(tasks);
    return EBB_EXIT_OK;
}

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    int first = ebb_options_parse(cli, self, argc, argv, NULL, true);
    int status = EBB_EXIT_FAILED;
    ebb_runtime *rt;
    ebb_value *tasks;

    if (first < 0)
        return ebb_options_status(first);
    if (argc - first > 1)
        return ebb_usage_error(self, "one name at most");
    rt = ebb_cli_open(cli, &status);
    if (rt == NULL)
        return status;
    tasks = ebb_tasks(rt);
    status = show(cli, tasks, first < argc ? argv[first] : NULL);
    ebb_value_free(tasks);
    ebb_close(rt);
    return status;
}

const ebb_command ebb_cmd_tasks = {
    .name = "tasks",
    .synopsis = "[NAME] [--json]",
    .help = "list the tasks, or show one with its fields and limits",
    .run = run,
};
