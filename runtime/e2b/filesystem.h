/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * filesystem.Filesystem: the messages of Stat and ListDir. A listing is cut
 * into its entries as it arrives, so that a directory of any size costs the
 * memory of one entry.
 */

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One entry. Its strings are UTF-8 without NUL, are borrowed for the call that
 * delivers it and have no NUL after them; that of type has.
 */
typedef struct ebb_e2b_entry {
    const char *name;
    size_t name_n;
    const char *path;
    size_t path_n;
    const char *link_target; /* NULL: no link */
    size_t link_target_n;
    const char *type;  /* "file", "directory", "symlink" or "other" */
    bool is_directory; /* also through a link */
    bool is_file;
    int64_t size;
} ebb_e2b_entry;

/* Returns -1 with err set to stop. */
typedef int ebb_e2b_entry_fn(void *context, const ebb_e2b_entry *entry,
                             ebb_err *err);

int ebb_e2b_filesystem_write_stat(ebb_buf *out, const char *path);
int ebb_e2b_filesystem_write_list(ebb_buf *out, const char *path);

/* Calls fn with the entry of a StatResponse; EBB_PROTOCOL if it is none. */
int ebb_e2b_filesystem_parse_stat(const char *bytes, size_t n,
                                  ebb_e2b_entry_fn *fn, void *context,
                                  ebb_err *err);

/* A ListDirResponse as it arrives. */
typedef struct ebb_e2b_listing {
    ebb_buf held;  /* the field begun so far */
    uint64_t skip; /* bytes of a field nobody asked for */
    ebb_e2b_entry_fn *fn;
    void *context;
} ebb_e2b_listing;

void ebb_e2b_listing_init(ebb_e2b_listing *listing, ebb_e2b_entry_fn *fn,
                          void *context);
void ebb_e2b_listing_clear(ebb_e2b_listing *listing);
int ebb_e2b_listing_add(ebb_e2b_listing *listing, const char *bytes, size_t n,
                        ebb_err *err);

/* EBB_PROTOCOL if a field has begun and is not complete. */
int ebb_e2b_listing_finish(const ebb_e2b_listing *listing, ebb_err *err);
