/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An allocator that gives out so many blocks and then none: to fail each
 * allocation of a call in turn.
 */

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

typedef struct starving {
    int left;
    bool once; /* only the one after these fails */
    int blocks; /* given out and not yet freed */
} starving;

static inline void *starving_resize(void *context, void *block, size_t size)
{
    starving *s = context;

    if (size == 0) {
        s->blocks--;
        free(block);
        return NULL;
    }
    if (s->once ? s->left-- == 0 : s->left-- <= 0)
        return NULL;
    s->blocks += block == NULL;
    return realloc(block, size);
}

/* From now on all of ebb's memory comes from s. */
static inline void starving_start(starving *s, int left)
{
    const ebb_allocator allocator = { starving_resize, s };

    *s = (starving){ .left = left };
    ebb_mem_set(&allocator);
}

static inline void starving_stop(void)
{
    ebb_mem_set(NULL);
}
