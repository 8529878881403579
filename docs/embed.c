/* SPDX-License-Identifier: MIT */

/*
 * ebb in a C program: make a sandbox, run a command in it, kill it.
 *
 *     cc embed.c $(pkg-config --cflags --libs ebb) -o embed && ./embed
 */

#include <ebb.h>

#include <stdio.h>

/* Calls a task; NULL when it failed, which was then said. */
static ebb_value *call(ebb_runtime *rt, const char *task,
                       const ebb_value *input)
{
    ebb_value *out = NULL;
    ebb_err err = { 0 };

    if (ebb_call(rt, task, input, &out, &err) == 0)
        return out;
    fprintf(stderr, "%s: %s: %s\n", task, ebb_code_name(err.code), err.msg);
    ebb_value_free(out);
    return NULL;
}

/* Runs the command in the sandbox and prints its output. */
static int run(ebb_runtime *rt, const char *sandbox, const char *command)
{
    ebb_value *input = ebb_value_object(), *out;
    const char *text;

    ebb_value_set(input, "sandboxId", ebb_value_text(sandbox));
    ebb_value_set(input, "command", ebb_value_text(command));
    out = call(rt, "e2b.runCommand", input);
    ebb_value_free(input);
    if (out == NULL)
        return 1;
    text = ebb_value_find_string(ebb_value_find(out, "stdout"), "text");
    fputs(text != NULL ? text : "", stdout);
    ebb_value_free(out);
    return 0;
}

static int with_sandbox(ebb_runtime *rt)
{
    ebb_value *input = ebb_value_object(), *box, *target;
    int status;

    ebb_value_set(input, "idempotencyKey", ebb_value_text("embed-example"));
    box = call(rt, "e2b.createSandbox", input);
    ebb_value_free(input);
    if (box == NULL)
        return 1;
    status = run(rt, ebb_value_find_string(box, "sandboxId"),
                 "echo hello from $(whoami)");
    target = ebb_value_object();
    ebb_value_set(target, "sandboxId",
                  ebb_value_copy(ebb_value_find(box, "sandboxId")));
    ebb_value_free(call(rt, "e2b.killSandbox", target));
    ebb_value_free(target);
    ebb_value_free(box);
    return status;
}

int main(void)
{
    ebb_config config;
    ebb_err err = { 0 };
    ebb_runtime *rt;
    int status;

    ebb_config_init(&config);
    config.local = true;
    rt = ebb_open(&config, &err);
    if (rt == NULL) {
        fprintf(stderr, "ebb: %s\n", err.msg);
        return 1;
    }
    status = with_sandbox(rt);
    ebb_close(rt);
    return status;
}
