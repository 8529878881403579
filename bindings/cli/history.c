/* SPDX-License-Identifier: MIT */

/* The file holds one chunk a line, as a JSON string, the oldest first. */

#include "cli/repl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <histedit.h>

#include "cli/cli.h"

#define CHUNKS_MAX      1000
#define KEY_BYTES_MIN   8    /* a shorter one is no secret */
#define FILE_CHUNKS_MAX 2000 /* then the file is cut to CHUNKS_MAX */

struct ebb_history {
    History *chunks;
    char *path; /* NULL: not kept */
};

/* Where the local service keeps its state too; NULL: nowhere. */
static char *find_path(void)
{
    const char *state = getenv("EBB_STATE");
    const char *shared = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state != NULL && *state != '\0')
        return ebb_mem_printf("%s/history", state);
    if (shared != NULL && *shared == '/')
        return ebb_mem_printf("%s/ebb/history", shared);
    if (home != NULL && *home == '/')
        return ebb_mem_printf("%s/.local/state/ebb/history", home);
    return NULL;
}

/* The folders above the file; those that are there stay as they are. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* What was typed is nobody else's business. */
static FILE *open_private(const char *path, const char *mode)
{
    mode_t mask = umask(077);
    FILE *file = fopen(path, mode);

    umask(mask);
    return file;
}

/* The prompt remembers it as long as it runs, the file never. */
static bool holds_key(const char *chunk)
{
    const char *key = getenv("E2B_API_KEY");

    return key != NULL && strlen(key) >= KEY_BYTES_MIN &&
           strstr(chunk, key) != NULL;
}

static void write_chunk(FILE *file, const char *chunk)
{
    ebb_value *value = holds_key(chunk) ? NULL : ebb_value_text(chunk);
    char *text =
        value != NULL ? ebb_value_write(value, EBB_WRITE_COMPACT, NULL) : NULL;

    if (text != NULL)
        fprintf(file, "%s\n", text);
    ebb_free(text);
    ebb_value_free(value);
}

static void enter(ebb_history *opened, const char *chunk)
{
    HistEvent event;

    history(opened->chunks, &event, H_ENTER, chunk);
}

/* Returns how many lines there are; one that is no chunk is passed over. */
static size_t load(ebb_history *opened)
{
    FILE *file = fopen(opened->path, "r");
    char *line = NULL;
    size_t room = 0, count = 0;
    ssize_t n;

    while (file != NULL && (n = getline(&line, &room, file)) > 0) {
        ebb_err err = { 0 };
        ebb_value *value = ebb_value_parse(line, (size_t)n, 1, &err);
        const char *chunk = ebb_value_get_string(value, NULL);
        if (chunk != NULL)
            enter(opened, chunk);
        ebb_value_free(value);
        count++;
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return count;
}

/* Written aside and renamed, so that a cut file is never seen. */
static void cut_file(const ebb_history *opened)
{
    char *aside = ebb_mem_printf("%s.new", opened->path);
    FILE *file = aside != NULL ? open_private(aside, "w") : NULL;
    HistEvent event;

    if (file != NULL) {
        for (int more = history(opened->chunks, &event, H_LAST); more != -1;
             more = history(opened->chunks, &event, H_PREV))
            write_chunk(file, event.str);
        if (fclose(file) == 0)
            rename(aside, opened->path);
    }
    ebb_free(aside);
}

ebb_history *ebb_history_open(void)
{
    ebb_history *opened = ebb_mem_zero(sizeof *opened);
    HistEvent event;

    if (opened == NULL)
        return NULL;
    opened->chunks = history_init();
    if (opened->chunks == NULL) {
        ebb_free(opened);
        return NULL;
    }
    history(opened->chunks, &event, H_SETSIZE, CHUNKS_MAX);
    history(opened->chunks, &event, H_SETUNIQUE, 1);
    opened->path = find_path();
    if (opened->path == NULL)
        return opened;
    make_folders(opened->path);
    if (load(opened) > FILE_CHUNKS_MAX)
        cut_file(opened);
    return opened;
}

void ebb_history_close(ebb_history *opened)
{
    if (opened == NULL)
        return;
    history_end(opened->chunks);
    ebb_free(opened->path);
    ebb_free(opened);
}

void ebb_history_add(ebb_history *opened, const char *chunk)
{
    FILE *file;

    if (opened == NULL || *chunk == '\0')
        return;
    enter(opened, chunk);
    file = opened->path != NULL ? open_private(opened->path, "a") : NULL;
    if (file == NULL)
        return;
    write_chunk(file, chunk);
    fclose(file);
}

void ebb_history_show(ebb_history *opened, struct editline *edit)
{
    if (opened != NULL)
        el_set(edit, EL_HIST, history, opened->chunks);
}
