/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Paths as envd's callers write them: absolute, relative to the home, or with
 * a tilde. Text only: nothing is looked up, the agent resolves what comes out
 * inside the sandbox.
 */

#include "base/err.h"

#include <stddef.h>

/* The one home there is: inside, `user` and `root` are the same uid. */
#define EBB_ENVD_HOME "/home/user"

/*
 * A new absolute path. An absolute one stays as it is, "~/x" and "x" are
 * joined to the home and cleaned, "" is the home. "~name" is
 * EBB_INVALID_INPUT.
 */
char *ebb_envd_path_expand(const char *path, ebb_err *err);

/* A new string without ".", "..", "//" and the slash at the end. */
char *ebb_envd_path_clean(const char *path);

/* The last name of an absolute path, of *n bytes; "/" for the root. */
const char *ebb_envd_path_base(const char *path, size_t *n);
