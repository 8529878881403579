/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a field asks of a string beyond its type: its flags and its choices.
 * That it is UTF-8 is the value's own promise.
 */

#include "task/fields.h"
#include "task/place.h"

/* 0, or -1 with what is wrong at that place. */
int ebb_field_check_text(const ebb_place *at, const ebb_field *field,
                         const char *text, size_t n, ebb_err *err);
