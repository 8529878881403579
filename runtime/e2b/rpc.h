/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Calls of envd by the Connect protocol in its binary form: the request's
 * headers and limits. Messages belong to process and filesystem.
 */

#include "e2b/job.h"

typedef struct ebb_e2b_rpc {
    const char *path; /* "/process.Process/Start" */
    const ebb_buf *message;
    bool is_stream;
    bool waits;         /* a unary call that may last as long as the command */
    int64_t timeout_ms; /* of a stream, enforced by the server; 0: none */
    const char *user;   /* or NULL: the default user */
    size_t answer_max;  /* of a unary answer */

    void *context;
    void (*before_body)(void *context); /* as ebb_e2b_transfer_config's */
    int (*on_body)(void *context, const char *bytes, size_t n);
    void (*on_done)(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *err);
} ebb_e2b_rpc;

/* To the job's target. The transfer is the caller's to keep or to cancel. */
ebb_e2b_transfer *ebb_e2b_rpc_start(ebb_e2b_job *job, const ebb_e2b_rpc *rpc,
                                    ebb_err *err);
