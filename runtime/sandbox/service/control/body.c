/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/body.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ebb_body_get_int(const ebb_value *body, const char *key, int64_t otherwise,
                     int64_t *out, ebb_err *err)
{
    const ebb_value *member = ebb_value_find(body, key);
    double d;

    *out = otherwise;
    switch (ebb_value_type(member)) {
    case EBB_NULL:
        return 0;
    case EBB_INT:
        *out = ebb_value_get_int(member);
        return 0;
    case EBB_FLOAT:
        d = ebb_value_get_float(member);
        if (d >= -9007199254740992.0 && d <= 9007199254740992.0 &&
            (double)(int64_t)d == d) {
            *out = (int64_t)d;
            return 0;
        }
        return ebb_err_set(err, EBB_INVALID_INPUT, "%s: expected an integer",
                           key);
    default:
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s: expected an integer, got %s", key,
                           ebb_type_name(ebb_value_type(member)));
    }
}

int ebb_body_get_bool(const ebb_value *body, const char *key, bool otherwise,
                      bool *out, ebb_err *err)
{
    const ebb_value *member = ebb_value_find(body, key);
    ebb_type type = ebb_value_type(member);

    *out = type == EBB_BOOL ? ebb_value_get_bool(member) : otherwise;
    if (type == EBB_BOOL || type == EBB_NULL)
        return 0;
    return ebb_err_set(err, EBB_INVALID_INPUT, "%s: expected a bool, got %s",
                       key, ebb_type_name(type));
}

static int check_member(const char *object, const char *key,
                        const ebb_value *value, bool environment, ebb_err *err)
{
    size_t n = 0;
    const char *text = ebb_value_get_string(value, &n);

    if (text == NULL)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s.%.64s: expected a string, got %s", object, key,
                           ebb_type_name(ebb_value_type(value)));
    if (strlen(text) != n)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s.%.64s: a NUL character is not allowed", object,
                           key);
    if (environment && (*key == '\0' || strchr(key, '=') != NULL))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s: '%.64s' is no name of a variable", object, key);
    return 0;
}

int ebb_body_get_strings(const ebb_value *body, const char *key,
                         const ebb_body_bounds *bounds, const ebb_value **out,
                         ebb_err *err)
{
    const ebb_value *object = ebb_value_find(body, key);
    void *place = NULL;
    const char *name;
    ebb_value *member;
    size_t bytes = 0, n;

    *out = NULL;
    if (ebb_value_type(object) == EBB_NULL)
        return 0;
    if (ebb_value_type(object) != EBB_OBJECT)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s: expected an object, got %s", key,
                           ebb_type_name(ebb_value_type(object)));
    if (ebb_value_size(object) > bounds->count_max)
        return ebb_err_set(err, EBB_INVALID_INPUT, "%s: more than %zu members",
                           key, bounds->count_max);
    while (ebb_value_next(object, &place, &name, &member)) {
        if (check_member(key, name, member, bounds->environment, err) != 0)
            return -1;
        ebb_value_get_string(member, &n);
        bytes += strlen(name) + n;
    }
    if (bytes > bounds->bytes_max)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s: more than %zu bytes together", key,
                           bounds->bytes_max);
    *out = object;
    return 0;
}

int ebb_body_parse_int(const char *text, const char *what, int64_t *out,
                       ebb_err *err)
{
    const char *digits = text + (*text == '-');
    char *end = NULL;
    long long parsed;

    errno = 0;
    parsed = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*digits) || *end != '\0' || errno != 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s: '%.40s' is not an integer", what, text);
    *out = parsed;
    return 0;
}
