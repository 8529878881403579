/* SPDX-License-Identifier: MIT */
#include "cli/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR_COLUMNS 32
#define NAME_COLUMNS_MAX 32
#define TEXT_SHOWN 2000

void ebb_duration_write(int64_t ms, char out[EBB_DURATION_BYTES])
{
    if (ms < 0)
        ms = 0;
    if (ms < 1000)
        snprintf(out, EBB_DURATION_BYTES, "%" PRId64 " ms", ms);
    else if (ms < 60000)
        snprintf(out, EBB_DURATION_BYTES, "%.1f s", (double)ms / 1000);
    else if (ms < 3600000)
        snprintf(out, EBB_DURATION_BYTES, "%" PRId64 " m %" PRId64 " s",
                 ms / 60000, ms / 1000 % 60);
    else if (ms < 86400000)
        snprintf(out, EBB_DURATION_BYTES, "%" PRId64 " h %" PRId64 " m",
                 ms / 3600000, ms / 60000 % 60);
    else
        snprintf(out, EBB_DURATION_BYTES, "%" PRId64 " d", ms / 86400000);
}

/* The file's name: the folder is in `show`. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int widest(const ebb_value *list, const char *key, int least)
{
    int width = least;

    for (size_t i = 0; i < ebb_value_size(list); i++) {
        int n = ebb_output_plain(
            NULL, ebb_output_text(ebb_value_at(list, i), key), false);
        if (n > width)
            width = n;
    }
    return width < NAME_COLUMNS_MAX ? width : NAME_COLUMNS_MAX;
}

static void show_plain(const ebb_value *object, const char *key, bool lines)
{
    ebb_output_plain(stdout, ebb_output_text(object, key), lines);
}

static void show_column(const ebb_value *object, const char *key, int width)
{
    int columns = ebb_output_plain(stdout, ebb_output_text(object, key), false);

    printf("%*s", columns < width ? width - columns : 0, "");
}

void ebb_runs_show_list(const ebb_value *runs)
{
    int width = widest(runs, "id", 2);

    if (ebb_value_size(runs) == 0) {
        printf("no runs yet; `ebb run --id NAME SCRIPT` begins one\n");
        return;
    }
    printf("%-*s  %-11s  %5s  %10s  %10s  %s\n", width, "ID", "STATE",
           "STEPS", "BEGAN", "TOOK", "SCRIPT");
    for (size_t i = 0; i < ebb_value_size(runs); i++) {
        const ebb_value *run = ebb_value_at(runs, i);
        char age[EBB_DURATION_BYTES], took[EBB_DURATION_BYTES];
        ebb_duration_write(ebb_value_find_int(run, "ageMs", 0), age);
        ebb_duration_write(ebb_value_find_int(run, "ms", 0), took);
        show_column(run, "id", width);
        printf("  %-11s  %5" PRId64 "  %10s  %10s  ",
               ebb_output_text(run, "state"),
               ebb_value_find_int(run, "stepsCount", 0), age, took);
        ebb_output_plain(stdout, base_name(ebb_output_text(run, "script")),
                         false);
        putchar('\n');
    }
    printf("\nBEGAN is how long ago. `ebb runs show ID` shows one.\n");
}

/* ---- one run ---- */

static void show_backend(const char *backend)
{
    if (backend != NULL)
        printf(", on %s", strcmp(backend, "local") == 0 ? "the local service"
                                                        : backend);
}

void ebb_runs_show_head(const ebb_value *run)
{
    const ebb_value *owner = ebb_value_find(run, "owner");
    char took[EBB_DURATION_BYTES];

    ebb_duration_write(ebb_value_find_int(run, "ms", 0), took);
    printf("run %s: %s, %s", ebb_output_text(run, "id"),
           ebb_output_text(run, "state"), took);
    if (ebb_value_find_bool(owner, "alive", false))
        printf(", by process %" PRId64, ebb_value_find_int(owner, "pid", 0));
    if (ebb_value_find_int(run, "recoveries", 0) > 0)
        printf(", recovered %" PRId64 " times",
               ebb_value_find_int(run, "recoveries", 0));
    printf("\nscript ");
    show_plain(run, "script", false);
    printf(", began %s", ebb_output_text(run, "startedAt"));
    show_backend(ebb_value_find_string(run, "backend"));
    putchar('\n');
    if (ebb_value_find_string(run, "forkedFrom") != NULL)
        printf("forked from run %s\n", ebb_output_text(run, "forkedFrom"));
    putchar('\n');
}

static const char *mark(const ebb_value *step)
{
    const char *state = ebb_output_text(step, "state");

    if (strcmp(state, "done") == 0)
        return "+";
    return strcmp(state, "failed") == 0 ? "x" : "…";
}

/* Where in the run's time the step was: at least one mark wide. */
static void show_bar(const ebb_value *step, int64_t total)
{
    int64_t from = ebb_value_find_int(step, "offsetMs", 0);
    int64_t ms = ebb_value_find_int(step, "ms", total - from);
    int begin, end;

    if (total < 1)
        total = 1;
    from = from < 0 ? 0 : from > total ? total : from;
    if (ms < 0 || ms > total - from)
        ms = total - from;
    begin = (int)(from * (BAR_COLUMNS - 1) / total);
    end = (int)((from + ms) * (BAR_COLUMNS - 1) / total);
    putchar('|');
    for (int i = 0; i < BAR_COLUMNS; i++)
        putchar(i >= begin && i <= end ? '=' : ' ');
    putchar('|');
}

static void show_facts(const ebb_value *step, int path_width, int name_width)
{
    char took[EBB_DURATION_BYTES] = "";

    if (ebb_value_find(step, "ms") != NULL)
        ebb_duration_write(ebb_value_find_int(step, "ms", 0), took);
    printf("%s %-*s  ", mark(step), path_width, ebb_output_text(step, "path"));
    show_column(step, "name", name_width);
    printf("  %10s", took);
}

static void show_trouble(const ebb_value *step)
{
    const ebb_value *error = ebb_value_find(step, "error");
    size_t attempts = ebb_value_size(ebb_value_find(step, "failedAttempts"));

    if (attempts > 0)
        printf("  %zu attempt%s failed", attempts, attempts > 1 ? "s" : "");
    if (error != NULL) {
        fputs("  ", stdout);
        show_plain(error, "code", false);
    }
}

static int64_t offset_of(const void *step)
{
    return ebb_value_find_int(*(const ebb_value *const *)step, "offsetMs", 0);
}

static int by_begin(const void *a, const void *b)
{
    int64_t x = offset_of(a), y = offset_of(b);

    return x < y ? -1 : x > y;
}

void ebb_runs_show_steps(const ebb_value *run)
{
    const ebb_value *steps = ebb_value_find(run, "steps");
    size_t n = ebb_value_size(steps);
    const ebb_value **order = ebb_mem_zero((n + 1) * sizeof(ebb_value *));
    int path_width = widest(steps, "path", 4);
    int name_width = widest(steps, "name", 8);

    if (order == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = ebb_value_at(steps, i);
    qsort(order, n, sizeof(ebb_value *), by_begin);
    for (size_t i = 0; i < n; i++) {
        show_facts(order[i], path_width, name_width);
        fputs("  ", stdout);
        show_bar(order[i], ebb_value_find_int(run, "ms", 0));
        show_trouble(order[i]);
        putchar('\n');
    }
    ebb_mem_free(order);
}

void ebb_runs_show_line(const ebb_value *step)
{
    show_facts(step, 8, 20);
    show_trouble(step);
    putchar('\n');
    fflush(stdout);
}

void ebb_runs_show_end(const ebb_value *run)
{
    const ebb_value *sandboxes = ebb_value_find(run, "sandboxes");
    const ebb_value *error = ebb_value_find(run, "error");
    const char *id;

    if (error != NULL) {
        fputs("\nfailed: ", stdout);
        show_plain(error, "code", false);
        fputs(": ", stdout);
        show_plain(error, "message", true);
        putchar('\n');
    }
    if (ebb_value_size(sandboxes) > 0)
        printf("\nsandboxes it made and did not kill:\n");
    for (size_t i = 0; i < ebb_value_size(sandboxes); i++) {
        const ebb_value *box = ebb_value_at(sandboxes, i);
        id = ebb_value_find_string(box, "sandboxId");
        printf("  %s  %s%smade by step %s, key ",
               id != NULL ? id : "(perhaps one)",
               ebb_output_text(box, "status"),
               ebb_value_find(box, "status") != NULL ? ", " : "",
               ebb_output_text(box, "step"));
        show_plain(box, "idempotencyKey", false);
        putchar('\n');
    }
    if (ebb_value_size(sandboxes) > 0)
        printf("`ebb runs prune --kill` ends those of runs that have ended\n");
}

/* ---- one step ---- */

static void show_value(const char *what, const ebb_value *value)
{
    size_t n = 0, shown;
    char *text;

    if (value == NULL)
        return;
    text = ebb_value_write(value, EBB_WRITE_PRETTY, &n);
    shown = n < TEXT_SHOWN ? n : TEXT_SHOWN;
    while (shown < n && ((unsigned char)text[shown] & 0xC0) == 0x80)
        shown--; /* not inside a character */
    printf("\n%s:\n%.*s\n", what, (int)shown, text != NULL ? text : "");
    if (shown < n)
        printf("… of %zu bytes; --json shows all\n", n);
    ebb_mem_free(text);
}

static void show_attempts(const ebb_value *attempts)
{
    for (size_t i = 0; i < ebb_value_size(attempts); i++) {
        const ebb_value *attempt = ebb_value_at(attempts, i);
        printf("attempt %" PRId64 " failed at %s: ",
               ebb_value_find_int(attempt, "number", 0),
               ebb_output_text(attempt, "at"));
        show_plain(ebb_value_find(attempt, "error"), "message", true);
        putchar('\n');
    }
}

/* What was logged for the step, if anything was. */
static void show_log(const ebb_value *run, const char *path)
{
    const ebb_value *lines = ebb_value_find(run, "log");
    bool any = false;

    for (size_t i = 0; i < ebb_value_size(lines); i++) {
        const ebb_value *line = ebb_value_at(lines, i);
        const ebb_value *fields = ebb_value_find(line, "fields");
        int64_t attempt = ebb_value_find_int(line, "attempt", 0);
        char *text = NULL;

        if (strcmp(ebb_output_text(line, "step"), path) != 0)
            continue;
        if (!any)
            printf("\nlog:\n");
        any = true;
        if (fields != NULL)
            text = ebb_value_write(fields, EBB_WRITE_COMPACT, NULL);
        printf("%s %s: ", ebb_output_text(line, "at"),
               ebb_output_text(line, "level"));
        show_plain(line, "message", true);
        printf("%s%s", text != NULL ? " " : "", text != NULL ? text : "");
        if (attempt > 0)
            printf(" (attempt %" PRId64 ")", attempt);
        putchar('\n');
        ebb_free(text);
    }
}

void ebb_runs_show_step(const ebb_value *run, const ebb_value *step)
{
    char took[EBB_DURATION_BYTES];

    printf("step %s: ", ebb_output_text(step, "path"));
    show_plain(step, "name", false);
    printf(", class %s, %s", ebb_output_text(step, "class"),
           ebb_output_text(step, "state"));
    if (ebb_value_find(step, "ms") != NULL) {
        ebb_duration_write(ebb_value_find_int(step, "ms", 0), took);
        printf(" after %s", took);
    }
    printf("\nbegan %s\n", ebb_output_text(step, "startedAt"));
    show_attempts(ebb_value_find(step, "failedAttempts"));
    show_value("input", ebb_value_find(step, "input"));
    show_value("output", ebb_value_find(step, "output"));
    show_value("error", ebb_value_find(step, "error"));
    show_log(run, ebb_output_text(step, "path"));
}
