/* SPDX-License-Identifier: MIT */
#pragma once

/* Checks of inputs that several tasks share and a field cannot say. */

#include "base/err.h"
#include "base/value.h"

/* Names that an environment can hold, 1 MiB together; NULL is fine. */
int ebb_e2b_check_envs(const char *task, const ebb_value *envs, ebb_err *err);

/* A time in ms, rounded up. */
int64_t ebb_e2b_whole_ms(const ebb_value *number);
