/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *context, void *block, size_t size)
{
    (void)context;
    if (size == 0) {
        free(block);
        return NULL;
    }
    return block != NULL ? realloc(block, size) : malloc(size);
}

static const ebb_allocator libc_allocator = { .resize = libc_resize };
static ebb_allocator current = { .resize = libc_resize };

void ebb_mem_set(const ebb_allocator *allocator)
{
    current = allocator != NULL ? *allocator : libc_allocator;
}

void *ebb_mem_resize(void *block, size_t bytes)
{
    return current.resize(current.context, block, bytes > 0 ? bytes : 1);
}

void *ebb_mem_alloc(size_t bytes)
{
    return ebb_mem_resize(NULL, bytes);
}

void *ebb_mem_zero(size_t bytes)
{
    void *block = ebb_mem_alloc(bytes);

    if (block != NULL)
        memset(block, 0, bytes);
    return block;
}

void ebb_mem_free(void *block)
{
    if (block != NULL)
        current.resize(current.context, block, 0);
}

char *ebb_mem_dup(const char *text)
{
    return text != NULL ? ebb_mem_dup_n(text, strlen(text)) : NULL;
}

char *ebb_mem_dup_n(const char *bytes, size_t n)
{
    char *copy = bytes != NULL ? ebb_mem_alloc(n + 1) : NULL;

    if (copy != NULL) {
        memcpy(copy, bytes, n);
        copy[n] = '\0';
    }
    return copy;
}

char *ebb_mem_printf(const char *fmt, ...)
{
    va_list args, again;
    char *text = NULL;
    int n;

    va_start(args, fmt);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, args);
    if (n >= 0)
        text = ebb_mem_alloc((size_t)n + 1);
    if (text != NULL)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}
