/* SPDX-License-Identifier: MIT */
#include "cli/repl.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <histedit.h>

#include "cli/cli.h"

#define CANDIDATES_SHOWN_MAX 60
#define PASTE_BYTES_MAX (1u << 20)

struct ebb_editor {
    ebb_runtime *rt;
    ebb_lua *lua;
    EditLine *edit;
    ebb_history *history;
    const char *before; /* the lines above, while one is read; or NULL */
    char *line;
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

    return editor_of(edit)->before != NULL ? more : first;
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

static size_t terminal_width(void)
{
    struct winsize size = { 0 };

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/* In columns, row by row. */
static void show_candidates(const ebb_value *names)
{
    size_t n = ebb_value_size(names), widest = 1, columns;

    for (size_t i = 0; i < n; i++) {
        size_t length =
            strlen(ebb_value_get_string(ebb_value_at(names, i), NULL));
        widest = length > widest ? length : widest;
    }
    columns = terminal_width() / (widest + 2);
    for (size_t i = 0; i < n && i < CANDIDATES_SHOWN_MAX; i++)
        fprintf(stderr, "%s%-*s", columns == 0 || i % columns == 0 ? "\n" : "",
                (int)widest + 2,
                ebb_value_get_string(ebb_value_at(names, i), NULL));
    if (n > CANDIDATES_SHOWN_MAX)
        fprintf(stderr, "\nand %zu more", n - CANDIDATES_SHOWN_MAX);
    fputc('\n', stderr);
}

/* What could stand at the cursor, by all of the chunk before it. */
static ebb_value *names_at(ebb_editor *editor, size_t *word_n)
{
    const LineInfo *line = el_line(editor->edit);
    const char *before = editor->before != NULL ? editor->before : "";
    char *text = ebb_mem_printf("%s\n%.*s", before,
                                (int)(line->cursor - line->buffer),
                                line->buffer);
    ebb_value *names = NULL;

    if (text != NULL)
        names = ebb_complete(editor->rt, editor->lua, text, strlen(text),
                             word_n);
    ebb_free(text);
    return names;
}

static unsigned char complete(EditLine *edit, int key)
{
    ebb_editor *editor = editor_of(edit);
    size_t word_n = 0, common;
    unsigned char result = CC_ERROR;
    ebb_value *names = names_at(editor, &word_n);

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

/* ---- pasting ---- */

static size_t bytes_of(wchar_t character, char *bytes)
{
    mbstate_t state = { 0 };
    size_t n = wcrtomb(bytes, character, &state);

    return n == (size_t)-1 ? 0 : n;
}

/* Asks for marks around what is pasted, or no longer. */
static void mark_pastes(bool on)
{
    const char *term = getenv("TERM");

    if (term != NULL && strcmp(term, "dumb") != 0)
        fputs(on ? "\033[?2004h" : "\033[?2004l", stderr);
}

/*
 * A pasted block arrives between two marks, so that its lines are not run one
 * by one and its tabs complete nothing. Reads up to the second mark; the
 * caller's. NULL: the input ended, or the block is too long to be a chunk.
 */
static char *read_paste(EditLine *edit)
{
    static const char end[] = "\033[201~";
    const size_t end_n = sizeof end - 1;
    char *text = ebb_mem_alloc(PASTE_BYTES_MAX + 1);
    bool whole = text != NULL;
    size_t n = 0;
    wchar_t character;

    while (text != NULL && el_wgetc(edit, &character) == 1) {
        if (n + MB_LEN_MAX > PASTE_BYTES_MAX) {
            whole = false; /* the rest is read and dropped */
            memmove(text, text + n - end_n, end_n);
            n = end_n;
        }
        n += bytes_of(character == L'\r' ? L'\n' : character, text + n);
        if (n >= end_n && memcmp(text + n - end_n, end, end_n) == 0) {
            text[n - end_n] = '\0';
            if (whole)
                return text;
            break;
        }
    }
    ebb_free(text);
    return NULL;
}

/* What ends with a newline is taken as it is, else it can be gone over. */
static unsigned char paste(EditLine *edit, int key)
{
    char *text = read_paste(edit);
    unsigned char result = CC_ERROR;
    size_t n = text != NULL ? strlen(text) : 0;
    bool whole = n > 0 && text[n - 1] == '\n';

    (void)key;
    if (whole)
        text[n - 1] = '\0';
    if (n > (size_t)whole && el_insertstr(edit, text) == 0)
        result = CC_REFRESH;
    ebb_free(text);
    if (whole && result == CC_REFRESH)
        el_push(edit, "\n");
    return result;
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
    /* el_set would copy both texts and never free them. */
    el_wset(editor->edit, EL_ADDFN, L"ebb-complete", L"complete", complete);
    el_set(editor->edit, EL_BIND, "^I", "ebb-complete", NULL);
    el_wset(editor->edit, EL_ADDFN, L"ebb-paste", L"paste", paste);
    el_set(editor->edit, EL_BIND, "\\e[200~", "ebb-paste", NULL);
    el_set(editor->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    editor->history = ebb_history_open();
    ebb_history_show(editor->history, editor->edit);
    el_source(editor->edit, NULL);
    return editor;
}

void ebb_editor_close(ebb_editor *editor)
{
    if (editor == NULL)
        return;
    el_end(editor->edit);
    ebb_history_close(editor->history);
    ebb_free(editor->line);
    ebb_free(editor);
}

void ebb_editor_remember(ebb_editor *editor, const char *chunk)
{
    ebb_history_add(editor->history, chunk);
}

const char *ebb_editor_read(ebb_editor *editor, const char *before,
                            bool *interrupted)
{
    const char *line;
    int n = 0;

    editor->before = before;
    ebb_free(editor->line);
    editor->line = NULL;
    /* libedit shows the prompt before it takes the terminal over: what is typed
     * just then would be echoed twice, and a Ctrl-D lost. */
    el_set(editor->edit, EL_PREP_TERM, 1);
    mark_pastes(true);
    line = el_gets(editor->edit, &n);
    mark_pastes(false);
    editor->before = NULL;
    *interrupted = ebb_interrupted();
    if (*interrupted) {
        el_reset(editor->edit);
        fputs("^C\n", stderr);
        editor->line = ebb_mem_dup("");
    } else if (line != NULL && n > 0) {
        /* A chunk from the history may hold newlines of its own. */
        editor->line = ebb_mem_dup_n(line, (size_t)n - (line[n - 1] == '\n'));
    } else {
        fputc('\n', stderr); /* the shell's prompt begins a line */
    }
    return editor->line;
}
