/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What each of the twelve tasks takes: data only. Limits that a field cannot
 * say are checked by the task before anything is sent.
 */

#include "task/fields.h"

#define EBB_E2B_TEXT_BYTES_MAX   1048576
#define EBB_E2B_BINARY_BYTES_MAX 2097152
#define EBB_E2B_COLLECTION_MAX   1000
#define EBB_E2B_WRITE_MAX        100 /* files of one writeFiles */

typedef struct ebb_e2b_fields {
    const ebb_field *fields;
    size_t count;
} ebb_e2b_fields;

extern const ebb_e2b_fields ebb_e2b_fields_create;
extern const ebb_e2b_fields ebb_e2b_fields_get;
extern const ebb_e2b_fields ebb_e2b_fields_pause;
extern const ebb_e2b_fields ebb_e2b_fields_resume;
extern const ebb_e2b_fields ebb_e2b_fields_kill;
extern const ebb_e2b_fields ebb_e2b_fields_command;
extern const ebb_e2b_fields ebb_e2b_fields_code;
extern const ebb_e2b_fields ebb_e2b_fields_write;
extern const ebb_e2b_fields ebb_e2b_fields_read;
extern const ebb_e2b_fields ebb_e2b_fields_list;
extern const ebb_e2b_fields ebb_e2b_fields_logs;
extern const ebb_e2b_fields ebb_e2b_fields_metrics;
