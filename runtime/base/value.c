/* SPDX-License-Identifier: MIT */
#include "base/value.h"

#include "base/utf8.h"
#include "base/value_scan.h"

#include <string.h>

#include <jansson.h>

#define VALUES_MAX_DEFAULT 1000000

/*
 * An ebb_value is a json_t under another name. jansson's reading functions
 * are not const everywhere though they change nothing.
 */
static json_t *tree(const ebb_value *value)
{
    union {
        const ebb_value *value;
        json_t *json;
    } same = { .value = value };

    return same.json;
}

static ebb_value *value_of(json_t *json)
{
    return (ebb_value *)json;
}

ebb_value *ebb_value_null(void)
{
    return value_of(json_null());
}

ebb_value *ebb_value_bool(bool b)
{
    return value_of(json_boolean(b));
}

ebb_value *ebb_value_int(int64_t i)
{
    return value_of(json_integer(i));
}

ebb_value *ebb_value_float(double d)
{
    return value_of(json_real(d));
}

/* jansson's own check looks at each byte; ours at words of ASCII. */
ebb_value *ebb_value_string(const char *bytes, size_t n)
{
    if (!ebb_utf8_valid(bytes, n))
        return NULL;
    return value_of(json_stringn_nocheck(bytes != NULL ? bytes : "", n));
}

ebb_value *ebb_value_text(const char *text)
{
    return text == NULL ? NULL : ebb_value_string(text, strlen(text));
}

ebb_value *ebb_value_array(void)
{
    return value_of(json_array());
}

ebb_value *ebb_value_object(void)
{
    return value_of(json_object());
}

void ebb_value_free(ebb_value *value)
{
    json_decref(tree(value));
}

int ebb_value_add(ebb_value *array, ebb_value *member)
{
    return json_array_append_new(tree(array), tree(member));
}

int ebb_value_set(ebb_value *object, const char *key, ebb_value *member)
{
    return ebb_value_set_n(object, key, strlen(key), member);
}

int ebb_value_set_n(ebb_value *object, const char *key, size_t n,
                    ebb_value *member)
{
    if (memchr(key, '\0', n) != NULL || !ebb_utf8_valid(key, n)) {
        ebb_value_free(member);
        return -1;
    }
    return json_object_setn_new_nocheck(tree(object), key, n, tree(member));
}

int ebb_value_del(ebb_value *object, const char *key)
{
    return json_object_del(tree(object), key);
}

ebb_type ebb_value_type(const ebb_value *value)
{
    static const ebb_type types[] = {
        [JSON_OBJECT] = EBB_OBJECT, [JSON_ARRAY] = EBB_ARRAY,
        [JSON_STRING] = EBB_STRING, [JSON_INTEGER] = EBB_INT,
        [JSON_REAL] = EBB_FLOAT,    [JSON_TRUE] = EBB_BOOL,
        [JSON_FALSE] = EBB_BOOL,    [JSON_NULL] = EBB_NULL,
    };

    return value != NULL ? types[json_typeof(tree(value))] : EBB_NULL;
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
    return json_is_true(tree(value));
}

int64_t ebb_value_get_int(const ebb_value *value)
{
    return json_integer_value(tree(value));
}

double ebb_value_get_float(const ebb_value *value)
{
    return json_number_value(tree(value));
}

const char *ebb_value_get_string(const ebb_value *value, size_t *n)
{
    const char *text = json_string_value(tree(value));

    if (n != NULL)
        *n = text != NULL ? json_string_length(tree(value)) : 0;
    return text;
}

size_t ebb_value_size(const ebb_value *value)
{
    if (ebb_value_type(value) == EBB_OBJECT)
        return json_object_size(tree(value));
    return json_array_size(tree(value));
}

ebb_value *ebb_value_at(const ebb_value *array, size_t index)
{
    return value_of(json_array_get(tree(array), index));
}

ebb_value *ebb_value_find(const ebb_value *object, const char *key)
{
    return value_of(json_object_get(tree(object), key));
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
    json_t *json = tree(object);

    *place = *place == NULL ? json_object_iter(json)
                            : json_object_iter_next(json, *place);
    if (*place == NULL)
        return false;
    *key = json_object_iter_key(*place);
    *member = value_of(json_object_iter_value(*place));
    return true;
}

static ebb_value *copy_at(const ebb_value *value, int depth);

static ebb_value *copy_array(const ebb_value *value, int depth)
{
    ebb_value *copy = ebb_value_array();

    for (size_t i = 0; copy != NULL && i < ebb_value_size(value); i++)
        if (ebb_value_add(copy, copy_at(ebb_value_at(value, i), depth)) < 0) {
            ebb_value_free(copy);
            copy = NULL;
        }
    return copy;
}

static ebb_value *copy_object(const ebb_value *value, int depth)
{
    ebb_value *copy = ebb_value_object(), *member;
    void *place = NULL;
    const char *key;

    while (copy != NULL && ebb_value_next(value, &place, &key, &member))
        if (ebb_value_set(copy, key, copy_at(member, depth)) < 0) {
            ebb_value_free(copy);
            copy = NULL;
        }
    return copy;
}

static ebb_value *copy_at(const ebb_value *value, int depth)
{
    ebb_type type = ebb_value_type(value);

    if (value == NULL)
        return ebb_value_null();
    if (type != EBB_ARRAY && type != EBB_OBJECT)
        return value_of(json_incref(tree(value))); /* nothing changes it */
    if (depth >= EBB_VALUE_DEPTH_MAX)
        return NULL;
    return type == EBB_ARRAY ? copy_array(value, depth + 1)
                             : copy_object(value, depth + 1);
}

ebb_value *ebb_value_copy(const ebb_value *value)
{
    return copy_at(value, 0);
}

bool ebb_value_equal(const ebb_value *a, const ebb_value *b)
{
    if (a == NULL || b == NULL)
        return ebb_value_type(a) == ebb_value_type(b);
    return json_equal(tree(a), tree(b)) != 0;
}

ebb_value *ebb_value_parse(const char *text, size_t n, size_t values_max,
                           ebb_err *err)
{
    json_error_t why;
    json_t *json;

    if (ebb_value_scan(text, n,
                       values_max > 0 ? values_max : VALUES_MAX_DEFAULT,
                       EBB_VALUE_DEPTH_MAX, err) < 0)
        return NULL;
    json = json_loadb(text != NULL ? text : "", n,
                      JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY,
                      &why);
    if (json == NULL)
        ebb_err_set(err,
                    json_error_code(&why) == json_error_out_of_memory
                        ? EBB_NO_MEMORY
                        : EBB_PROTOCOL,
                    "invalid JSON at line %d, column %d: %s", why.line,
                    why.column, why.text);
    return value_of(json);
}
