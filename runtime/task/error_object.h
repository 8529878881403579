/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The error of a failed task as the value that callers, scripts and the
 * journal see; its members are listed at ebb_call in ebb.h. It decides
 * nothing.
 */

#include "base/err.h"
#include "base/value.h"

/* details moves, also on failure. NULL: no memory. */
ebb_value *ebb_error_object(const char *task, const ebb_value *input,
                            const ebb_err *err, int attempts,
                            ebb_value *details);

/* The way back, for an object that was recorded; EBB_SCRIPT if it has no code
 * that this version knows. */
void ebb_error_from_object(const ebb_value *object, ebb_err *err);
