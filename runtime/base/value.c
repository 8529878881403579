/* SPDX-License-Identifier: MIT */
#include "base/value_private.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <string.h>

#define ROOM_FIRST 4

/* ---- make ---- */

ebb_value *ebb_value_null(void)
{
    static const ebb_value null = { .type = EBB_NULL };

    return ebb_value_mutable(&null);
}

ebb_value *ebb_value_bool(bool b)
{
    static const ebb_value no = { .type = EBB_BOOL };
    static const ebb_value yes = { .type = EBB_BOOL, .boolean = true };

    return ebb_value_mutable(b ? &yes : &no);
}

ebb_value *ebb_value_int(int64_t i)
{
    return ebb_pool_int(NULL, i);
}

ebb_value *ebb_value_float(double d)
{
    return ebb_pool_float(NULL, d);
}

ebb_value *ebb_value_string(const char *bytes, size_t n)
{
    return ebb_pool_string(NULL, bytes, n);
}

ebb_value *ebb_value_text(const char *text)
{
    return text == NULL ? NULL : ebb_value_string(text, strlen(text));
}

ebb_value *ebb_value_array(void)
{
    return ebb_pool_array(NULL);
}

ebb_value *ebb_value_object(void)
{
    return ebb_pool_object(NULL);
}

static void clear_array(ebb_array *array)
{
    for (size_t i = 0; i < array->head.n; i++)
        ebb_value_free(array->members[i]);
    ebb_mem_free(array->members);
    ebb_pool_free(array->pool);
}

/* Whether the caller was the last owner; who is alone need not ask others. */
static bool is_left(ebb_value *value)
{
    unsigned owners =
        atomic_load_explicit(&value->owners, memory_order_acquire);

    if (owners == 1 || owners == EBB_OWNERS_POOL)
        return true;
    return owners > 0 && atomic_fetch_sub(&value->owners, 1) == 1;
}

void ebb_value_free(ebb_value *value)
{
    bool is_pooled;

    if (value == NULL || !is_left(value))
        return;
    is_pooled = value->owners == EBB_OWNERS_POOL;
    if (value->type == EBB_ARRAY)
        clear_array((ebb_array *)value);
    else if (value->type == EBB_OBJECT)
        ebb_object_clear((ebb_object *)value);
    if (!is_pooled)
        ebb_mem_free(value);
}

/* ---- put ---- */

static int append(ebb_array *array, ebb_value *member)
{
    size_t room = array->room > 0 ? 2 * array->room : ROOM_FIRST;
    ebb_value **members;

    if (array->head.n == array->room) {
        members = ebb_mem_resize(array->members, room * sizeof(ebb_value *));
        if (members == NULL)
            return -1;
        array->members = members;
        array->room = room;
    }
    array->members[array->head.n++] = member;
    return 0;
}

int ebb_value_add(ebb_value *array, ebb_value *member)
{
    if (member == NULL || ebb_value_type(array) != EBB_ARRAY ||
        append((ebb_array *)array, member) != 0) {
        ebb_value_free(member);
        return -1;
    }
    return 0;
}

int ebb_value_set(ebb_value *object, const char *key, ebb_value *member)
{
    return ebb_value_set_n(object, key, strlen(key), member);
}

static ebb_member *place_of(ebb_value *object, const char *key, size_t n)
{
    ebb_member *place;

    if (ebb_value_type(object) != EBB_OBJECT)
        return NULL;
    place = ebb_object_find((ebb_object *)object, key, n);
    return place != NULL ? place : ebb_object_add((ebb_object *)object, key, n);
}

int ebb_value_set_n(ebb_value *object, const char *key, size_t n,
                    ebb_value *member)
{
    ebb_member *place;

    if (member == NULL || !ebb_member_takes(key, n) ||
        (place = place_of(object, key, n)) == NULL) {
        ebb_value_free(member);
        return -1;
    }
    ebb_value_free(place->value);
    place->value = member;
    return 0;
}

int ebb_value_del(ebb_value *object, const char *key)
{
    ebb_member *member;

    if (ebb_value_type(object) != EBB_OBJECT)
        return -1;
    member = ebb_object_find((ebb_object *)object, key, strlen(key));
    if (member == NULL)
        return -1;
    ebb_object_del((ebb_object *)object, member);
    return 0;
}

/* ---- whole values ---- */

static int copy_array(ebb_array *copy, const ebb_array *array, int depth)
{
    for (size_t i = 0; i < array->head.n; i++)
        if (ebb_value_add(&copy->head,
                          ebb_value_copy_at(array->members[i], depth)) != 0)
            return -1;
    return 0;
}

static ebb_value *copy_container(const ebb_value *value, int depth)
{
    bool is_array = value->type == EBB_ARRAY;
    ebb_value *copy = is_array ? ebb_value_array() : ebb_value_object();
    int failed;

    if (copy == NULL)
        return NULL;
    failed = is_array ? copy_array((ebb_array *)copy, (const ebb_array *)value,
                                   depth + 1)
                      : ebb_object_copy((ebb_object *)copy,
                                        ebb_object_of(value), depth + 1);
    if (!failed)
        return copy;
    ebb_value_free(copy);
    return NULL;
}

static ebb_value *copy_leaf(const ebb_value *leaf)
{
    if (leaf->type == EBB_INT)
        return ebb_value_int(leaf->integer);
    if (leaf->type == EBB_FLOAT)
        return ebb_value_float(leaf->real);
    return ebb_pool_string_valid(NULL, ((const ebb_string *)leaf)->bytes,
                                 leaf->n);
}

/* Another owner of what does not change; what a pool has, it keeps. */
static ebb_value *share(const ebb_value *leaf)
{
    ebb_value *shared = ebb_value_mutable(leaf);
    unsigned owners =
        atomic_load_explicit(&shared->owners, memory_order_relaxed);

    if (owners == EBB_OWNERS_POOL)
        return copy_leaf(leaf);
    if (owners > 0)
        atomic_fetch_add(&shared->owners, 1);
    return shared;
}

ebb_value *ebb_value_copy_at(const ebb_value *value, int depth)
{
    if (value == NULL)
        return ebb_value_null();
    if (value->type != EBB_ARRAY && value->type != EBB_OBJECT)
        return share(value);
    return depth < EBB_VALUE_DEPTH_MAX ? copy_container(value, depth) : NULL;
}

ebb_value *ebb_value_copy(const ebb_value *value)
{
    return ebb_value_copy_at(value, 0);
}

static bool same_members(const ebb_value *a, const ebb_value *b)
{
    void *place = NULL;
    ebb_value *member;
    const char *key;

    for (size_t i = 0; a->type == EBB_ARRAY && i < a->n; i++)
        if (!ebb_value_equal(ebb_value_at(a, i), ebb_value_at(b, i)))
            return false;
    while (ebb_value_next(a, &place, &key, &member)) {
        const ebb_value *other = ebb_value_find(b, key);

        if (other == NULL || !ebb_value_equal(member, other))
            return false;
    }
    return true;
}

bool ebb_value_equal(const ebb_value *a, const ebb_value *b)
{
    ebb_type type = ebb_value_type(a);

    if (type != ebb_value_type(b))
        return false;
    switch (type) {
    case EBB_BOOL:
        return a->boolean == b->boolean;
    case EBB_INT:
        return a->integer == b->integer;
    case EBB_FLOAT:
        return a->real == b->real;
    case EBB_STRING:
        return a->n == b->n &&
               memcmp(((const ebb_string *)a)->bytes,
                      ((const ebb_string *)b)->bytes, a->n) == 0;
    case EBB_ARRAY:
    case EBB_OBJECT:
        return a->n == b->n && same_members(a, b);
    default:
        return true;
    }
}
