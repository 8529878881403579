/* SPDX-License-Identifier: MIT */
#include "task/fields.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/value_pool.h"
#include "task/fields_text.h"
#include "task/place.h"

#define INPUT_BYTES_MAX 4000000

/* The check of one input. */
typedef struct check {
    ebb_err *err;
    const char *text; /* the default that was made last, */
    ebb_value *value; /* which the entries of a list share; owned */
    ebb_pool *pool;   /* of the list around, or NULL */
} check;

static const char *got(const ebb_value *value)
{
    switch (ebb_value_type(value)) {
    case EBB_NULL:
        return "nil";
    case EBB_BOOL:
        return "bool";
    case EBB_INT:
    case EBB_FLOAT:
        return "number";
    case EBB_STRING:
        return "string";
    case EBB_ARRAY:
        return "list";
    case EBB_OBJECT:
        return "map";
    }
    return "nothing";
}

static ebb_value *copied(const ebb_value *value, ebb_err *err)
{
    ebb_value *copy = ebb_value_copy(value);

    if (copy == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "copy of an input");
    return copy;
}

static ebb_value *made(ebb_value *value, ebb_err *err)
{
    if (value == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "copy of an input");
    return value;
}

static ebb_value *check_string(const ebb_place *at, const ebb_field *field,
                               const ebb_value *value, ebb_err *err)
{
    size_t n = 0;
    const char *text = ebb_value_get_string(value, &n);

    if (text == NULL)
        return ebb_place_wrong(at, err, "expected string, got %s", got(value));
    if (ebb_field_check_text(at, field, text, n, err) != 0)
        return NULL;
    return copied(value, err);
}

static bool outside(const ebb_field *field, double number)
{
    return field->min != field->max &&
           (number < field->min || number > field->max);
}

static int check_range(const ebb_place *at, const ebb_field *field,
                       double *number, ebb_err *err)
{
    if ((field->flags & EBB_FIELD_CLAMP) && outside(field, *number))
        *number = *number < field->min ? field->min : field->max;
    if ((field->flags & EBB_FIELD_POSITIVE) && !(*number > 0))
        ebb_place_wrong(at, err, "expected a number above 0, got %.17g",
                        *number);
    else if (outside(field, *number))
        ebb_place_wrong(at, err, "expected %.17g to %.17g, got %.17g",
                        field->min, field->max, *number);
    else
        return 0;
    return -1;
}

/*
 * An int may come as a float without fraction: lua-cjson and JavaScript make
 * no difference. One that is clamped anyway may have a fraction, which goes.
 */
static ebb_value *check_number(const ebb_place *at, const ebb_field *field,
                               const ebb_value *value, ebb_err *err)
{
    ebb_type type = ebb_value_type(value);
    double number = ebb_value_get_float(value), asked;
    bool whole = field->type == EBB_FIELD_INT;

    if (type != EBB_INT && type != EBB_FLOAT)
        return ebb_place_wrong(at, err, "expected %s, got %s",
                               ebb_field_type_name(field->type), got(value));
    if (!isfinite(number))
        return ebb_place_wrong(at, err, "expected a finite number");
    if (whole && (field->flags & EBB_FIELD_CLAMP))
        number = trunc(number);
    if (whole && number != trunc(number))
        return ebb_place_wrong(at, err, "expected a whole number, got %.17g",
                               number);
    asked = number;
    if (check_range(at, field, &number, err) != 0)
        return NULL;
    if (type == EBB_INT && number == asked)
        return copied(value, err);
    if (!whole)
        return made(ebb_value_float(number), err);
    if (number < -0x1p63 || number >= 0x1p63)
        return ebb_place_wrong(at, err, "%.17g is beyond a 64-bit integer",
                               number);
    return made(ebb_value_int((int64_t)number), err);
}

static ebb_value *check_map(const ebb_place *at, const ebb_field *field,
                            const ebb_value *value, ebb_err *err)
{
    void *next = NULL;
    const char *key;
    ebb_value *member;

    if (ebb_value_type(value) == EBB_ARRAY && ebb_value_size(value) == 0)
        return made(ebb_value_object(), err);
    if (ebb_value_type(value) != EBB_OBJECT)
        return ebb_place_wrong(at, err, "expected map, got %s", got(value));
    while (ebb_value_next(value, &next, &key, &member)) {
        char quoted[EBB_SHOWN_BYTES];
        ebb_place here = { at, ebb_place_shown(key, quoted), 0 };
        size_t n = 0;
        const char *text = ebb_value_get_string(member, &n);

        if (text == NULL)
            return ebb_place_wrong(&here, err, "expected string, got %s",
                                   got(member));
        if ((field->flags & EBB_FIELD_NO_NUL) && memchr(text, '\0', n))
            return ebb_place_wrong(&here, err, "must not hold a NUL byte");
    }
    return copied(value, err);
}

/* A list holds objects, whose fields are checked as the input's own. */
static ebb_value *check_object(const ebb_place *at, const ebb_field *fields,
                               size_t count, const ebb_value *input, check *c);

static int add_entries(const ebb_place *at, const ebb_field *field,
                       const ebb_value *value, ebb_value *out, check *c)
{
    ebb_pool *around = c->pool;
    size_t i = 0, n = ebb_value_size(value);
    ebb_value *entry;

    c->pool = ebb_value_pool(out);
    for (; i < n && c->pool != NULL; i++) {
        ebb_place here = { at, NULL, i + 1 };

        entry = check_object(&here, field->items, field->items_count,
                             ebb_value_at(value, i), c);
        if (entry == NULL)
            break;
        if (ebb_value_add(out, entry) != 0) {
            ebb_err_set(c->err, EBB_NO_MEMORY, "copy of an input");
            break;
        }
    }
    if (c->pool == NULL)
        ebb_err_set(c->err, EBB_NO_MEMORY, "copy of an input");
    c->pool = around;
    return i == n ? 0 : -1;
}

static ebb_value *check_list(const ebb_place *at, const ebb_field *field,
                             const ebb_value *value, check *c)
{
    size_t n = ebb_value_size(value);
    ebb_type type = ebb_value_type(value);
    ebb_value *out;

    if (type != EBB_ARRAY && !(type == EBB_OBJECT && n == 0))
        return ebb_place_wrong(at, c->err, "expected list, got %s", got(value));
    if (outside(field, (double)n))
        return ebb_place_wrong(at, c->err,
                               "expected %.17g to %.17g entries, got %zu",
                               field->min, field->max, n);
    out = made(ebb_value_array(), c->err);
    if (out == NULL || n == 0 || add_entries(at, field, value, out, c) == 0)
        return out;
    ebb_value_free(out);
    return NULL;
}

static ebb_value *check_field(const ebb_place *at, const ebb_field *field,
                              const ebb_value *value, check *c)
{
    switch (field->type) {
    case EBB_FIELD_STRING:
        return check_string(at, field, value, c->err);
    case EBB_FIELD_BOOL:
        if (ebb_value_type(value) != EBB_BOOL)
            return ebb_place_wrong(at, c->err, "expected bool, got %s",
                                   got(value));
        return copied(value, c->err);
    case EBB_FIELD_INT:
    case EBB_FIELD_NUMBER:
        return check_number(at, field, value, c->err);
    case EBB_FIELD_MAP:
        return check_map(at, field, value, c->err);
    case EBB_FIELD_LIST:
        return check_list(at, field, value, c);
    case EBB_FIELD_ANY:
        return copied(value, c->err);
    }
    return ebb_place_wrong(at, c->err, "has no type");
}

static int check_names(const ebb_place *at, const ebb_field *fields,
                       size_t count, const ebb_value *input, ebb_err *err)
{
    void *next = NULL;
    const char *key, *near;
    ebb_value *member;
    char quoted[EBB_SHOWN_BYTES];

    while (ebb_value_next(input, &next, &key, &member)) {
        size_t i = 0;
        while (i < count && strcmp(fields[i].name, key) != 0)
            i++;
        if (i < count)
            continue;
        near = ebb_fields_nearest(key, fields, count);
        ebb_place_shown(key, quoted);
        if (near != NULL)
            ebb_place_wrong(at, err, "unknown field '%s' (did you mean '%s'?)",
                            quoted, near);
        else
            ebb_place_wrong(at, err, "unknown field '%s'", quoted);
        return -1;
    }
    return 0;
}

/*
 * A default from its text. Most are a plain string or a short whole number,
 * which need no parser for every call.
 */
static ebb_value *parse_default(const char *text, ebb_err *err)
{
    size_t n = strlen(text);

    if (n >= 2 && text[0] == '"' && strcspn(text + 1, "\"\\") == n - 2)
        return made(ebb_value_string(text + 1, n - 2), err);
    if (n > 0 && n < 10 && text[0] != '0' && strspn(text, "0123456789") == n)
        return made(ebb_value_int(atol(text)), err);
    return ebb_value_parse(text, n, 0, err);
}

static ebb_value *otherwise(check *c, const char *text)
{
    if (c->value == NULL || c->text != text) {
        ebb_value_free(c->value);
        c->value = parse_default(text, c->err);
        c->text = text;
    }
    return c->value != NULL ? copied(c->value, c->err) : NULL;
}

/* The checked value of one field, the default of an absent one, or nothing. */
static int set_field(const ebb_place *at, const ebb_field *field,
                     const ebb_value *given, ebb_value *out, check *c)
{
    ebb_place here = { at, field->name, 0 };
    ebb_value *value;

    if (ebb_value_type(given) != EBB_NULL ||
        (field->flags & EBB_FIELD_REQUIRED)) {
        value = check_field(&here, field, given, c);
    } else if (field->otherwise != NULL) {
        value = otherwise(c, field->otherwise);
    } else {
        return 0;
    }
    if (value == NULL)
        return -1;
    if (ebb_value_set(out, field->name, value) != 0)
        return ebb_err_set(c->err, EBB_NO_MEMORY, "copy of an input");
    return 0;
}

static ebb_value *check_object(const ebb_place *at, const ebb_field *fields,
                               size_t count, const ebb_value *input, check *c)
{
    ebb_type type = ebb_value_type(input);
    size_t given = 0;
    ebb_value *out;

    if (type == EBB_ARRAY && ebb_value_size(input) == 0)
        input = NULL; /* Lua's {} says neither list nor map. */
    else if (type != EBB_OBJECT)
        return ebb_place_wrong(at, c->err, "expected map, got %s", got(input));
    out = made(ebb_pool_object(c->pool), c->err);
    for (size_t i = 0; out != NULL && i < count; i++) {
        const ebb_value *value = ebb_value_find(input, fields[i].name);
        given += value != NULL;
        if (set_field(at, &fields[i], value, out, c) == 0)
            continue;
        ebb_value_free(out);
        out = NULL;
    }
    /* A name that is unknown explains more than a field that is wrong. */
    if ((out == NULL || given < ebb_value_size(input)) &&
        check_names(at, fields, count, input, c->err) != 0) {
        ebb_value_free(out);
        out = NULL;
    }
    return out;
}

ebb_value *ebb_fields_check(const char *task, const ebb_field *fields,
                            size_t count, const ebb_value *input, ebb_err *err)
{
    ebb_place top = { NULL, task, 0 };
    ebb_value *nothing = NULL, *out = NULL;
    check c = { .err = err };

    if (ebb_value_type(input) == EBB_NULL) {
        nothing = made(ebb_value_object(), err);
        if (nothing == NULL)
            return NULL;
        input = nothing;
    }
    if (!ebb_value_fits(input, INPUT_BYTES_MAX))
        ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                    "%s: the input is above %d bytes of JSON", task,
                    INPUT_BYTES_MAX);
    else
        out = check_object(&top, fields, count, input, &c);
    ebb_value_free(c.value);
    ebb_value_free(nothing);
    return out;
}
