/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Counts what is in a JSON text before anything is built of it: a tree costs
 * up to 80 bytes a value, so a small text may ask for a lot of memory. It is
 * no parser: of text that is not JSON it says nothing.
 */

#include "base/err.h"

#include <stddef.h>

/*
 * EBB_LIMIT_EXCEEDED if text has more than values_max values (an object's keys
 * are not values), EBB_PROTOCOL if it nests deeper than depth_max.
 */
int ebb_value_scan(const char *text, size_t n, size_t values_max,
                   size_t depth_max, ebb_err *err);
