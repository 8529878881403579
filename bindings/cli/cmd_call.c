/* SPDX-License-Identifier: MIT */
#include "cli/script.h"

#include <stdio.h>
#include <string.h>

#define INPUT_BYTES_MAX 5000000 /* the contract's limit has its own message */
#define POLL_MS 100

typedef struct calling {
    ebb_cli *cli;
    ebb_runtime *rt;
    const char *task;
    ebb_op *op;
    bool ended;
    ebb_value *out;
    ebb_err err;
} calling;

static void ended(void *context, ebb_value *out, const ebb_err *err)
{
    calling *c = context;

    c->ended = true;
    c->out = out;
    if (err != NULL)
        c->err = *err;
}

static void wake(void *context)
{
    ebb_wake(context);
}

static void show_progress(const calling *c, double began_ms)
{
    double elapsed = ebb_monotonic_ms(c->rt) - began_ms;
    int attempt;
    int64_t wait_ms;

    ebb_op_progress(c->op, &attempt, &wait_ms);
    ebb_progress_show(c->cli, c->task, attempt, wait_ms, elapsed, 0);
}

static int wait_for_end(calling *c)
{
    double began_ms = ebb_monotonic_ms(c->rt);

    while (!c->ended) {
        if (ebb_poll(c->rt, POLL_MS, &c->err) < 0)
            break;
        if (!c->ended && ebb_interrupted())
            ebb_cancel(c->op);
        if (!c->ended)
            show_progress(c, began_ms);
    }
    if (c->err.code != EBB_OK)
        return ebb_output_error(c->cli, &c->err, c->out);
    return ebb_output_value(c->cli, c->out);
}

/* The input: JSON text, "-" for standard input, nothing for {}. */
static int read_input(const char *text, ebb_value **input, ebb_err *err)
{
    char *owned = NULL;
    size_t n;

    *input = NULL;
    if (text == NULL)
        return 0;
    n = strlen(text);
    if (strcmp(text, "-") == 0) {
        owned = ebb_input_read(INPUT_BYTES_MAX, &n, err);
        if (owned == NULL)
            return ebb_err_wrap(err, "input");
        text = owned;
    }
    *input = ebb_value_parse(text, n, 0, err);
    ebb_free(owned);
    if (*input != NULL)
        return 0;
    err->code = EBB_INVALID_INPUT;
    return ebb_err_wrap(err, "the input is not JSON");
}

static int call(ebb_cli *cli, const char *task, const ebb_value *input)
{
    calling c = { .cli = cli, .task = task };
    int status = EBB_EXIT_FAILED;

    c.rt = ebb_cli_open(cli, &status);
    if (c.rt == NULL)
        return status;
    ebb_interrupt_on(wake, c.rt);
    c.op = ebb_start(c.rt, task, input, ended, &c, &c.err);
    if (c.op == NULL)
        status = ebb_output_error(cli, &c.err, NULL);
    else
        status = wait_for_end(&c);
    ebb_interrupt_off();
    ebb_close(c.rt);
    ebb_value_free(c.out);
    return status;
}

/* With an id: a run of one step. */
static int call_durably(ebb_cli *cli, const char *task,
                        const ebb_value *input, const ebb_run_config *run)
{
    char *text = input != NULL
                     ? ebb_value_write(input, EBB_WRITE_COMPACT, NULL)
                     : ebb_mem_dup("{}");
    const char *args[] = { task, text };
    ebb_lua_script script = { .args = args, .args_count = 2 };
    ebb_err err = { 0 };
    int status;

    ebb_script_of_call(&script);
    if (text != NULL) {
        status = ebb_script_run(cli, &script, run);
    } else {
        ebb_err_set(&err, EBB_NO_MEMORY, "the input");
        status = ebb_output_error(cli, &err, NULL);
    }
    ebb_free(text);
    return status;
}

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    ebb_run_config durable;
    const ebb_option options[] = { { "id", NULL, &durable.id }, { 0 } };
    ebb_err err = { 0 };
    ebb_value *input;
    int first, status;

    ebb_run_config_init(&durable);
    first = ebb_options_parse(cli, self, argc, argv, options, true);
    if (first < 0)
        return ebb_options_status(first);
    if (first >= argc)
        return ebb_usage_error(self, "which task? (`ebb tasks` lists them)");
    if (argc - first > 2)
        return ebb_usage_error(self, "one JSON argument, got %d; quote it",
                               argc - first - 1);
    if (read_input(argv[first + 1], &input, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    cli->one_line = true; /* programs read it, on a terminal too */
    status = durable.id != NULL
                 ? call_durably(cli, argv[first], input, &durable)
                 : call(cli, argv[first], input);
    ebb_value_free(input);
    return status;
}

const ebb_command ebb_cmd_call = {
    .name = "call",
    .synopsis = "[--id ID] TASK [JSON | -]",
    .help = "call one task: JSON in, JSON out",
    .text = "  -        read the JSON from standard input\n"
            "  --id ID  a durable run of this one step: the same command goes "
            "on with\n"
            "           it, or prints its result again\n\n"
            "  ebb --local call e2b.createSandbox "
            "'{\"idempotencyKey\":\"k1\"}'\n",
    .run = run,
};
