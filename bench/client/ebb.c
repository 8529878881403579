/* SPDX-License-Identifier: MIT */
/* ebb CASE N: the tasks through ebb.h, as a C host calls them. */
#include <ebb.h>

#include <stdlib.h>

#include "driver.h"

#define BOX "\"sandboxId\":\"" BENCH_SANDBOX "\""

typedef struct host {
    ebb_runtime *rt;
    int live; /* calls in flight */
} host;

static void die(const char *what, const ebb_err *err)
{
    fprintf(stderr, "ebb: %s: %s\n", what, err->msg);
    exit(1);
}

static ebb_value *parse(const char *text)
{
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse(text, strlen(text), 0, &err);

    if (value == NULL)
        die("input", &err);
    return value;
}

/* N calls one after the other. */
static void repeat(host *h, const char *task, const ebb_value *input, long n)
{
    ebb_err err = { 0 };

    for (long i = 0; i < n; i++) {
        ebb_value *out = NULL;

        if (ebb_call(h->rt, task, input, &out, &err) != 0)
            die(task, &err);
        ebb_value_free(out);
    }
}

static void on_done(void *context, ebb_value *out, const ebb_err *err)
{
    host *h = context;

    if (err != NULL)
        die("call", err);
    ebb_value_free(out);
    h->live--;
}

/* N calls at once. */
static void at_once(host *h, const char *task, const ebb_value *input, long n)
{
    ebb_err err = { 0 };

    for (long i = 0; i < n; i++, h->live++)
        if (ebb_start(h->rt, task, input, on_done, h, &err) == NULL)
            die(task, &err);
    while (h->live > 0)
        if (ebb_poll(h->rt, -1, &err) != 0)
            die("poll", &err);
}

/* {sandboxId, files: a hundred of 1 KiB} */
static ebb_value *many_files(void)
{
    ebb_value *input = parse("{" BOX ",\"files\":[]}");
    char path[32], content[1025];

    memset(content, 'x', sizeof content - 1);
    content[sizeof content - 1] = '\0';
    for (int i = 0; i < 100; i++) {
        ebb_value *file = ebb_value_object();

        snprintf(path, sizeof path, "/home/user/f%d", i);
        ebb_value_set(file, "path", ebb_value_text(path));
        ebb_value_set(file, "content", ebb_value_text(content));
        ebb_value_add(ebb_value_find(input, "files"), file);
    }
    return input;
}

/* N bytes of output in frames of so many. */
static ebb_value *with_output(long n, int frame)
{
    char text[256];

    snprintf(text, sizeof text,
             "{" BOX ",\"maxOutputBytes\":65536,"
             "\"command\":\"true # out=%ld/%d\"}",
             n, frame);
    return parse(text);
}

static ebb_value *input_of(const char *name, long n)
{
    if (strcmp(name, "read") == 0)
        return parse("{" BOX ",\"path\":\"/home/user/f\"}");
    if (strcmp(name, "list") == 0)
        return parse("{" BOX ",\"path\":\"/home/user\"}");
    if (strcmp(name, "code") == 0)
        return parse("{" BOX ",\"code\":\"1+1\"}");
    if (strcmp(name, "write") == 0)
        return many_files();
    if (strcmp(name, "out") == 0)
        return with_output(n, 32768);
    if (strcmp(name, "frames") == 0)
        return with_output(n, 16);
    if (strcmp(name, "conc") == 0)
        return parse("{" BOX ",\"command\":\"true # hold=200\"}");
    return parse("{" BOX ",\"command\":\"true\"}");
}

static const char *task_of(const char *name)
{
    if (strcmp(name, "read") == 0)
        return "e2b.readFile";
    if (strcmp(name, "list") == 0)
        return "e2b.listFiles";
    if (strcmp(name, "code") == 0)
        return "e2b.runCode";
    if (strcmp(name, "write") == 0)
        return "e2b.writeFiles";
    return "e2b.runCommand";
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "first";
    long n = argc > 2 ? atol(argv[2]) : 1;
    ebb_value *warm, *input;
    ebb_config config;
    ebb_err err = { 0 };
    bench_mark mark;
    host h = { 0 };

    ebb_config_init(&config);
    h.rt = ebb_open(&config, &err);
    if (h.rt == NULL)
        die("open", &err);
    warm = input_of("kept", 1);
    repeat(&h, "e2b.runCommand", warm, 1);
    input = input_of(name, n);
    mark = bench_now();
    if (strcmp(name, "conc") == 0)
        at_once(&h, task_of(name), input, n);
    else if (strcmp(name, "out") == 0 || strcmp(name, "frames") == 0)
        repeat(&h, task_of(name), input, 1);
    else if (strcmp(name, "first") != 0)
        repeat(&h, task_of(name), input, n);
    bench_report(&mark);
    ebb_value_free(warm);
    ebb_value_free(input);
    ebb_close(h.rt);
    return 0;
}
