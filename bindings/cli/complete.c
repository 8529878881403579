/* SPDX-License-Identifier: MIT */
#include "cli/repl.h"

#include <ctype.h>
#include <string.h>

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word_before(const char *text, size_t n)
{
    size_t start = n;

    while (start > 0 && (is_name(text[start - 1]) || text[start - 1] == '.' ||
                         text[start - 1] == ':'))
        start--;
    return n - start;
}

/* Where the innermost brace that is still open stands, or n. */
static size_t open_brace(const char *text, size_t n)
{
    int depth = 0;

    for (size_t i = n; i > 0; i--) {
        if (text[i - 1] == '}')
            depth++;
        else if (text[i - 1] == '{' && depth-- == 0)
            return i - 1;
    }
    return n;
}

/* The task whose call is open at the end of text, or NULL. */
static const ebb_value *open_task(const ebb_value *tasks, const char *text,
                                  size_t n)
{
    size_t brace = open_brace(text, n), end = brace, word;

    if (brace == n)
        return NULL;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '('))
        end--;
    word = word_before(text, end);
    for (size_t i = 0; i < ebb_value_size(tasks); i++) {
        const ebb_value *task = ebb_value_at(tasks, i);
        const char *name = ebb_value_find_string(task, "name");
        if (name != NULL && strlen(name) == word &&
            memcmp(name, text + end - word, word) == 0)
            return task;
    }
    return NULL;
}

/* Whether a field's name may stand here, not its value. */
static bool at_key(const char *text, size_t n)
{
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    return n > 0 && strchr("{,;", text[n - 1]) != NULL;
}

static ebb_value *fields_of(const ebb_value *task, const char *word, size_t n)
{
    const ebb_value *fields = ebb_value_find(task, "fields");
    ebb_value *names = ebb_value_array();

    for (size_t i = 0; i < ebb_value_size(fields); i++) {
        const char *name =
            ebb_value_find_string(ebb_value_at(fields, i), "name");
        if (name != NULL && strncmp(name, word, n) == 0)
            ebb_value_add(names, ebb_value_text(name));
    }
    return names;
}

ebb_value *ebb_complete(ebb_runtime *rt, ebb_lua *lua, const char *text,
                        size_t n, size_t *word_n)
{
    ebb_value *tasks = ebb_tasks(rt), *names = NULL;
    const ebb_value *task;
    ebb_err err = { 0 };
    char *word;

    *word_n = word_before(text, n);
    task = open_task(tasks, text, n - *word_n);
    if (task != NULL && at_key(text, n - *word_n)) {
        names = fields_of(task, text + n - *word_n, *word_n);
    } else {
        word = ebb_mem_dup_n(text + n - *word_n, *word_n);
        if (word != NULL)
            names = ebb_lua_complete(lua, word, &err);
        ebb_free(word);
    }
    ebb_value_free(tasks);
    return names;
}
