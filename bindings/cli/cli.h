/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the commands of the program share: global options, how options are
 * read, how results and errors are shown. A command is one file cmd_*.c and
 * one row of the table in main.c. The core is reached through ebb.h alone.
 */

#include "ebb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define EBB_EXIT_OK 0
#define EBB_EXIT_FAILED 1
#define EBB_EXIT_USAGE 2

typedef struct ebb_cli {
    bool local, json, quiet;
    bool one_line; /* results, on a terminal too */
    const char *journal;
} ebb_cli;

typedef struct ebb_command {
    const char *name;
    const char *synopsis; /* after "ebb NAME" */
    const char *help;     /* one line */
    const char *text;     /* for --help: options and examples; or NULL */
    int (*run)(ebb_cli *cli, const struct ebb_command *self, int argc,
               char **argv);
} ebb_command;

extern const ebb_command ebb_cmd_run, ebb_cmd_runs, ebb_cmd_call,
    ebb_cmd_repl, ebb_cmd_tasks, ebb_cmd_serve, ebb_cmd_sandbox,
    ebb_cmd_doctor;

/* ---- options.c ---- */

/* An option of one command: a flag (bool) or a value (const char *). */
typedef struct ebb_option {
    const char *name; /* without "--" */
    bool *flag;
    const char **value;
} ebb_option;

/*
 * Reads the options of argv, the global ones too; options end with a row of
 * zeros and may be NULL. If permute, options may stand behind arguments, which
 * argv then holds in order. Returns the index of the first argument; -1: a
 * usage error was shown; -2: help was shown.
 */
int ebb_options_parse(ebb_cli *cli, const ebb_command *command, int argc,
                      char **argv, const ebb_option *options, bool permute);

/* "ebb NAME: …" and the usage on stderr; returns EBB_EXIT_USAGE. */
int ebb_usage_error(const ebb_command *command, const char *fmt, ...)
    EBB_PRINTF(2, 3);

/* What ebb_options_parse returned below 0, as an exit status. */
int ebb_options_status(int parsed);

/* ---- output.c ---- */

/*
 * Shows an error on stderr, for people or with --json as one object on one
 * line. object may be NULL; it is borrowed. Returns the exit status of code.
 */
int ebb_output_error(const ebb_cli *cli, const ebb_err *err,
                     const ebb_value *object);

/*
 * A result on stdout: a string as it is, nothing for NULL, another value as
 * JSON: one line with --json or off a terminal, else pretty. Returns an exit
 * status: EBB_EXIT_FAILED if stdout cannot be written.
 */
int ebb_output_value(const ebb_cli *cli, const ebb_value *value);

/*
 * What main returns: status, but EBB_EXIT_FAILED when a command that went well
 * wrote to a stdout that did not take it, which is said. The reader of a pipe
 * may leave before the end of a list.
 */
int ebb_output_end(int status);

/* A member that is a string, else "". */
const char *ebb_output_text(const ebb_value *object, const char *key);

/*
 * Text of a script or a sandbox, with control characters, which could command
 * the terminal, as \xNN; with lines, newlines and tabs stay. Returns its
 * columns, a character one each; out may be NULL, to measure.
 */
int ebb_output_plain(FILE *out, const char *text, bool lines);

/* Whether stdout may be coloured: a terminal, and no NO_COLOR. */
bool ebb_output_colour(void);

/* The whole of standard input, at most bytes_max; freed with ebb_free. */
char *ebb_input_read(size_t bytes_max, size_t *n, ebb_err *err);

/*
 * Opens a runtime as the global options say; NULL: the error was shown and
 * *status is set.
 */
ebb_runtime *ebb_cli_open(const ebb_cli *cli, int *status);

/* ---- interrupt.c ---- */

/*
 * Ctrl-C and SIGTERM: calls fn in the handler, which must be async-signal-
 * safe, each time; the third ends the program at once.
 */
void ebb_interrupt_on(void (*fn)(void *context), void *context);
void ebb_interrupt_off(void);
bool ebb_interrupted(void);

/* Whether one of them was SIGTERM or SIGHUP: the program is to end. */
bool ebb_terminated(void);

/* ---- progress.c ---- */

/*
 * One line on stderr that says what runs and for how long, once it runs for
 * half a second, only on a terminal and not with --quiet or --json. It is
 * wiped before anything else is written.
 */
void ebb_progress_show(const ebb_cli *cli, const char *what, int attempt,
                       int64_t wait_ms, double elapsed_ms, size_t others);

/* The same of what a script waits for. */
struct ebb_lua;
void ebb_progress_lua(const ebb_cli *cli, const struct ebb_lua *lua);
void ebb_progress_wipe(void);
