/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which sandboxes there are: identifiers, host uids, and a memory of the last
 * ones that ended, so that "not found" can say why.
 *
 * Invariant: no two sandboxes of the table share an id or, in a root service,
 * a uid.
 */

#include "base/err.h"
#include "sandbox/service/service.h"

#include <stdbool.h>

#define EBB_SANDBOXES_MAX 1000
#define EBB_GRAVES_MAX    512

ebb_graves *ebb_table_new_graves(void); /* ebb_mem_free */

ebb_sandbox *ebb_table_find(const ebb_service *service, const char *id);

/*
 * The templates that sandboxes may be made from, one root for all: the
 * constant that equals name, or NULL for another name or NULL.
 */
const char *ebb_table_find_template(const char *name);

/* Only "i" and 20 of [a-z0-9]. */
bool ebb_table_is_id(const char *id);

/* A new id, token and uid. EBB_LIMIT_EXCEEDED: too many sandboxes or uids. */
int ebb_table_name(ebb_service *service, ebb_sandbox *sandbox, bool secured,
                   ebb_err *err);

void ebb_table_add(ebb_service *service, ebb_sandbox *sandbox);

/* Takes it out of the table and remembers the cause of its end. */
void ebb_table_del(ebb_service *service, ebb_sandbox *sandbox,
                   const char *cause);

/* The same of one that never was in it; cause is kept, not copied. */
void ebb_table_add_grave(ebb_service *service, const char *id,
                         const char *cause);

/* When and why a sandbox that is gone ended; false if that is not known. */
bool ebb_table_find_grave(const ebb_service *service, const char *id,
                          int64_t *ended_ms, const char **cause);
