/* SPDX-License-Identifier: MIT */
#pragma once

/* Where two values differ, in few short lines for people. */

#include "base/value.h"

#include <stdbool.h>

#define EBB_DIFF_LINES_MAX 6

/*
 * ["command: \"a\" → \"b\"", …], at most EBB_DIFF_LINES_MAX lines and one that
 * says how many more. *numbers_only: every difference is a number for a
 * number, or digits within a text. NULL: no memory.
 */
ebb_value *ebb_diff(const ebb_value *recorded, const ebb_value *asked,
                    bool *numbers_only);
