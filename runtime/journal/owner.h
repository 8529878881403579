/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who owns a run: a process of this host, by boot, pid and start time, so that
 * a pid used again is not taken for the old process. It cannot see into other
 * pid namespaces: a process of another container looks dead here (the fence of
 * the run still stops it).
 */

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define EBB_OWNER_BOOT_BYTES 64

typedef struct ebb_owner {
    char boot[EBB_OWNER_BOOT_BYTES]; /* the kernel's boot id */
    int64_t pid;                     /* 0: nobody */
    int64_t start; /* of /proc/PID/stat, in ticks since the boot */
} ebb_owner;

/* This process. */
int ebb_owner_init(ebb_owner *owner, ebb_err *err);

/* Whether it lives: stopped is alive, a zombie is not. */
bool ebb_owner_alive(const ebb_owner *owner, const ebb_owner *self);
