/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The prompt's parts: the line editor on the runtime's loop, its history, and
 * what could stand at the cursor. The conversation itself is cmd_repl.c.
 */

#include "ebb.h"

#include "lua/ebb_lua.h"

#include <stdbool.h>

/* ---- editor.c: lines from a terminal, by libedit ---- */

typedef struct ebb_editor ebb_editor;

/*
 * An editor on standard input and error, with the history of earlier prompts.
 * The runtime's loop goes on while somebody types.
 */
ebb_editor *ebb_editor_open(ebb_runtime *rt, ebb_lua *lua, ebb_err *err);

/* NULL is fine. */
void ebb_editor_close(ebb_editor *editor);

/*
 * The next line without its newline, borrowed until the next call; NULL at
 * the end of input. before are the lines of the same chunk above it, or NULL;
 * borrowed for the call. Ctrl-C gives an empty line and sets *interrupted.
 */
const char *ebb_editor_read(ebb_editor *editor, const char *before,
                            bool *interrupted);

/* Remembers a whole chunk, which may be several lines. */
void ebb_editor_remember(ebb_editor *editor, const char *chunk);

/* ---- history.c: what was typed, in a file at once ---- */

typedef struct ebb_history ebb_history;

/*
 * The chunks of earlier prompts; each new one is appended as it comes, so
 * that a killed prompt loses none. Works without a file where none can be
 * had. NULL: no memory, which the others take.
 */
ebb_history *ebb_history_open(void);
void ebb_history_close(ebb_history *history);
void ebb_history_add(ebb_history *history, const char *chunk);

/* Lets libedit's editor walk through it. */
struct editline;
void ebb_history_show(ebb_history *history, struct editline *edit);

/* ---- complete.c ---- */

/*
 * What could stand at the end of text: field names inside an open call of a
 * task ("e2b.runCommand{ sandboxId = id, com"), else names Lua knows. An array
 * of strings that replace the word of *word_n bytes before the cursor; the
 * caller's.
 */
ebb_value *ebb_complete(ebb_runtime *rt, ebb_lua *lua, const char *text,
                        size_t n, size_t *word_n);
