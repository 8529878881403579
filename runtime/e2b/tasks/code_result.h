/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What runCode gives back, gathered from events as they come, each part within
 * its bound from the start: stdout, stderr, text results that share one budget,
 * pictures, the error.
 */

#include "base/value.h"
#include "e2b/job.h"
#include "e2b/tasks/picture.h"
#include "task/bounded.h"

typedef struct ebb_e2b_code_result {
    size_t result_bytes_max, artifact_bytes_max, output_bytes_max;
    ebb_bounded out, err;       /* stdout and stderr */
    ebb_value *execution_count; /* or NULL */
    ebb_value *texts;           /* BoundedText of each text result */
    ebb_value *artifacts;
    ebb_value *error; /* or NULL */
    size_t too_large; /* bytes of the first artifact beyond a limit */

    /* Of the event under way; those that have not begun are zeroed. */
    ebb_bounded text, name, value, traceback;
    ebb_e2b_picture picture;
} ebb_e2b_code_result;

int ebb_e2b_code_result_init(ebb_e2b_code_result *result,
                             const ebb_value *input, ebb_err *err);
void ebb_e2b_code_result_clear(ebb_e2b_code_result *result);

/* As ebb_e2b_execution's on_text, on_number and on_event. */
int ebb_e2b_code_result_text(void *result, const char *type, const char *name,
                             const char *bytes, size_t n, ebb_err *err);
int ebb_e2b_code_result_number(void *result, const char *type, const char *name,
                               int64_t number, ebb_err *err);
int ebb_e2b_code_result_event(void *result, const char *type, ebb_err *err);

/* What each of n text results may have of the budget. */
size_t ebb_e2b_code_result_share(const ebb_e2b_code_result *result, size_t n);

/*
 * The result, or NULL with err: EBB_LIMIT_EXCEEDED for an artifact that is too
 * large or that the cap has no room for. Ends the result either way.
 */
ebb_value *ebb_e2b_code_result_take(ebb_e2b_code_result *result,
                                    const ebb_e2b_job *job, ebb_err *err,
                                    ebb_value **details);

/* What there is so far, for the details of an error. */
ebb_value *ebb_e2b_code_result_details(ebb_e2b_code_result *result);
