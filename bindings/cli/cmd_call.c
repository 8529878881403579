/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

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

/* What programs read is one line, on a terminal too. */
static int show_result(const calling *c)
{
    ebb_cli one_line = *c->cli;

    one_line.json = true;
    return ebb_output_value(&one_line, c->out);
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
    return show_result(c);
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

static int run(ebb_cli *cli, const ebb_command *self, int argc, char **argv)
{
    ebb_err err = { 0 };
    ebb_value *input;
    int first = ebb_options_parse(cli, self, argc, argv, NULL, true);
    int status;

    if (first < 0)
        return ebb_options_status(first);
    if (first >= argc)
        return ebb_usage_error(self, "which task? (`ebb tasks` lists them)");
    if (argc - first > 2)
        return ebb_usage_error(self, "one JSON argument, got %d; quote it",
                               argc - first - 1);
    if (read_input(argv[first + 1], &input, &err) < 0)
        return ebb_output_error(cli, &err, NULL);
    status = call(cli, argv[first], input);
    ebb_value_free(input);
    return status;
}

const ebb_command ebb_cmd_call = {
    .name = "call",
    .synopsis = "TASK [JSON | -]",
    .help = "call one task: JSON in, JSON out",
    .text = "  -   read the JSON from standard input\n\n"
            "  ebb --local call e2b.createSandbox "
            "'{\"idempotencyKey\":\"k1\"}'\n",
    .run = run,
};
