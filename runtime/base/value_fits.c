/* SPDX-License-Identifier: MIT */

/*
 * Whether a value is short enough as text. Nearly all are by far: a bound on
 * the length, for which no string is looked at, answers for them.
 */

#include "base/value_private.h"

#include <string.h>

#define ESCAPE_BYTES 6  /* of \u0000, the most that a byte can become */
#define NUMBER_BYTES 32 /* ample for 17 digits, signs, point and exponent */

/*
 * What a value comes to at most, or more than most as soon as that is sure.
 * Deep nesting is left to the writer, which knows what to say of it.
 */
static size_t bound(const ebb_value *value, size_t most, int depth);

static size_t string_bound(size_t n)
{
    return n * ESCAPE_BYTES + 2;
}

/* A key that stands in the member has at most so many bytes. */
static size_t key_bound(const ebb_member *member)
{
    return string_bound(ebb_member_is_long(member)
                            ? strlen(ebb_member_key(member))
                            : EBB_KEY_BYTES);
}

static size_t object_bound(ebb_object *o, size_t most, int depth)
{
    const ebb_member *members = ebb_object_members(o);
    size_t sum = 2;

    for (size_t i = 0; i < o->head.n && sum <= most; i++)
        sum +=
            key_bound(&members[i]) + bound(members[i].value, most, depth) + 2;
    return sum;
}

static size_t array_bound(const ebb_array *array, size_t most, int depth)
{
    size_t sum = 2;

    for (size_t i = 0; i < array->head.n && sum <= most; i++)
        sum += bound(array->members[i], most, depth) + 1;
    return sum;
}

static size_t bound(const ebb_value *value, size_t most, int depth)
{
    switch (ebb_value_type(value)) {
    case EBB_STRING:
        return string_bound(value->n);
    case EBB_ARRAY:
    case EBB_OBJECT:
        if (depth >= EBB_VALUE_DEPTH_MAX)
            return most + 1;
        return value->type == EBB_ARRAY
                   ? array_bound((const ebb_array *)value, most, depth + 1)
                   : object_bound(ebb_object_of(value), most, depth + 1);
    default:
        return NUMBER_BYTES;
    }
}

bool ebb_value_fits(const ebb_value *value, size_t bytes_max)
{
    return bound(value, bytes_max, 0) <= bytes_max ||
           ebb_value_length(value) <= bytes_max;
}
