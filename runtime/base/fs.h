/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Files and directories of ebb's own: state, sockets, configuration. Nothing
 * here is for paths that a sandbox names.
 */

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/* Reads at most bytes_max bytes; a larger file is EBB_LIMIT_EXCEEDED. */
int ebb_fs_read(const char *path, size_t bytes_max, ebb_buf *out,
                ebb_err *err);

/* Written aside, fsynced, renamed over path, its directory fsynced. */
int ebb_fs_replace(const char *path, const void *bytes, size_t n, mode_t mode,
                   ebb_err *err);

/*
 * The same without waiting for the disk: whole for every process, also when
 * this one is killed; after a power failure old, empty or absent.
 */
int ebb_fs_replace_unsynced(const char *path, const void *bytes, size_t n,
                            mode_t mode, ebb_err *err);

/* Makes path and its missing parents; an existing directory is fine. */
int ebb_fs_make_dirs(const char *path, mode_t mode, ebb_err *err);

/* Removes a tree without following links; a missing one is fine. */
int ebb_fs_remove_tree(const char *path, ebb_err *err);

/*
 * Fails unless path is a directory (not a link) that belongs to this user and
 * that nobody else may write.
 */
int ebb_fs_check_own_dir(const char *path, ebb_err *err);

/* A new string "a/b"; freed with ebb_mem_free. */
char *ebb_fs_join(const char *a, const char *b);
