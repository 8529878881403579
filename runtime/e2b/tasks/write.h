/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A writeFiles under way, shared by its two halves: task_write sends the
 * files, write_end says what an answer, or the lack of one, means for each.
 */

#include "e2b/job.h"
#include "e2b/multipart.h"

/* What is known of a file at the sandbox. */
typedef enum ebb_e2b_fate {
    EBB_E2B_NOT_SENT, /* or refused whole: it is as it was before */
    EBB_E2B_SENT,     /* it may be written, or in part */
    EBB_E2B_WRITTEN   /* the server has said so */
} ebb_e2b_fate;

typedef struct ebb_e2b_file {
    const ebb_value *name; /* of the input: its path */
    const char *path;
    const char *bytes; /* the input's, or decoded */
    size_t n;
    char *decoded; /* owned, or NULL */
    ebb_e2b_fate fate;
} ebb_e2b_file;

typedef struct ebb_e2b_writing {
    ebb_e2b_job job;
    ebb_e2b_file *files;
    size_t count;
    ebb_e2b_form form;    /* of the request under way, or */
    ebb_http_piece bytes; /* of its one file */
    size_t first, asked;  /* of files: those of the request under way */
    bool together;        /* all in one request */
    bool sending;         /* the job's transfer is that request */
    ebb_e2b_job_fn *next; /* sends the request from first on */
} ebb_e2b_writing;

/* The request under way is over: sends the next one or ends the job. */
void ebb_e2b_writing_done(ebb_e2b_writing *w, ebb_e2b_transfer *transfer,
                          const ebb_err *failure);

/* The job's details: {written, mayBeWritten}, NULL if nothing was touched. */
ebb_value *ebb_e2b_writing_details(const ebb_e2b_job *job);

/* Ends the job with outcome_unknown. */
void ebb_e2b_writing_unknown(ebb_e2b_writing *w, const char *why);
