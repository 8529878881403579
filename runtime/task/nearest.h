/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * "Did you mean": how far a mistyped name is from a known one. It chooses
 * nothing; callers go through their own names.
 */

#include <stddef.h>

#define EBB_NEAREST_NONE ((size_t)-1)

/*
 * The number of single edits (insert, delete, replace, swap of neighbours)
 * between two names, letter case not counted; EBB_NEAREST_NONE when they are
 * too far apart, or too long, to be one name mistyped.
 */
size_t ebb_nearest_distance(const char *typed, const char *known);
