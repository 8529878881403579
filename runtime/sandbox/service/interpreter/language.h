/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The languages of the code interpreter: their names, how each kernel is
 * started inside a sandbox, and what is missing where it cannot be. A program
 * that is absent is an error that says so; never another language.
 */

#include "base/buf.h"
#include "base/err.h"
#include "base/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBB_LANGUAGE_NAME_BYTES 32
#define EBB_LANGUAGE_ARGS_MAX   12

typedef struct ebb_language {
    const char *name;    /* as /contexts tells it */
    const char *alias;   /* another name, or NULL */
    const char *driver;  /* its file in libexec */
    const char *program; /* what is looked for inside the sandbox */
    const char *install; /* the command that installs it */
    bool is_shell;       /* spoken to in bash, not in JSON */
    const char *args[EBB_LANGUAGE_ARGS_MAX]; /* see ebb_language_command */
} ebb_language;

/* By a name as clients send it: trimmed, in any case. NULL: none. */
const ebb_language *ebb_language_find(const char *name);

/* The names of all, for a message. */
#define EBB_LANGUAGE_NAMES "python, javascript, typescript, bash, r and java"

/*
 * The command that starts the kernel, into args: the driver's text and the
 * nonce stand in for "@driver" and "@nonce". All strings are borrowed.
 */
void ebb_language_command(const ebb_language *language, const char *driver,
                          const char *nonce,
                          const char *args[EBB_LANGUAGE_ARGS_MAX]);

/* Reads the driver's text from $EBB_LIBEXEC, else from beside this program. */
int ebb_language_driver(const ebb_language *language, ebb_buf *out,
                        ebb_err *err);

/*
 * Why the language cannot run these: NULL if it can. A shell takes only names
 * of shell variables and no NUL.
 */
const char *ebb_language_refuses(const ebb_language *language,
                                 const ebb_value *code, const ebb_value *env);

/* The request that runs code (a string) with env (an object or NULL). */
int ebb_language_write_run(const ebb_language *language, int64_t run,
                           const ebb_value *code, const ebb_value *env,
                           ebb_buf *out, ebb_err *err);

/* What the kernel is told before its first run. */
int ebb_language_write_start(const ebb_language *language, const char *driver,
                             const char *nonce, const ebb_value *env,
                             ebb_buf *out, ebb_err *err);
