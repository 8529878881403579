/* SPDX-License-Identifier: MIT */

/*
 * The prompt: reads chunks, from a terminal through the editor or line by
 * line from a pipe, runs each, prints its results.
 */

#include "cli/cli.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/repl.h"

#define CHUNK_BYTES_MAX (1u << 20)
#define POLL_MS 100

typedef struct repl {
    ebb_cli *cli;
    ebb_runtime *rt;
    ebb_lua *lua;
    ebb_editor *editor; /* NULL: standard input is no terminal */
    char *piped;        /* the line read from a pipe */
    size_t piped_room;
    char *chunk; /* lines so far that are not yet a whole chunk */
    int status;
    bool ended; /* by os.exit or a signal */
} repl;

static void cancel(void *context)
{
    ebb_lua_cancel(context);
}

static void nothing(void *context)
{
    (void)context;
}

static void wipe(void *context)
{
    (void)context;
    ebb_progress_wipe();
}

static void show_error(repl *r, const ebb_err *err, const ebb_value *object)
{
    ebb_output_error(r->cli, err, object);
    if (!r->ended)
        r->status = EBB_EXIT_FAILED;
}

/* Every result on a line or a block of its own; with --json the first. */
static int show_results(repl *r, ebb_value **error, ebb_err *err)
{
    ebb_value *value = NULL;
    char *text = NULL;
    unsigned how = ebb_output_colour() ? EBB_LUA_COLOUR : 0;

    if (r->cli->json) {
        if (ebb_lua_take(r->lua, &value, err) < 0) {
            *error = value;
            return -1;
        }
        ebb_output_value(r->cli, value);
        ebb_value_free(value);
        return 0;
    }
    if (ebb_lua_take_text(r->lua, how, &text, error, err) < 0)
        return -1;
    if (text != NULL && *text != '\0')
        printf("%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
    ebb_free(text);
    return 0;
}

static void finish_chunk(repl *r)
{
    ebb_value *error = NULL;
    ebb_err err = { 0 };
    int result, status;

    ebb_progress_wipe();
    result = show_results(r, &error, &err);
    status = ebb_lua_exit_status(r->lua);
    if (status >= 0) {
        r->ended = true;
        r->status = status;
    } else if (result < 0) {
        show_error(r, &err, error);
    }
    fflush(stdout);
    ebb_value_free(error);
}

/* Ctrl-C ends what comes from a pipe; SIGTERM and SIGHUP end any prompt. */
static void heed_interrupt(repl *r)
{
    if (!ebb_interrupted() || (r->editor != NULL && !ebb_terminated()))
        return;
    r->ended = true;
    r->status = ebb_code_exit_status(EBB_CANCELLED);
}

static void run_to_end(repl *r)
{
    ebb_err err = { 0 };

    ebb_interrupt_on(cancel, r->lua);
    while (!ebb_lua_done(r->lua) &&
           ebb_lua_poll(r->lua, POLL_MS, &err) == 0)
        ebb_progress_lua(r->cli, r->lua);
    heed_interrupt(r);
    ebb_interrupt_on(nothing, NULL); /* a late Ctrl-C ends no prompt */
}

/* Runs r->chunk unless more lines could make it whole. */
static void run_chunk(repl *r)
{
    bool incomplete = false;
    ebb_err err = { 0 };

    if (ebb_lua_start_chunk(r->lua, r->chunk, strlen(r->chunk), &incomplete,
                            &err) < 0) {
        if (incomplete)
            return;
        show_error(r, &err, NULL);
    } else {
        run_to_end(r);
        finish_chunk(r);
    }
    if (r->editor != NULL)
        ebb_editor_remember(r->editor, r->chunk);
    ebb_free(r->chunk);
    r->chunk = NULL;
}

static const char *read_line(repl *r, bool *interrupted)
{
    ssize_t n;

    *interrupted = false;
    if (r->editor != NULL) {
        ebb_interrupt_on(nothing, NULL);
        return ebb_editor_read(r->editor, r->chunk, interrupted);
    }
    ebb_interrupt_off(); /* waiting for a pipe, Ctrl-C ends the program */
    n = getline(&r->piped, &r->piped_room, stdin);
    if (n < 0)
        return NULL;
    r->piped[strcspn(r->piped, "\n")] = '\0';
    return r->piped;
}

static int append(repl *r, const char *line)
{
    char *longer = r->chunk == NULL
                       ? ebb_mem_dup(line)
                       : ebb_mem_printf("%s\n%s", r->chunk, line);

    ebb_free(r->chunk);
    r->chunk = longer;
    if (longer != NULL && strlen(longer) <= CHUNK_BYTES_MAX)
        return 0;
    ebb_free(r->chunk);
    r->chunk = NULL;
    fprintf(stderr, "ebb: a chunk is at most %u bytes\n", CHUNK_BYTES_MAX);
    r->status = EBB_EXIT_FAILED;
    return -1;
}

static bool is_blank(const char *line)
{
    return line[strspn(line, " \t\r")] == '\0';
}

static void converse(repl *r)
{
    const char *line;
    bool interrupted;

    while (!r->ended && (line = read_line(r, &interrupted)) != NULL) {
        if (interrupted) {
            ebb_free(r->chunk);
            r->chunk = NULL;
            heed_interrupt(r);
        } else if ((r->chunk != NULL || !is_blank(line)) &&
                   append(r, line) == 0) {
            run_chunk(r);
        }
    }
    if (r->chunk != NULL && r->editor == NULL) {
        ebb_err err = { 0 };
        ebb_err_set(&err, EBB_SCRIPT, "the input ends inside a statement");
        show_error(r, &err, NULL);
    }
}

/* The modules that every chunk uses, as globals. */
static int open_modules(repl *r, ebb_err *err)
{
    static const char require_them[] = "e2b, ebb = require 'e2b', "
                                       "require 'ebb'";
    ebb_value *none = NULL;

    if (ebb_lua_start_chunk(r->lua, require_them, sizeof require_them - 1,
                            NULL, err) < 0)
        return -1;
    run_to_end(r);
    return ebb_lua_take(r->lua, &none, err);
}

static const char *whose_sandboxes(const ebb_cli *cli)
{
    const char *local = getenv("EBB_LOCAL"), *key = getenv("E2B_API_KEY");

    if (cli->local || (local != NULL && (strcmp(local, "1") == 0 ||
                                         strcasecmp(local, "true") == 0)))
        return "local sandbox service";
    return key != NULL && *key != '\0' ? "E2B_API_KEY's account"
                                       : "no E2B_API_KEY: try --local";
}

static int open_parts(repl *r, ebb_err *err)
{
    ebb_lua_config config;

    ebb_lua_config_init(&config);
    config.runtime = r->rt;
    config.before = wipe;
    r->lua = ebb_lua_open(&config, err);
    if (r->lua == NULL || open_modules(r, err) < 0)
        return -1;
    if (isatty(STDIN_FILENO) != 1)
        return 0;
    r->editor = ebb_editor_open(r->rt, r->lua, err);
    if (r->editor == NULL)
        return -1;
    fprintf(stderr,
            "ebb %s · %s\ne2b.<Tab> lists the tasks, Ctrl-C cancels a call, "
            "Ctrl-D ends\n",
            ebb_version(), whose_sandboxes(r->cli));
    return 0;
}

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    repl r = { .cli = cli };
    ebb_err err = { 0 };
    int first = ebb_options_parse(cli, self, argc, argv, NULL, true);

    if (first < 0)
        return ebb_options_status(first);
    if (first < argc)
        return ebb_usage_error(self, "no arguments, got '%s'", argv[first]);
    setlocale(LC_CTYPE, "C.UTF-8");
    r.rt = ebb_cli_open(cli, &r.status);
    if (r.rt == NULL)
        return r.status;
    if (open_parts(&r, &err) < 0)
        r.status = ebb_output_error(cli, &err, NULL);
    else
        converse(&r);
    ebb_editor_close(r.editor);
    ebb_lua_close(r.lua);
    ebb_close(r.rt);
    ebb_free(r.chunk);
    free(r.piped);
    return r.status;
}

const ebb_command ebb_cmd_repl = {
    .name = "repl",
    .synopsis = "[--local]",
    .help = "the prompt: calls wait by themselves, results print prettily",
    .text = "e2b and ebb are there. Globals last; locals end with their "
            "chunk, which may\nspan lines. Tab completes names, tasks and the "
            "fields of an open call; Ctrl-C\ncancels the call and keeps the "
            "sandbox. From a pipe each chunk is run; the\nexit status is 1 "
            "if one failed.\n",
    .run = run,
};
