/* SPDX-License-Identifier: MIT */
#pragma once

/* A sandbox as E2B's JSON objects. Each returns NULL for want of memory. */

#include "base/value.h"
#include "sandbox/service/sandbox.h"

ebb_value *ebb_describe_sandbox(const ebb_sandbox *sandbox); /* create … */
ebb_value *ebb_describe_listed(const ebb_sandbox *sandbox);
ebb_value *ebb_describe_detail(const ebb_sandbox *sandbox);

/* What clients see: no sandbox that is still being created or killed. */
bool ebb_describe_is_shown(const ebb_sandbox *sandbox);
bool ebb_describe_is_running(const ebb_sandbox *sandbox);
