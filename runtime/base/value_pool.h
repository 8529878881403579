/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Values in large blocks: what is parsed, and results of many members, need
 * not be allocated and freed one by one. A pool belongs to one container and
 * is freed with it; its values may stand in that container and below, nowhere
 * else, and there anything that a value may: they are changed, copied and
 * freed as all are. What one of them held is free again with the pool only.
 */

#include "base/value.h"

typedef struct ebb_pool ebb_pool;

/* That of an array or object, made when it has none. NULL: no memory. */
ebb_pool *ebb_value_pool(ebb_value *container);

/* As those of value.h; pool NULL: by itself, as they make them. */
ebb_value *ebb_pool_int(ebb_pool *pool, int64_t i);
ebb_value *ebb_pool_float(ebb_pool *pool, double d);
ebb_value *ebb_pool_string(ebb_pool *pool, const char *bytes, size_t n);
ebb_value *ebb_pool_string_valid(ebb_pool *pool, const char *bytes,
                                 size_t n); /* of UTF-8, which is not asked */
ebb_value *ebb_pool_array(ebb_pool *pool);
ebb_value *ebb_pool_object(ebb_pool *pool);

/*
 * An object with its members at once, whose ownership moves, also on failure.
 * The keys are of ASCII and differ, which is not checked. NULL: no memory, or
 * one of the members was NULL.
 */
ebb_value *ebb_pool_object_of(ebb_pool *pool, const char *const keys[],
                              ebb_value *const members[], size_t n);
