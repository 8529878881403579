/* SPDX-License-Identifier: MIT */

/* The program `ebb`: global options, then one of the commands. */

#include "cli/cli.h"

#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const ebb_command *const commands[] = {
    &ebb_cmd_run,   &ebb_cmd_runs,    &ebb_cmd_call,   &ebb_cmd_repl,
    &ebb_cmd_tasks, &ebb_cmd_serve,   &ebb_cmd_sandbox, &ebb_cmd_doctor,
    NULL,
};

static const ebb_command main_command = {
    .name = "",
    .synopsis = "[--local] [--json] [--quiet] COMMAND [ARG…]",
};

static void show_help(FILE *out)
{
    fprintf(out, "ebb: Lua scripts that drive sandboxes\n\nusage: ebb %s\n\n",
            main_command.synopsis);
    for (size_t i = 0; commands[i] != NULL; i++)
        fprintf(out, "  %-8s  %s\n", commands[i]->name, commands[i]->help);
    fputs("\n  --local    use the local sandbox service: no account, no key\n"
          "  --json     results and errors as one line of JSON\n"
          "  --quiet    no progress on stderr\n"
          "  --journal FILE  where durable runs are recorded\n"
          "  --version  the version\n"
          "  --help     this; `ebb COMMAND --help` for one command\n\n"
          "Without --local, E2B_API_KEY says whose sandboxes these are.\n",
          out);
}

static const ebb_command *find_command(const char *name)
{
    for (size_t i = 0; commands[i] != NULL; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    return NULL;
}

/* --help, --version or help before any command. */
static bool asks_about(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool help = strcmp(argv[i], "--help") == 0 ||
                    strcmp(argv[i], "-h") == 0 ||
                    strcmp(argv[i], "help") == 0;
        if (help)
            show_help(stdout);
        else if (strcmp(argv[i], "--version") == 0)
            printf("ebb %s\n", ebb_version());
        else if (argv[i][0] == '-')
            continue;
        else
            return false;
        return true;
    }
    return false;
}

/* Blocks above this go back to the kernel when they are freed. */
#define OWN_BLOCK_BYTES (4 << 20)
#define KEPT_BYTES      (8 << 20)

/*
 * The buffers of a transfer come and go with every call. glibc gives them back
 * to the kernel each time, and the page faults of the next call cost more than
 * the call: readFile of 256 KiB took three times the CPU.
 */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, OWN_BLOCK_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}

/*
 * A program may be started with some of these closed; what it opens then gets
 * their numbers, and libuv aborts when it closes one. They are opened the wrong
 * way round, so that reading or writing is still the error EBADF.
 */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int run(int argc, char **argv)
{
    ebb_cli cli = { 0 };
    const ebb_command *command;
    int first;

    if (asks_about(argc, argv))
        return EBB_EXIT_OK;
    first = ebb_options_parse(&cli, &main_command, argc, argv, NULL, false);
    if (first < 0)
        return ebb_options_status(first);
    if (first >= argc) {
        show_help(stderr);
        return EBB_EXIT_USAGE;
    }
    command = find_command(argv[first]);
    if (command == NULL)
        return ebb_usage_error(&main_command,
                               "there is no command '%s'; see `ebb --help`",
                               argv[first]);
    return command->run(&cli, command, argc - first, argv + first);
}

int main(int argc, char **argv)
{
    fill_standard_descriptors();
    keep_memory();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write */
    return ebb_output_end(run(argc, argv));
}
