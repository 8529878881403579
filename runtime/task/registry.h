/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The tasks by name: the twelve of E2B and a host's own. It starts nothing.
 */

#include "base/err.h"
#include "base/value.h"
#include "task/attempt.h"
#include "task/fields.h"
#include "task/retry.h"

#include <stddef.h>

typedef struct ebb_task {
    const char *name; /* "e2b.runCommand" */
    ebb_retry_class retry_class;
    const ebb_field *fields;
    size_t fields_count;
    /* What the fields cannot say of a checked input; NULL: nothing. */
    int (*check)(const ebb_value *input, ebb_err *err);
    ebb_attempt_fn *start; /* begins an attempt */
    const char *help;      /* one line */
    void *context;         /* handed to every attempt */
} ebb_task;

typedef struct ebb_registry ebb_registry;

ebb_registry *ebb_registry_new(ebb_err *err);
void ebb_registry_free(ebb_registry *registry);

/*
 * Adds a task; the struct is copied, what it points to is borrowed and must
 * outlive the registry. A name that exists is EBB_CONFLICT.
 */
int ebb_registry_add(ebb_registry *registry, const ebb_task *task,
                     ebb_err *err);

const ebb_task *ebb_registry_find(const ebb_registry *registry,
                                  const char *name);
size_t ebb_registry_count(const ebb_registry *registry);
const ebb_task *ebb_registry_at(const ebb_registry *registry, size_t index);

/* EBB_NOT_FOUND with the nearest name: for messages to people. */
int ebb_registry_unknown(const ebb_registry *registry, const char *name,
                         ebb_err *err);

/* [{name, class, attempts, help, fields}], or one of them. */
ebb_value *ebb_registry_describe(const ebb_registry *registry);
ebb_value *ebb_task_describe(const ebb_task *task);
