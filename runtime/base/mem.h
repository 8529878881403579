/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * ebb's memory. Every allocation of ebb's own code goes through here, so that
 * a host can give its allocator and a test can fail each allocation in turn.
 * The libraries' own hooks (curl, SQLite) are process-wide and stay untouched.
 *
 * A request of 0 bytes gives a block that may be freed; NULL means no memory.
 */

#include "base/attr.h"

#include <stddef.h>

EBB_C_BEGIN

typedef struct ebb_allocator {
    /*
     * As lua_Alloc: size 0 frees block and returns NULL; else returns a block
     * of size bytes holding what block held, or NULL and leaves block alone.
     */
    void *(*resize)(void *context, void *block, size_t size);
    void *context;
} ebb_allocator;

/*
 * Replaces the allocator of the process (NULL: back to the C library's). Only
 * while nothing allocated before is still in use.
 */
EBB_API void ebb_mem_set(const ebb_allocator *allocator);

EBB_API void *ebb_mem_alloc(size_t bytes);
EBB_API void *ebb_mem_zero(size_t bytes); /* zeroed */
EBB_API void *ebb_mem_resize(void *block, size_t bytes);
EBB_API void ebb_mem_free(void *block); /* NULL is fine */

/* NUL-terminated copies; NULL in, NULL out. */
EBB_API char *ebb_mem_dup(const char *text);
EBB_API char *ebb_mem_dup_n(const char *bytes, size_t n);

/* printf into a new string. */
EBB_API char *ebb_mem_printf(const char *fmt, ...) EBB_PRINTF(1, 2);

EBB_C_END
