/* SPDX-License-Identifier: MIT */
#include "task/fields.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "task/nearest.h"
#include "task/place.h"

#define DESCRIPTION_BYTES_MAX 65536
#define DESCRIPTION_DEPTH_MAX 4

static const char *const types[] = {
    [EBB_FIELD_STRING] = "string", [EBB_FIELD_BOOL] = "bool",
    [EBB_FIELD_INT] = "int",       [EBB_FIELD_NUMBER] = "number",
    [EBB_FIELD_MAP] = "map",       [EBB_FIELD_LIST] = "list",
    [EBB_FIELD_ANY] = "any",
};

static const struct {
    const char *name;
    unsigned flag;
} flags[] = {
    { "required", EBB_FIELD_REQUIRED }, { "notBlank", EBB_FIELD_NOT_BLANK },
    { "positive", EBB_FIELD_POSITIVE }, { "clamp", EBB_FIELD_CLAMP },
    { "noNul", EBB_FIELD_NO_NUL },      { "id", EBB_FIELD_ID },
    { "path", EBB_FIELD_PATH },
};

#define FLAGS_COUNT (sizeof flags / sizeof *flags)
#define TYPES_COUNT (sizeof types / sizeof *types)

const char *ebb_field_type_name(ebb_field_type type)
{
    return types[type];
}

/* ---- fields to values ---- */

static ebb_value *describe_choices(const char *const *choices)
{
    ebb_value *out = ebb_value_array();

    for (; out != NULL && *choices != NULL; choices++)
        if (ebb_value_add(out, ebb_value_text(*choices)) != 0) {
            ebb_value_free(out);
            out = NULL;
        }
    return out;
}

/* A bound as a whole number where it is one, as people wrote it. */
static ebb_value *describe_bound(double bound)
{
    if (bound >= -0x1p53 && bound <= 0x1p53 && (double)(int64_t)bound == bound)
        return ebb_value_int((int64_t)bound);
    return ebb_value_float(bound);
}

static int describe_rest(ebb_value *out, const ebb_field *field)
{
    ebb_err ignored = { 0 };
    const char *otherwise = field->otherwise;

    if (otherwise != NULL &&
        ebb_value_set(
            out, "default",
            ebb_value_parse(otherwise, strlen(otherwise), 0, &ignored)) != 0)
        return -1;
    if (field->min != field->max &&
        (ebb_value_set(out, "min", describe_bound(field->min)) != 0 ||
         ebb_value_set(out, "max", describe_bound(field->max)) != 0))
        return -1;
    if (field->choices != NULL &&
        ebb_value_set(out, "choices", describe_choices(field->choices)) != 0)
        return -1;
    if (field->items != NULL &&
        ebb_value_set(out, "items",
                      ebb_fields_describe(field->items, field->items_count)) !=
            0)
        return -1;
    return ebb_value_set(out, "help",
                         ebb_value_text(field->help ? field->help : ""));
}

static ebb_value *describe(const ebb_field *field)
{
    ebb_value *out = ebb_value_object();
    int failed = out == NULL;

    failed = failed ||
             ebb_value_set(out, "name", ebb_value_text(field->name)) != 0 ||
             ebb_value_set(out, "type", ebb_value_text(types[field->type]));
    for (size_t i = 0; !failed && i < FLAGS_COUNT; i++) {
        bool set = (field->flags & flags[i].flag) != 0;
        if (set || flags[i].flag == EBB_FIELD_REQUIRED)
            failed = ebb_value_set(out, flags[i].name, ebb_value_bool(set));
    }
    if (!failed && describe_rest(out, field) == 0)
        return out;
    ebb_value_free(out);
    return NULL;
}

ebb_value *ebb_fields_describe(const ebb_field *fields, size_t count)
{
    ebb_value *out = ebb_value_array();

    for (size_t i = 0; out != NULL && i < count; i++)
        if (ebb_value_add(out, describe(&fields[i])) != 0) {
            ebb_value_free(out);
            out = NULL;
        }
    return out;
}

/* ---- values to fields ---- */

/*
 * One block: the fields and lists of choices from the front, where every
 * piece keeps a pointer's alignment, the texts from the back.
 */
typedef struct block {
    char *front, *back;
    ebb_err *err;
} block;

static void *take(block *in, size_t bytes)
{
    void *at = in->front;

    in->front += bytes;
    return at;
}

static const char *take_text(block *in, const char *text)
{
    size_t n = strlen(text) + 1;

    in->back -= n;
    return memcpy(in->back, text, n);
}

/* What take can be asked for: a field for each object, a pointer a choice. */
static size_t room_for(const ebb_value *value, int depth)
{
    size_t room = sizeof(ebb_field);
    void *next = NULL;
    const char *key;
    ebb_value *member;

    if (depth > 2 * DESCRIPTION_DEPTH_MAX + 2)
        return room;
    for (size_t i = 0;
         ebb_value_type(value) == EBB_ARRAY && i < ebb_value_size(value); i++)
        room += room_for(ebb_value_at(value, i), depth + 1);
    while (ebb_value_type(value) == EBB_OBJECT &&
           ebb_value_next(value, &next, &key, &member))
        room += room_for(member, depth + 1);
    return room;
}

static int parse_type(const ebb_place *at, const ebb_value *in,
                      ebb_field *field, block *out)
{
    const char *type = ebb_value_find_string(in, "type");
    char quoted[EBB_SHOWN_BYTES];

    if (type == NULL)
        type = "any";
    for (size_t i = 0; i < TYPES_COUNT; i++)
        if (strcmp(types[i], type) == 0) {
            field->type = (ebb_field_type)i;
            return 0;
        }
    ebb_place_wrong(at, out->err,
                    "unknown type \"%s\" (string, bool, int, number, map, "
                    "list, any)",
                    ebb_place_shown(type, quoted));
    return -1;
}

static int parse_choices(const ebb_place *at, const ebb_value *in,
                         ebb_field *field, block *out)
{
    size_t n = ebb_value_size(in);
    const char **choices;

    if (ebb_value_type(in) == EBB_NULL)
        return 0;
    if (ebb_value_type(in) != EBB_ARRAY || n == 0) {
        ebb_place_wrong(at, out->err, "choices: expected a list of strings");
        return -1;
    }
    choices = take(out, (n + 1) * sizeof *choices);
    for (size_t i = 0; i < n; i++) {
        const char *text = ebb_value_get_string(ebb_value_at(in, i), NULL);
        if (text == NULL) {
            ebb_place_wrong(at, out->err, "choices: expected strings");
            return -1;
        }
        choices[i] = take_text(out, text);
    }
    choices[n] = NULL;
    field->choices = choices;
    return 0;
}

static int parse_default(const ebb_value *in, ebb_field *field, block *out)
{
    char *text;

    if (ebb_value_type(in) == EBB_NULL)
        return 0;
    text = ebb_value_write(in, EBB_WRITE_COMPACT, NULL);
    if (text == NULL)
        return ebb_err_set(out->err, EBB_NO_MEMORY, "description of fields");
    field->otherwise = take_text(out, text);
    ebb_mem_free(text);
    return 0;
}

/* Fields of lists have fields themselves. */
static ebb_field *parse_fields(const ebb_place *at, const ebb_value *in,
                               size_t *count, block *out);

static int parse_field(const ebb_place *at, const ebb_value *in,
                       ebb_field *field, block *out)
{
    const char *name = ebb_value_find_string(in, "name");
    const char *help = ebb_value_find_string(in, "help");
    ebb_place below = { at, "items", 0 };

    if (name == NULL || *name == '\0') {
        ebb_place_wrong(at, out->err, "a field needs a name");
        return -1;
    }
    field->name = take_text(out, name);
    field->help = help == NULL ? NULL : take_text(out, help);
    field->min = ebb_value_get_float(ebb_value_find(in, "min"));
    field->max = ebb_value_get_float(ebb_value_find(in, "max"));
    for (size_t i = 0; i < FLAGS_COUNT; i++)
        if (ebb_value_find_bool(in, flags[i].name, false))
            field->flags |= flags[i].flag;
    if (parse_type(at, in, field, out) != 0 ||
        parse_choices(at, ebb_value_find(in, "choices"), field, out) != 0 ||
        parse_default(ebb_value_find(in, "default"), field, out) != 0)
        return -1;
    if (field->type != EBB_FIELD_LIST)
        return 0;
    field->items = parse_fields(&below, ebb_value_find(in, "items"),
                                &field->items_count, out);
    return field->items == NULL ? -1 : 0;
}

static ebb_field *parse_fields(const ebb_place *at, const ebb_value *in,
                               size_t *count, block *out)
{
    size_t n = ebb_value_size(in);
    ebb_field *fields;
    int depth = 0;

    for (const ebb_place *up = at; up != NULL; up = up->up)
        depth++;
    if (depth > 2 * DESCRIPTION_DEPTH_MAX || ebb_value_type(in) != EBB_ARRAY) {
        ebb_place_wrong(at, out->err, "expected a list of fields");
        return NULL;
    }
    fields = take(out, n * sizeof *fields);
    memset(fields, 0, n * sizeof *fields);
    for (size_t i = 0; i < n; i++) {
        ebb_place here = { at, NULL, i + 1 };
        if (parse_field(&here, ebb_value_at(in, i), &fields[i], out) != 0)
            return NULL;
    }
    *count = n;
    return fields;
}

ebb_field *ebb_fields_parse(const ebb_value *description, size_t *count,
                            ebb_err *err)
{
    ebb_place top = { NULL, "fields", 0 };
    size_t text = ebb_value_length(description), front;
    block out = { .err = err };
    ebb_field *fields;
    char *bytes;

    if (text > DESCRIPTION_BYTES_MAX) {
        ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                    "a description of fields has at most %d bytes",
                    DESCRIPTION_BYTES_MAX);
        return NULL;
    }
    front = room_for(description, 0);
    bytes = ebb_mem_alloc(front + text);
    if (bytes == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "description of fields");
        return NULL;
    }
    out.front = bytes;
    out.back = bytes + front + text;
    fields = parse_fields(&top, description, count, &out);
    if (fields == NULL)
        ebb_mem_free(bytes);
    return fields;
}

void ebb_fields_free(ebb_field *fields, size_t count)
{
    (void)count;
    ebb_mem_free(fields);
}

const char *ebb_fields_nearest(const char *name, const ebb_field *fields,
                               size_t count)
{
    size_t best = EBB_NEAREST_NONE;
    const char *found = NULL;

    for (size_t i = 0; i < count; i++) {
        size_t distance = ebb_nearest_distance(name, fields[i].name);
        if (distance < best) {
            best = distance;
            found = fields[i].name;
        }
    }
    return found;
}
