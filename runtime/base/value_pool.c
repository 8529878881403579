/* SPDX-License-Identifier: MIT */
#include "base/value_private.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* The first chunk is small, since most values are; each next one doubles. */
#define CHUNK_FIRST 512
#define CHUNK_LAST  65536
#define ALIGN       sizeof(void *)

typedef struct chunk {
    struct chunk *next;
    _Alignas(ALIGN) char bytes[];
} chunk;

struct ebb_pool {
    chunk *chunks; /* the last one first */
    char *at;
    size_t left;
    size_t bytes; /* of the last */
};

/* ---- memory ---- */

static int add_chunk(ebb_pool *pool, size_t least)
{
    size_t bytes = pool->bytes < CHUNK_LAST ? 2 * pool->bytes : CHUNK_LAST;
    chunk *more;

    if (bytes < least)
        bytes = least;
    more = ebb_mem_alloc(sizeof *more + bytes);
    if (more == NULL)
        return -1;
    more->next = pool->chunks;
    pool->chunks = more;
    pool->at = more->bytes;
    pool->left = bytes;
    pool->bytes = bytes < CHUNK_LAST ? bytes : CHUNK_LAST;
    return 0;
}

static void *take(ebb_pool *pool, size_t bytes)
{
    size_t rounded = (bytes + ALIGN - 1) & ~(ALIGN - 1);
    void *block;

    if (rounded > pool->left && add_chunk(pool, rounded) != 0)
        return NULL;
    block = pool->at;
    pool->at += rounded;
    pool->left -= rounded;
    return block;
}

void ebb_pool_free(ebb_pool *pool)
{
    chunk *next;

    if (pool == NULL)
        return;
    for (chunk *c = pool->chunks; c != NULL; c = next) {
        next = c->next;
        ebb_mem_free(c);
    }
    ebb_mem_free(pool);
}

ebb_pool *ebb_value_pool(ebb_value *container)
{
    ebb_pool **pool = container->type == EBB_ARRAY
                          ? &((ebb_array *)container)->pool
                          : ebb_object_pool((ebb_object *)container);

    if (pool != NULL && *pool == NULL) {
        *pool = ebb_mem_zero(sizeof **pool);
        if (*pool != NULL)
            (*pool)->bytes = CHUNK_FIRST / 2;
    }
    return pool != NULL ? *pool : NULL;
}

/* ---- values ---- */

static ebb_value *make(ebb_pool *pool, ebb_type type, size_t bytes)
{
    ebb_value *value = pool != NULL ? take(pool, bytes) : ebb_mem_alloc(bytes);

    if (value != NULL) {
        value->type = type;
        atomic_init(&value->owners, pool != NULL ? EBB_OWNERS_POOL : 1);
        value->n = 0;
    }
    return value;
}

ebb_value *ebb_pool_int(ebb_pool *pool, int64_t i)
{
    ebb_value *value = make(pool, EBB_INT, sizeof *value);

    if (value != NULL)
        value->integer = i;
    return value;
}

ebb_value *ebb_pool_float(ebb_pool *pool, double d)
{
    ebb_value *value =
        isfinite(d) ? make(pool, EBB_FLOAT, sizeof *value) : NULL;

    if (value != NULL)
        value->real = d;
    return value;
}

ebb_value *ebb_pool_string_valid(ebb_pool *pool, const char *bytes, size_t n)
{
    ebb_value *value = make(pool, EBB_STRING, sizeof(ebb_string) + n + 1);
    ebb_string *string = (ebb_string *)value;

    if (value == NULL)
        return NULL;
    value->n = n;
    if (n > 0)
        memcpy(string->bytes, bytes, n);
    string->bytes[n] = '\0';
    return value;
}

ebb_value *ebb_pool_string(ebb_pool *pool, const char *bytes, size_t n)
{
    return ebb_utf8_is_plain(bytes, n) || ebb_utf8_valid(bytes, n)
               ? ebb_pool_string_valid(pool, bytes, n)
               : NULL;
}

ebb_value *ebb_pool_array(ebb_pool *pool)
{
    ebb_value *value = make(pool, EBB_ARRAY, sizeof(ebb_array));
    ebb_array *array = (ebb_array *)value;

    if (array != NULL) {
        array->room = 0;
        array->members = NULL;
        array->pool = NULL;
    }
    return value;
}

ebb_value *ebb_pool_object(ebb_pool *pool)
{
    ebb_value *value = make(pool, EBB_OBJECT, sizeof(ebb_object));
    ebb_object *object = (ebb_object *)value;

    if (object != NULL)
        object->many = NULL;
    return value;
}

ebb_value *ebb_pool_object_of(ebb_pool *pool, const char *const keys[],
                              ebb_value *const members[], size_t n)
{
    ebb_value *object = ebb_pool_object(pool);
    bool failed = object == NULL;

    for (size_t i = 0; i < n; i++) {
        ebb_member *place = NULL;

        if (!failed && members[i] != NULL)
            place =
                ebb_object_add(ebb_object_of(object), keys[i], strlen(keys[i]));
        if (place != NULL)
            place->value = members[i];
        else
            ebb_value_free(members[i]);
        failed = failed || place == NULL;
    }
    if (!failed)
        return object;
    ebb_value_free(object);
    return NULL;
}
