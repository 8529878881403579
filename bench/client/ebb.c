/* SPDX-License-Identifier: MIT */
/*
 * ebb [result | json] CASE N: the tasks through ebb.h, as a C host calls them;
 * or no calls, but what a part of each costs by itself: to make and free its
 * result, to parse the JSON of its answer and free that.
 */
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

/* The same value again, from its parts. */
static ebb_value *rebuild(const ebb_value *value)
{
    ebb_value *out, *member;
    void *place = NULL;
    const char *key;
    size_t n;

    switch (ebb_value_type(value)) {
    case EBB_STRING:
        key = ebb_value_get_string(value, &n);
        return ebb_value_string(key, n);
    case EBB_ARRAY:
        out = ebb_value_array();
        for (size_t i = 0; i < ebb_value_size(value); i++)
            ebb_value_add(out, rebuild(ebb_value_at(value, i)));
        return out;
    case EBB_OBJECT:
        out = ebb_value_object();
        while (ebb_value_next(value, &place, &key, &member))
            ebb_value_set(out, key, rebuild(member));
        return out;
    case EBB_INT:
        return ebb_value_int(ebb_value_get_int(value));
    default:
        return ebb_value_copy(value);
    }
}

/* One call, and then what it costs to make and free its result N times. */
static bench_mark rebuild_result(host *h, const char *task,
                                 const ebb_value *input, long n)
{
    ebb_value *out = NULL;
    ebb_err err = { 0 };
    bench_mark mark;

    if (ebb_call(h->rt, task, input, &out, &err) != 0)
        die(task, &err);
    mark = bench_now();
    for (long i = 0; i < n; i++)
        ebb_value_free(rebuild(out));
    ebb_value_free(out);
    return mark;
}

/* The answer to runCode is lines of JSON, as the fake server sends them. */
static void parse_lines(void)
{
    ebb_value_free(
        parse("{\"type\": \"number_of_executions\", \"execution_count\": 1}"));
    ebb_value_free(parse("{\"type\": \"stdout\", \"text\": \"hi\\n\", "
                         "\"timestamp\": \"x\"}"));
    ebb_value_free(parse("{\"type\": \"result\", \"text\": \"2\", "
                         "\"is_main_result\": true}"));
    ebb_value_free(parse("{\"type\": \"end_of_execution\"}"));
}

/* That to writeFiles names each file. */
static char *written_answer(void)
{
    ebb_value *files = ebb_value_array();
    char path[32], *text;

    for (int i = 0; i < 100; i++) {
        ebb_value *file = ebb_value_object();

        snprintf(path, sizeof path, "/home/user/f%d", i);
        ebb_value_set(file, "path", ebb_value_text(path));
        ebb_value_set(file, "name", ebb_value_text(path + 11));
        ebb_value_set(file, "type", ebb_value_text("file"));
        ebb_value_add(files, file);
    }
    text = ebb_value_write(files, EBB_WRITE_COMPACT, NULL);
    ebb_value_free(files);
    return text;
}

static bench_mark parse_answer(const char *name, long n)
{
    char *text = strcmp(name, "write") == 0 ? written_answer() : NULL;
    bench_mark mark = bench_now();

    for (long i = 0; i < n; i++) {
        if (text != NULL)
            ebb_value_free(parse(text));
        else
            parse_lines();
    }
    ebb_free(text);
    return mark;
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
    bool result = argc > 1 && strcmp(argv[1], "result") == 0;
    bool json = argc > 1 && strcmp(argv[1], "json") == 0;
    int at = result || json ? 2 : 1;
    const char *name = argc > at ? argv[at] : "first";
    long n = argc > at + 1 ? atol(argv[at + 1]) : 1;
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
    if (result)
        mark = rebuild_result(&h, task_of(name), input, n);
    else if (json)
        mark = parse_answer(name, n);
    else if (strcmp(name, "conc") == 0)
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
