/* SPDX-License-Identifier: MIT */
#include "base/value_private.h"

#include <string.h>

ebb_type ebb_value_type(const ebb_value *value)
{
    return value != NULL ? value->type : EBB_NULL;
}

const char *ebb_type_name(ebb_type type)
{
    static const char *const names[] = { "null",   "boolean", "integer",
                                         "number", "string",  "array",
                                         "object" };

    return names[type];
}

bool ebb_value_get_bool(const ebb_value *value)
{
    return ebb_value_type(value) == EBB_BOOL && value->boolean;
}

int64_t ebb_value_get_int(const ebb_value *value)
{
    return ebb_value_type(value) == EBB_INT ? value->integer : 0;
}

double ebb_value_get_float(const ebb_value *value)
{
    if (ebb_value_type(value) == EBB_INT)
        return (double)value->integer;
    return ebb_value_type(value) == EBB_FLOAT ? value->real : 0.0;
}

const char *ebb_value_get_string(const ebb_value *value, size_t *n)
{
    bool is_string = ebb_value_type(value) == EBB_STRING;

    if (n != NULL)
        *n = is_string ? value->n : 0;
    return is_string ? ((const ebb_string *)value)->bytes : NULL;
}

size_t ebb_value_size(const ebb_value *value)
{
    ebb_type type = ebb_value_type(value);

    return type == EBB_ARRAY || type == EBB_OBJECT ? value->n : 0;
}

ebb_value *ebb_value_at(const ebb_value *array, size_t index)
{
    if (ebb_value_type(array) != EBB_ARRAY || index >= array->n)
        return NULL;
    return ((const ebb_array *)array)->members[index];
}

ebb_value *ebb_value_find(const ebb_value *object, const char *key)
{
    const ebb_member *member;

    if (ebb_value_type(object) != EBB_OBJECT)
        return NULL;
    member = ebb_object_find(ebb_object_of(object), key, strlen(key));
    return member != NULL ? member->value : NULL;
}

const char *ebb_value_find_string(const ebb_value *object, const char *key)
{
    return ebb_value_get_string(ebb_value_find(object, key), NULL);
}

int64_t ebb_value_find_int(const ebb_value *object, const char *key,
                           int64_t otherwise)
{
    const ebb_value *member = ebb_value_find(object, key);

    if (ebb_value_type(member) == EBB_NULL)
        return otherwise;
    return ebb_value_get_int(member);
}

bool ebb_value_find_bool(const ebb_value *object, const char *key,
                         bool otherwise)
{
    const ebb_value *member = ebb_value_find(object, key);

    if (ebb_value_type(member) == EBB_NULL)
        return otherwise;
    return ebb_value_get_bool(member);
}

bool ebb_value_next(const ebb_value *object, void **place, const char **key,
                    ebb_value **member)
{
    ebb_member *members, *at;

    if (ebb_value_type(object) != EBB_OBJECT)
        return false;
    members = ebb_object_members(ebb_object_of(object));
    at = *place == NULL ? members : (ebb_member *)*place + 1;
    if (at == members + object->n)
        return false;
    *place = at;
    *key = ebb_member_key(at);
    *member = at->value;
    return true;
}
