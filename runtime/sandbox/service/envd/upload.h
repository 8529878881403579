/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * POST /files, as its files share it: upload.c reads the request,
 * upload_file.c writes one file, upload_metadata.c reads the X-Metadata-*
 * headers, which become user.e2b.* attributes of every file.
 *
 * What was written before a failure stays, as on E2B: who wants all or nothing
 * uploads aside and moves.
 */

#include "base/buf.h"
#include "base/err.h"
#include "net/gzip.h"
#include "net/http_server.h"
#include "sandbox/service/envd/envd.h"
#include "sandbox/service/envd/multipart.h"

#define EBB_UPLOAD_KEY_BYTES_MAX      246u
#define EBB_UPLOAD_METADATA_BYTES_MAX 4096u

/*
 * Appends "key\0value\0…" without the last NUL of the whole; keys in lower
 * case. EBB_INVALID_INPUT for what is not printable ASCII, or too long.
 */
int ebb_upload_read_metadata(const ebb_exchange *exchange, ebb_buf *out,
                             ebb_err *err);

/* One upload: a raw body, or the parts of a form. Owned by its call. */
typedef struct ebb_upload {
    ebb_envd_call *call;
    char *path; /* of the query, absolute; NULL: each part's filename */
    ebb_multipart *multipart; /* NULL: a raw body */
    ebb_gunzip *gunzip;       /* NULL: not compressed */
    ebb_buf raw;              /* compressed, waiting for the next slice */
    bool waiting;             /* for a file to be opened */
    bool body_ended;
    unsigned settling; /* attributes being set */
    int fd;            /* of the file being written; -1: none */
    char *part_path;   /* of that file */
    ebb_buf metadata;
    ebb_value *written; /* what the answer will say */
} ebb_upload;

/* ---- upload_file.c ---- */

int ebb_upload_write(ebb_upload *upload, const char *bytes, size_t n,
                     ebb_err *err);

/* Closes the file, if one is open, and notes it for the answer. */
int ebb_upload_close_file(ebb_upload *upload, ebb_err *err);

/* What a failed opening means for the client. Returns -1. */
int ebb_upload_explain(const ebb_upload *upload, const ebb_err *why,
                       ebb_err *err);
