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
 * Counts down what is left for the text, and stops where nothing is. Deep
 * nesting is left to the writer, which knows what to say of it.
 */
static bool take(const ebb_value *value, size_t *left, int depth);

static bool take_bytes(size_t n, size_t *left)
{
    if (n > *left)
        return false;
    *left -= n;
    return true;
}

static bool take_string(size_t n, size_t *left)
{
    return n <= *left / ESCAPE_BYTES && take_bytes(n * ESCAPE_BYTES + 2, left);
}

/* A key that stands in the member has at most so many bytes. */
static size_t key_bytes(const ebb_member *member)
{
    return ebb_member_is_long(member) ? strlen(ebb_member_key(member))
                                      : EBB_KEY_BYTES;
}

static bool take_object(const ebb_object *o, size_t *left, int depth)
{
    for (size_t i = 0; i < o->head.n; i++)
        if (!take_string(key_bytes(&o->members[i]), left) ||
            !take(o->members[i].value, left, depth) || !take_bytes(2, left))
            return false;
    return take_bytes(2, left);
}

static bool take_array(const ebb_array *array, size_t *left, int depth)
{
    for (size_t i = 0; i < array->head.n; i++)
        if (!take(array->members[i], left, depth) || !take_bytes(1, left))
            return false;
    return take_bytes(2, left);
}

static bool take(const ebb_value *value, size_t *left, int depth)
{
    switch (ebb_value_type(value)) {
    case EBB_STRING:
        return take_string(value->n, left);
    case EBB_ARRAY:
        return depth < EBB_VALUE_DEPTH_MAX &&
               take_array((const ebb_array *)value, left, depth + 1);
    case EBB_OBJECT:
        return depth < EBB_VALUE_DEPTH_MAX &&
               take_object((const ebb_object *)value, left, depth + 1);
    default:
        return take_bytes(NUMBER_BYTES, left);
    }
}

bool ebb_value_fits(const ebb_value *value, size_t bytes_max)
{
    size_t left = bytes_max;

    return take(value, &left, 0) || ebb_value_length(value) <= bytes_max;
}
