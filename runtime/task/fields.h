/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a task takes, declared once: from this table come the check of every
 * input, "did you mean", `ebb tasks`, help, completion, the LuaLS types and
 * the reference page. It knows no task.
 */

#include "base/err.h"
#include "base/value.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum ebb_field_type {
    EBB_FIELD_STRING,
    EBB_FIELD_BOOL,
    EBB_FIELD_INT,    /* a number without fraction */
    EBB_FIELD_NUMBER, /* finite */
    EBB_FIELD_MAP,    /* object of strings */
    EBB_FIELD_LIST,   /* array of objects described by items */
    EBB_FIELD_ANY     /* any value; for hosts' own tasks */
} ebb_field_type;

/* What is said beyond the type; flags of ebb_field. */
#define EBB_FIELD_REQUIRED  1u
#define EBB_FIELD_NOT_BLANK 2u  /* a string with more than white space */
#define EBB_FIELD_POSITIVE  4u  /* a number > 0 */
#define EBB_FIELD_CLAMP     8u  /* out of range is moved into it, no error */
#define EBB_FIELD_NO_NUL    16u /* a string, or each string of a map */
#define EBB_FIELD_ID        32u /* a string that fits paths and headers */
#define EBB_FIELD_PATH      64u /* a string that Linux can take as a path */

typedef struct ebb_field ebb_field;
struct ebb_field {
    const char *name;
    ebb_field_type type;
    unsigned flags;
    const char *otherwise; /* the default as JSON text, or NULL: none */
    double min, max; /* of a number, or the count of a list; equal: none */
    const char *const *choices; /* of a string, NULL-terminated; or NULL */
    const ebb_field *items;     /* of a list's objects */
    size_t items_count;
    const char *help; /* one line for people */
};

const char *ebb_field_type_name(ebb_field_type type);

/*
 * Checks input (NULL or null: an empty object) against the fields and returns
 * a new object with the defaults filled in, clamped values moved, a null
 * member dropped as absent, a whole float made an int where an int is wanted.
 * The first thing wrong is EBB_INVALID_INPUT, or EBB_LIMIT_EXCEEDED for an
 * input above 4,000,000 bytes of JSON, with the task and the path:
 * "e2b.writeFiles: files[3].content: expected string, got nil".
 */
ebb_value *ebb_fields_check(const char *task, const ebb_field *fields,
                            size_t count, const ebb_value *input, ebb_err *err);

/* An array of {name, type, required, default?, min?, max?, choices?, help}. */
ebb_value *ebb_fields_describe(const ebb_field *fields, size_t count);

/*
 * The reverse: fields from such an array (of a host's own task). One block,
 * freed with ebb_fields_free.
 */
ebb_field *ebb_fields_parse(const ebb_value *description, size_t *count,
                            ebb_err *err);
void ebb_fields_free(ebb_field *fields, size_t count);

/* The nearest of the names to a mistyped one, or NULL if none is near. */
const char *ebb_fields_nearest(const char *name, const ebb_field *fields,
                               size_t count);
