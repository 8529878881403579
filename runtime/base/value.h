/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A JSON value: what tasks take and give, what Lua tables become, what the
 * journal stores. A tree; each node has one owner, though copies may share
 * leaves, which nothing changes. Integers are int64 and exact, floats are
 * written in the shortest form that reads back the same (1.0 stays "1.0"),
 * strings are valid UTF-8 and may hold NUL, an empty array is not an empty
 * object.
 *
 * It is the only module that knows the JSON library (yajl).
 */

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

EBB_C_BEGIN

typedef struct ebb_value ebb_value;

typedef enum ebb_type {
    EBB_NULL,
    EBB_BOOL,
    EBB_INT,
    EBB_FLOAT,
    EBB_STRING,
    EBB_ARRAY,
    EBB_OBJECT
} ebb_type;

#define EBB_VALUE_DEPTH_MAX 100

/*
 * Make. NULL means no memory; for a string also bytes that are not UTF-8, for
 * a float also NaN and the infinities, which JSON does not have.
 */
EBB_API ebb_value *ebb_value_null(void);
EBB_API ebb_value *ebb_value_bool(bool b);
EBB_API ebb_value *ebb_value_int(int64_t i);
EBB_API ebb_value *ebb_value_float(double d);
EBB_API ebb_value *ebb_value_string(const char *bytes, size_t n);
EBB_API ebb_value *ebb_value_text(const char *text); /* NUL-terminated */
EBB_API ebb_value *ebb_value_array(void);
EBB_API ebb_value *ebb_value_object(void);

/*
 * A copy that changes by itself. NULL means no memory, or nesting beyond the
 * maximum.
 */
EBB_API ebb_value *ebb_value_copy(const ebb_value *value);
EBB_API void ebb_value_free(ebb_value *value); /* NULL is fine */

/*
 * Put a member into an array or object. The member's ownership moves, also on
 * failure: -1 means no memory, or that member was NULL, so that
 * ebb_value_set(o, "n", ebb_value_int(1)) needs one check only.
 */
EBB_API int ebb_value_add(ebb_value *array, ebb_value *member);
EBB_API int ebb_value_set(ebb_value *object, const char *key,
                          ebb_value *member);
/* The key as bytes: UTF-8 without NUL, else -1. */
EBB_API int ebb_value_set_n(ebb_value *object, const char *key, size_t n,
                            ebb_value *member);
/* -1: it is not there. Takes time for each member that comes after it. */
EBB_API int ebb_value_del(ebb_value *object, const char *key);

/* Read. value may be NULL: its type is EBB_NULL. */
EBB_API ebb_type ebb_value_type(const ebb_value *value);
EBB_API const char *ebb_type_name(ebb_type type); /* "string", "null", … */

/* Of a value of another type: false, 0, 0.0 (an int as float is converted). */
EBB_API bool ebb_value_get_bool(const ebb_value *value);
EBB_API int64_t ebb_value_get_int(const ebb_value *value);
EBB_API double ebb_value_get_float(const ebb_value *value);

/* Borrowed, NUL-terminated; n may be NULL. NULL if it is no string. */
EBB_API const char *ebb_value_get_string(const ebb_value *value, size_t *n);

/* Members of an array or object; 0 for anything else. */
EBB_API size_t ebb_value_size(const ebb_value *value);

/* Borrowed member, or NULL if there is none. */
EBB_API ebb_value *ebb_value_at(const ebb_value *array, size_t index);
EBB_API ebb_value *ebb_value_find(const ebb_value *object, const char *key);

/* Shorthands over a member: the default when it is absent or null. */
EBB_API const char *ebb_value_find_string(const ebb_value *object,
                                          const char *key);
EBB_API int64_t ebb_value_find_int(const ebb_value *object, const char *key,
                                   int64_t otherwise);
EBB_API bool ebb_value_find_bool(const ebb_value *object, const char *key,
                                 bool otherwise);

/*
 * Iterates an object in order of insertion: start with *place NULL; false at
 * the end. The object must not change in between, and a key is good for as
 * long as it does not.
 */
EBB_API bool ebb_value_next(const ebb_value *object, void **place,
                            const char **key, ebb_value **member);

/*
 * Parses strict JSON: duplicate keys, integers beyond int64, bytes that are
 * not UTF-8 or deeper nesting than EBB_VALUE_DEPTH_MAX are EBB_PROTOCOL with
 * the place, of the last byte that was read. More than values_max values (0:
 * 1,000,000) are EBB_LIMIT_EXCEEDED, and no more than those are built.
 */
EBB_API ebb_value *ebb_value_parse(const char *text, size_t n,
                                   size_t values_max, ebb_err *err);

/* How to write. */
#define EBB_WRITE_COMPACT 0u
#define EBB_WRITE_PRETTY  1u /* two spaces, one member a line */
#define EBB_WRITE_SORTED  2u /* keys by bytes: the canonical form */
#define EBB_WRITE_ASCII   4u /* every other character as \uXXXX */

/*
 * JSON text, NUL-terminated, freed with ebb_mem_free; n may be NULL. NULL
 * means no memory, or nesting beyond the maximum.
 */
EBB_API char *ebb_value_write(const ebb_value *value, unsigned how, size_t *n);

/* The length of the compact form in bytes, without making it; 0: as NULL. */
EBB_API size_t ebb_value_length(const ebb_value *value);

/*
 * Whether that length is at most bytes_max; true also of what has none. It
 * takes less time than the length unless the value comes near.
 */
EBB_API bool ebb_value_fits(const ebb_value *value, size_t bytes_max);

EBB_API bool ebb_value_equal(const ebb_value *a, const ebb_value *b);

EBB_C_END
