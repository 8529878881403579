/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_MAX 10

static bool loss_was_said; /* that stdout cannot be written: once is enough */

static void error_as_json(const ebb_err *err, const ebb_value *object)
{
    ebb_value *made = NULL;
    char *text;

    if (object == NULL) {
        made = ebb_value_object();
        ebb_value_set(made, "code",
                      ebb_value_text(ebb_code_name(err->code)));
        ebb_value_set(made, "message", ebb_value_text(err->msg));
        object = made;
    }
    text = ebb_value_write(object, EBB_WRITE_COMPACT, NULL);
    fprintf(stderr, "%s\n", text != NULL ? text : "{}");
    ebb_free(text);
    ebb_value_free(made);
}

/* The output of a command that was cut short is shown, not lost. */
static void partial_output(const ebb_value *object, const char *stream)
{
    const ebb_value *details = ebb_value_find(object, "details");
    const char *text =
        ebb_value_find_string(ebb_value_find(details, stream), "text");

    if (text != NULL && *text != '\0')
        fprintf(stderr, "  %s so far: %.2000s\n", stream, text);
}

/* Both sides of a step that is not as it was recorded. */
static void show_diff(const ebb_value *object)
{
    const ebb_value *lines =
        ebb_value_find(ebb_value_find(object, "details"), "diff");

    for (size_t i = 0; i < ebb_value_size(lines); i++)
        fprintf(stderr, "  %s\n",
                ebb_value_get_string(ebb_value_at(lines, i), NULL));
}

/* Frames that are not of the script: C's, ebb's, those that are gone. */
static bool is_foreign(const char *frame)
{
    return strncmp(frame, "[C]", 3) == 0 || strncmp(frame, "[ebb ", 5) == 0 ||
           strncmp(frame, "(...tail", 8) == 0;
}

/* Where in the script it happened; the whole traceback is in --json. */
static void show_frames(const char *trace)
{
    int shown = 0;

    for (const char *line = strchr(trace, '\n');
         line != NULL && shown < FRAMES_MAX; line = strchr(line, '\n')) {
        line += strspn(line, "\n\t ");
        if (is_foreign(line))
            continue;
        fprintf(stderr, "  at %.*s\n", (int)strcspn(line, "\n"), line);
        shown++;
    }
}

static void error_for_people(const ebb_err *err, const ebb_value *object)
{
    int64_t attempts = ebb_value_find_int(object, "attempts", 0);
    const char *hint = ebb_value_find_string(object, "hint");
    const char *trace = ebb_value_find_string(object, "traceback");
    const char *message = ebb_value_find_string(object, "message");

    fprintf(stderr, "ebb: %s", message != NULL ? message : err->msg);
    if (attempts > 1)
        fprintf(stderr, " (after %lld attempts)", (long long)attempts);
    fputc('\n', stderr);
    if (hint != NULL)
        fprintf(stderr, "  %s\n", hint);
    show_diff(object);
    partial_output(object, "stdout");
    partial_output(object, "stderr");
    if (trace != NULL && err->code != EBB_CANCELLED)
        show_frames(trace);
}

int ebb_output_error(const ebb_cli *cli, const ebb_err *err,
                     const ebb_value *object)
{
    ebb_progress_wipe();
    if (cli->json)
        error_as_json(err, object);
    else
        error_for_people(err, object);
    return ebb_code_exit_status(err->code);
}

static int written(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EBB_EXIT_OK;
    if (!loss_was_said)
        fprintf(stderr, "ebb: cannot write the result: %s\n",
                errno != 0 ? strerror(errno)
                           : "some of what was printed is lost");
    loss_was_said = true;
    return EBB_EXIT_FAILED;
}

/* The reader of a pipe that left has seen what it wanted. */
static bool reader_left(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int ebb_output_end(int status)
{
    errno = 0;
    if (status != EBB_EXIT_OK || reader_left())
        return status;
    return written();
}

int ebb_output_value(const ebb_cli *cli, const ebb_value *value)
{
    bool terminal = isatty(STDOUT_FILENO) == 1;
    const char *string;
    char *text;
    size_t n = 0;

    ebb_progress_wipe();
    if (value == NULL)
        return EBB_EXIT_OK;
    errno = 0; /* the reason, if one of the writes below fails */
    string = cli->json ? NULL : ebb_value_get_string(value, &n);
    if (string != NULL) {
        fwrite(string, 1, n, stdout);
        if (terminal && (n == 0 || string[n - 1] != '\n'))
            fputc('\n', stdout);
        return written();
    }
    text = ebb_value_write(
        value,
        cli->json || cli->one_line || !terminal ? EBB_WRITE_COMPACT
                                                : EBB_WRITE_PRETTY,
        &n);
    if (text == NULL) {
        fprintf(stderr, "ebb: no memory to write the result\n");
        return EBB_EXIT_FAILED;
    }
    fwrite(text, 1, n, stdout);
    fputc('\n', stdout);
    ebb_free(text);
    return written();
}

const char *ebb_output_text(const ebb_value *object, const char *key)
{
    const char *text = ebb_value_find_string(object, key);

    return text != NULL ? text : "";
}

int ebb_output_plain(FILE *out, const char *text, bool lines)
{
    int columns = 0;

    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';
         at++) {
        bool c1 = at[0] == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0;
        bool kept = lines && (*at == '\n' || *at == '\t');
        if ((*at < ' ' && !kept) || *at == 0x7F || c1) {
            at += c1;
            columns += 4;
            if (out != NULL)
                fprintf(out, "\\x%02x", *at);
            continue;
        }
        columns += (*at & 0xC0) != 0x80;
        if (out != NULL)
            fputc(*at, out);
    }
    return columns;
}

bool ebb_output_colour(void)
{
    const char *no_color = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) == 1 &&
           (no_color == NULL || *no_color == '\0');
}

char *ebb_input_read(size_t bytes_max, size_t *n, ebb_err *err)
{
    char *text = ebb_mem_alloc(bytes_max + 2);
    size_t got;

    if (text == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "standard input");
        return NULL;
    }
    got = fread(text, 1, bytes_max + 1, stdin);
    text[got] = '\0';
    *n = got;
    if (ferror(stdin))
        ebb_err_set_errno(err, EBB_INVALID_INPUT, "standard input");
    else if (got > bytes_max)
        ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                    "standard input is longer than %zu bytes", bytes_max);
    else
        return text;
    ebb_free(text);
    return NULL;
}

ebb_runtime *ebb_cli_open(const ebb_cli *cli, int *status)
{
    ebb_config config;
    ebb_err err = { 0 };
    ebb_runtime *rt;

    ebb_config_init(&config);
    config.local = cli->local;
    config.journal = cli->journal;
    rt = ebb_open(&config, &err);
    if (rt == NULL)
        *status = ebb_output_error(cli, &err, NULL);
    return rt;
}
