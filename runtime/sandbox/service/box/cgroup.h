/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Control groups as this machine has them: version 2, version 1, both (a
 * hybrid), or none that we may use. It makes and removes groups and reads and
 * writes their files; what they are for is decided in limits.c.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ebb_cgroup_kind {
    EBB_CGROUP_UNIFIED, /* version 2 */
    EBB_CGROUP_FREEZER, /* the rest: version 1 */
    EBB_CGROUP_MEMORY,
    EBB_CGROUP_PIDS,
    EBB_CGROUP_CPU,
    EBB_CGROUP_KINDS
} ebb_cgroup_kind;

/* Where groups of our own may be made; NULL where there is no such tree. */
typedef struct ebb_cgroup_places {
    char *own[EBB_CGROUP_KINDS]; /* the group this process is in */
    char *top;                   /* the top of version 2's tree */
} ebb_cgroup_places;

/* Nothing found is no failure. */
int ebb_cgroup_find(ebb_cgroup_places *places, ebb_err *err);
void ebb_cgroup_clear(ebb_cgroup_places *places);

/* The group's directory "parent/ebb-id", or NULL if it cannot be made. */
char *ebb_cgroup_new(const char *parent, const char *id);

bool ebb_cgroup_has(const char *dir, const char *file);
/* 0, or -1 with errno. */
int ebb_cgroup_write(const char *dir, const char *file, const char *text);
/* The number after key in a file ("" if it holds a number alone); or 0. */
uint64_t ebb_cgroup_read(const char *dir, const char *file, const char *key);
/* The whole file; its length, or -1. */
int ebb_cgroup_read_text(const char *dir, const char *file, char *out,
                         size_t n);
