/* SPDX-License-Identifier: MIT */

/*
 * A durable run in C: three commands in a sandbox, each executed at most once,
 * however often this program is killed and started again.
 *
 *     cc embed_run.c $(pkg-config --cflags --libs ebb) -o embed_run
 *     ./embed_run nightly-42
 */

#include <ebb.h>

#include <stdio.h>

typedef struct host {
    ebb_runtime *rt;
    ebb_run *run;
    bool ended; /* what is waited for */
    ebb_value *out;
    ebb_err err;
} host;

static void on_outcome(void *context, ebb_value *out, const ebb_err *err)
{
    host *h = context;

    h->ended = true;
    h->out = out; /* the result, or the error object */
    if (err != NULL)
        h->err = *err;
}

static void on_end(void *context, const ebb_err *err)
{
    host *h = context;

    h->ended = true;
    if (err != NULL)
        h->err = *err;
}

/* Turns the loop: recorded outcomes are delivered, then steps run. */
static int wait_for_it(host *h)
{
    while (!h->ended) {
        ebb_run_idle(h->run);
        if (ebb_poll(h->rt, -1, &h->err) < 0)
            break;
    }
    h->ended = false;
    return h->err.code == EBB_OK ? 0 : -1;
}

/* One step; the path is the same in every execution. input moves. */
static int step(host *h, const char *path, const char *task, ebb_value *input)
{
    ebb_op *op;

    ebb_value_free(h->out);
    h->out = NULL;
    op = ebb_start_step(h->run, path, task, input, on_outcome, h, &h->err);
    ebb_value_free(input);
    return op != NULL ? wait_for_it(h) : -1;
}

static ebb_value *command(const ebb_value *box, const char *text)
{
    ebb_value *input = ebb_value_object();

    ebb_value_set(input, "sandboxId",
                  ebb_value_copy(ebb_value_find(box, "sandboxId")));
    if (text != NULL)
        ebb_value_set(input, "command", ebb_value_text(text));
    return input;
}

/* The workflow: its code asks for the same steps whenever it is executed. */
static int work(host *h, ebb_value **result)
{
    static const char *const paths[] = { "2", "3", "4" };
    static const char *const commands[] = { "echo one >> list",
                                            "echo two >> list", "cat list" };
    ebb_value *key = ebb_value_object(), *box;
    int failed;

    ebb_value_set(key, "idempotencyKey", ebb_value_text(ebb_run_id(h->run)));
    if (step(h, "1", "e2b.createSandbox", key) < 0)
        return -1;
    box = h->out;
    h->out = NULL;
    failed = 0;
    for (int i = 0; i < 3 && failed == 0; i++)
        failed = step(h, paths[i], "e2b.runCommand",
                      command(box, commands[i]));
    if (failed == 0)
        *result = ebb_value_copy(
            ebb_value_find(ebb_value_find(h->out, "stdout"), "text"));
    if (failed == 0)
        failed = step(h, "5", "e2b.killSandbox", command(box, NULL));
    ebb_value_free(box);
    return failed;
}

static int execute(host *h)
{
    ebb_value *result = NULL;
    int failed = work(h, &result);

    if (failed < 0)
        fprintf(stderr, "%s: %s\n", ebb_code_name(h->err.code), h->err.msg);
    h->err = (ebb_err){ 0 };
    if (ebb_run_end(h->run, failed < 0 ? EBB_RUN_FAILED : EBB_RUN_DONE,
                    failed < 0 ? h->out : result, on_end, h, &h->err) < 0 ||
        wait_for_it(h) < 0) {
        fprintf(stderr, "the end is not recorded: %s\n", h->err.msg);
        failed = -1;
    }
    if (failed == 0)
        fputs(ebb_value_get_string(result, NULL), stdout);
    ebb_value_free(result);
    ebb_value_free(h->out);
    return failed < 0 ? 1 : 0;
}

/* One that has ended is not executed again: what it gave is recorded. */
static int show(const ebb_run *run)
{
    const ebb_value *outcome = ebb_run_outcome(run);

    if (ebb_run_get_state(run) == EBB_RUN_DONE) {
        fputs(ebb_value_get_string(outcome, NULL), stdout);
        return 0;
    }
    /* A host that sets run_config.resume tries the step that failed again. */
    fprintf(stderr, "it failed before: %s\n",
            ebb_value_find_string(outcome, "message"));
    return 1;
}

int main(int argc, char **argv)
{
    ebb_config config;
    ebb_run_config run_config;
    host h = { 0 };
    int status = 1;

    ebb_config_init(&config);
    config.local = true;
    ebb_run_config_init(&run_config);
    run_config.id = argc > 1 ? argv[1] : "embed-run";
    h.rt = ebb_open(&config, &h.err);
    if (h.rt != NULL)
        h.run = ebb_run_open(h.rt, &run_config, &h.err);
    if (h.run == NULL)
        fprintf(stderr, "ebb: %s\n", h.err.msg);
    else if (ebb_run_get_state(h.run) == EBB_RUN_ACTIVE)
        status = execute(&h);
    else
        status = show(h.run);
    ebb_run_close(h.run);
    ebb_close(h.rt);
    return status;
}
