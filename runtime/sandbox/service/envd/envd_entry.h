/* SPDX-License-Identifier: MIT */
#pragma once

/* What the box says of a file as the protocol's EntryInfo. */

#include "sandbox/service/box/box.h"

#include "wire/filesystem.pb-c.h"

#define EBB_ENVD_METADATA_MAX 64u

typedef struct ebb_envd_entry {
    Filesystem__EntryInfo info; /* points into what follows */
    Google__Protobuf__Timestamp modified;
    char permissions[16];
    char *strings[5]; /* owned: name, path, target, owner, group */
    Filesystem__EntryInfo__MetadataEntry metadata[EBB_ENVD_METADATA_MAX];
    Filesystem__EntryInfo__MetadataEntry *metadata_list[EBB_ENVD_METADATA_MAX];
    char *metadata_text; /* owned */
} ebb_envd_entry;

/* path: what the entry is called, which need not be what the box calls it. */
int ebb_envd_entry_init(ebb_envd_entry *out, const ebb_box_entry *entry,
                        const char *path, ebb_err *err);
void ebb_envd_entry_clear(ebb_envd_entry *entry);

/* A mode as Go writes it: "-rw-r--r--", "dtrwxrwxrwx", "Dcrw-rw-rw-". */
void ebb_envd_permissions(uint32_t mode, char out[16]);
