/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * envd's files: bytes by GET and POST /files, and what all calls on files have
 * in common. Which bytes, and how many are too many, is the task's business.
 */

#include "e2b/job.h"

/* "/files?path=<path>" in a new string. */
char *ebb_e2b_files_path(const char *path);

/*
 * Whether two paths are one for certain, as written: "." and doubled slashes
 * say nothing, a relative path begins in the home, as "~/" does.
 */
bool ebb_e2b_files_same(const char *a, const char *b);

/* A number that is equal for paths that are one, and hardly for others. */
uint64_t ebb_e2b_files_mark(const char *path);

/*
 * Whether a path is under /proc or /sys, where sizes say nothing: as written,
 * with every ".", ".." and doubled slash worked out.
 */
bool ebb_e2b_files_is_virtual(const char *path);

/*
 * The error of a call on a file: a Connect error by its code, else the HTTP
 * status; a missing one is EBB_FILE_NOT_FOUND.
 */
void ebb_e2b_files_error(const ebb_e2b_job *job,
                         const ebb_e2b_transfer *transfer, const char *path,
                         ebb_err *err);
