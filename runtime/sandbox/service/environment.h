/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The environment of a process that the service itself starts in a sandbox:
 * what every one has, unless the sandbox's own variables say otherwise.
 */

#include "base/value.h"

#define EBB_ENVIRONMENT_COUNT_MAX 1024

/*
 * "NAME=value" each, NULL-terminated; envs is an object of strings or NULL.
 * NULL: no memory, or more than EBB_ENVIRONMENT_COUNT_MAX.
 */
char **ebb_environment_new(const ebb_value *envs);
void ebb_environment_free(char **list);
