/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 32

enum {
    GLOBAL_LOCAL = 1000,
    GLOBAL_JSON,
    GLOBAL_QUIET,
    GLOBAL_JOURNAL,
    GLOBAL_HELP
};

static const struct option global_options[] = {
    { "local", no_argument, NULL, GLOBAL_LOCAL },
    { "json", no_argument, NULL, GLOBAL_JSON },
    { "quiet", no_argument, NULL, GLOBAL_QUIET },
    { "journal", required_argument, NULL, GLOBAL_JOURNAL },
    { "help", no_argument, NULL, GLOBAL_HELP },
};
#define GLOBALS (sizeof global_options / sizeof *global_options)

/* Errors of usage are said while the options are still being read. */
static bool usage_as_json;

static void fill(struct option *all, const ebb_option *options)
{
    size_t n = 0;

    while (options != NULL && options[n].name != NULL && n < OPTIONS_MAX) {
        all[n] = (struct option){ options[n].name,
                                  options[n].flag != NULL ? no_argument
                                                          : required_argument,
                                  NULL, (int)n + 1 };
        n++;
    }
    memcpy(all + n, global_options, sizeof global_options);
    all[n + GLOBALS] = (struct option){ 0 };
}

static void show_help(const ebb_command *command)
{
    printf("usage: ebb %s %s\n\n%s\n", command->name, command->synopsis,
           command->help);
    if (command->text != NULL)
        printf("\n%s", command->text);
    printf("\nEverywhere: --local         use the local sandbox service\n"
           "            --journal FILE  where durable runs are recorded\n"
           "            --json          results and errors as one line of "
           "JSON\n"
           "            --quiet         no progress on stderr\n");
}

/* Whether one of the words that may be options is --json. */
static bool asks_for_json(int argc, char **argv, bool permute)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0)
            return true;
        if (argv[i][0] != '-' && !permute)
            return false;
    }
    return false;
}

int ebb_usage_error(const ebb_command *command, const char *fmt, ...)
{
    const char *space = *command->name != '\0' ? " " : "";
    ebb_err err = { 0 };
    char message[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    ebb_err_set(&err, EBB_INVALID_INPUT, "ebb%s%s: %s", space, command->name,
                message);
    if (usage_as_json)
        return ebb_output_error(&(ebb_cli){ .json = true }, &err, NULL);
    fprintf(stderr, "%s\nusage: ebb%s%s %s\n", err.msg, space,
            command->name, command->synopsis);
    return EBB_EXIT_USAGE;
}

/* Returns 0, -1 for a usage error, -2 when help was shown. */
static int take(ebb_cli *cli, const ebb_command *command,
                const ebb_option *options, int found, const char *word)
{
    switch (found) {
    case GLOBAL_LOCAL:
        cli->local = true;
        return 0;
    case GLOBAL_JSON:
        cli->json = true;
        return 0;
    case GLOBAL_QUIET:
        cli->quiet = true;
        return 0;
    case GLOBAL_JOURNAL:
        cli->journal = optarg;
        return 0;
    case GLOBAL_HELP:
    case 'h':
        show_help(command);
        return -2;
    case ':':
        ebb_usage_error(command, "%s needs a value", word);
        return -1;
    case '?':
        ebb_usage_error(command, "unknown option %s", word);
        return -1;
    default:
        if (options[found - 1].flag != NULL)
            *options[found - 1].flag = true;
        else
            *options[found - 1].value = optarg;
        return 0;
    }
}

int ebb_options_parse(ebb_cli *cli, const ebb_command *command, int argc,
                      char **argv, const ebb_option *options, bool permute)
{
    struct option all[OPTIONS_MAX + GLOBALS + 1];
    int found;

    usage_as_json = cli->json || asks_for_json(argc, argv, permute);
    fill(all, options);
    optind = 0; /* glibc: start anew */
    opterr = 0;
    while ((found = getopt_long(argc, argv, permute ? ":h" : "+:h", all,
                                NULL)) != -1) {
        int result = take(cli, command, options, found,
                          argv[optind > 0 ? optind - 1 : 0]);
        if (result < 0)
            return result;
    }
    return optind;
}

int ebb_options_status(int parsed)
{
    return parsed == -2 ? EBB_EXIT_OK : EBB_EXIT_USAGE;
}
