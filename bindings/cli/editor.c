/* SPDX-License-Identifier: MIT */
#include "cli/repl.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include <histedit.h>

#include "cli/cli.h"

#define HISTORY_LINES 1000
#define CANDIDATES_SHOWN_MAX 60

struct ebb_editor {
    ebb_runtime *rt;
    ebb_lua *lua;
    EditLine *edit;
    History *history;
    char *history_path; /* NULL: not kept */
    char *line;
    bool continued;
};

static ebb_editor *editor_of(EditLine *edit)
{
    void *editor = NULL;

    el_get(edit, EL_CLIENTDATA, &editor);
    return editor;
}

static char *prompt(EditLine *edit)
{
    static char first[] = "ebb> ", more[] = "...> ";

    return editor_of(edit)->continued ? more : first;
}

/* Waits for a key while the loop goes on. False: Ctrl-C or an error. */
static bool wait_for_key(ebb_runtime *rt)
{
    struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                             { .fd = ebb_fd(rt), .events = POLLIN } };
    ebb_err err = { 0 };

    while (!ebb_interrupted()) {
        int n = poll(fds, 2, ebb_timeout_ms(rt));
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0 && fds[0].revents != 0)
            return true;
        if (ebb_poll(rt, 0, &err) < 0)
            return false;
    }
    return false;
}

/* libedit asks for one character: as many bytes as it takes. */
static int read_character(EditLine *edit, wchar_t *character)
{
    mbstate_t state = { 0 };
    char byte;

    for (int i = 0; i < 4; i++) {
        size_t n;
        if (!wait_for_key(editor_of(edit)->rt))
            return -1;
        if (read(STDIN_FILENO, &byte, 1) != 1)
            return 0;
        n = mbrtowc(character, &byte, 1, &state);
        if (n <= 1)
            return 1;
        if (n == (size_t)-1)
            break;
    }
    *character = L'?';
    return 1;
}

/* ---- completion ---- */

static size_t common_length(const ebb_value *names)
{
    const char *first = ebb_value_get_string(ebb_value_at(names, 0), NULL);
    size_t n = strlen(first);

    for (size_t i = 1; i < ebb_value_size(names); i++) {
        const char *other =
            ebb_value_get_string(ebb_value_at(names, i), NULL);
        size_t same = 0;
        while (same < n && first[same] == other[same])
            same++;
        n = same;
    }
    return n;
}

static void show_candidates(const ebb_value *names)
{
    size_t n = ebb_value_size(names);

    fputc('\n', stderr);
    for (size_t i = 0; i < n && i < CANDIDATES_SHOWN_MAX; i++)
        fprintf(stderr, "%s  ",
                ebb_value_get_string(ebb_value_at(names, i), NULL));
    if (n > CANDIDATES_SHOWN_MAX)
        fprintf(stderr, "and %zu more", n - CANDIDATES_SHOWN_MAX);
    fputc('\n', stderr);
}

static unsigned char complete(EditLine *edit, int key)
{
    ebb_editor *editor = editor_of(edit);
    const LineInfo *line = el_line(edit);
    size_t word_n, common;
    unsigned char result = CC_ERROR;
    ebb_value *names =
        ebb_complete(editor->rt, editor->lua, line->buffer,
                     (size_t)(line->cursor - line->buffer), &word_n);

    (void)key;
    if (ebb_value_size(names) > 0) {
        const char *first =
            ebb_value_get_string(ebb_value_at(names, 0), NULL);
        char *rest;
        common = common_length(names);
        rest = common > word_n ? ebb_mem_dup_n(first + word_n,
                                               common - word_n)
                               : NULL;
        if (rest != NULL && el_insertstr(edit, rest) == 0)
            result = CC_REFRESH;
        else if (ebb_value_size(names) > 1) {
            show_candidates(names);
            result = CC_REDISPLAY;
        }
        ebb_free(rest);
    }
    ebb_value_free(names);
    return result;
}

/* ---- history ---- */

static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *folder, *path;

    if (state != NULL && *state == '/')
        folder = ebb_mem_printf("%s/ebb", state);
    else if (home != NULL && *home == '/')
        folder = ebb_mem_printf("%s/.local/state/ebb", home);
    else
        return NULL;
    path = folder != NULL ? ebb_mem_printf("%s/history", folder) : NULL;
    if (folder != NULL)
        mkdir(folder, 0700); /* its parents are not ours to make */
    ebb_free(folder);
    return path;
}

static void open_history(ebb_editor *editor)
{
    HistEvent event;

    editor->history = history_init();
    if (editor->history == NULL)
        return;
    history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
    history(editor->history, &event, H_SETUNIQUE, 1);
    editor->history_path = history_path();
    if (editor->history_path != NULL)
        history(editor->history, &event, H_LOAD, editor->history_path);
    el_set(editor->edit, EL_HIST, history, editor->history);
}

static void close_history(ebb_editor *editor)
{
    HistEvent event;
    mode_t mask;

    if (editor->history == NULL)
        return;
    mask = umask(077); /* what was typed is nobody else's business */
    if (editor->history_path != NULL)
        history(editor->history, &event, H_SAVE, editor->history_path);
    umask(mask);
    history_end(editor->history);
}

void ebb_editor_remember(ebb_editor *editor, const char *chunk)
{
    HistEvent event;

    if (editor->history != NULL && *chunk != '\0')
        history(editor->history, &event, H_ENTER, chunk);
}

/* ---- open, read, close ---- */

ebb_editor *ebb_editor_open(ebb_runtime *rt, ebb_lua *lua, ebb_err *err)
{
    ebb_editor *editor = ebb_mem_zero(sizeof *editor);

    if (editor != NULL)
        editor->edit = el_init("ebb", stdin, stderr, stderr);
    if (editor == NULL || editor->edit == NULL) {
        ebb_free(editor);
        ebb_err_set(err, EBB_UNSUPPORTED, "this terminal cannot be edited on "
                                          "(TERM=%s)",
                    getenv("TERM") != NULL ? getenv("TERM") : "");
        return NULL;
    }
    editor->rt = rt;
    editor->lua = lua;
    el_set(editor->edit, EL_CLIENTDATA, editor);
    el_set(editor->edit, EL_PROMPT, prompt);
    el_set(editor->edit, EL_EDITOR, "emacs");
    el_set(editor->edit, EL_GETCFN, read_character);
    el_set(editor->edit, EL_ADDFN, "ebb-complete", "complete", complete);
    el_set(editor->edit, EL_BIND, "^I", "ebb-complete", NULL);
    el_set(editor->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    open_history(editor);
    el_source(editor->edit, NULL);
    return editor;
}

void ebb_editor_close(ebb_editor *editor)
{
    if (editor == NULL)
        return;
    close_history(editor);
    el_end(editor->edit);
    ebb_free(editor->history_path);
    ebb_free(editor->line);
    ebb_free(editor);
}

const char *ebb_editor_read(ebb_editor *editor, bool continued,
                            bool *interrupted)
{
    const char *line;
    int n = 0;

    editor->continued = continued;
    ebb_free(editor->line);
    editor->line = NULL;
    line = el_gets(editor->edit, &n);
    *interrupted = ebb_interrupted();
    if (*interrupted) {
        el_reset(editor->edit);
        fputs("^C\n", stderr);
        editor->line = ebb_mem_dup("");
    } else if (line != NULL && n > 0) {
        editor->line = ebb_mem_dup_n(line, strcspn(line, "\n"));
    }
    return editor->line;
}
