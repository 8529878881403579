/* SPDX-License-Identifier: MIT */
#pragma once

/* The input of a step: what it is compared by, and what the journal keeps. */

#include "base/digest.h"
#include "base/value.h"

/*
 * The digest of the canonical form, and the text to keep: the same, but the
 * values of environment variables ("envs"), which are secrets more often than
 * not, are left out. ebb_mem_free; NULL: no memory. value may be NULL.
 */
char *ebb_flow_input(const ebb_value *value, char digest[EBB_SHA256_HEX]);
