/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Sandboxes as a control plane describes them, all made under the key "k1".
 */

#include "support/e2b_call.h"

#define BOX(id, state, started)                                                \
    "{\"sandboxID\":\"" id "\",\"templateID\":\"t\",\"state\":\"" state        \
    "\",\"startedAt\":\"" started "\",\"endAt\":\"2026-11-29T16:00:00Z\","     \
    "\"metadata\":{\"_render_tasks_idempotency_key\":\"k1\"}}"
#define MADE "{\"sandboxID\":\"inew\",\"templateID\":\"t\"}"
#define OLD  "2026-11-29T15:00:00Z"
#define NEW  "2026-11-29T15:00:09.5Z"
