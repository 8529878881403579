/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Reading the members of a request's JSON body. A member that is absent or
 * null has its default; one of another type or out of range is
 * EBB_INVALID_INPUT with its name.
 */

#include "base/err.h"
#include "base/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int ebb_body_get_int(const ebb_value *body, const char *key, int64_t otherwise,
                     int64_t *out, ebb_err *err);
int ebb_body_get_bool(const ebb_value *body, const char *key, bool otherwise,
                      bool *out, ebb_err *err);

typedef struct ebb_body_bounds {
    size_t count_max;
    size_t bytes_max; /* of all keys and values */
    bool environment; /* keys are names of variables: not empty, no '=' */
} ebb_body_bounds;

/* An object of strings without NUL, borrowed; NULL when it is absent. */
int ebb_body_get_strings(const ebb_value *body, const char *key,
                         const ebb_body_bounds *bounds, const ebb_value **out,
                         ebb_err *err);

/* Of the query: a decimal int64, or -1 with err set. */
int ebb_body_parse_int(const char *text, const char *what, int64_t *out,
                       ebb_err *err);
