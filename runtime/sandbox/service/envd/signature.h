/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The signatures of /files URLs (envd, version 1): who may read or write one
 * path until when, without the access token itself. It checks no request;
 * files.c and the router do.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define EBB_SIGNATURE_BYTES 47 /* "v1_", 43 of base64, NUL */

typedef struct ebb_signature {
    const char *path;  /* as it stands in the query, "" if absent */
    const char *op;    /* "read" or "write" */
    const char *user;  /* the query's username, "" if absent */
    const char *token; /* the sandbox's access token */
    bool expires;
    int64_t expiry_s; /* since 1970 */
} ebb_signature;

int ebb_signature_write(const ebb_signature *signature,
                        char out[EBB_SIGNATURE_BYTES], ebb_err *err);

/* Whether given is this signature; in constant time. */
bool ebb_signature_matches(const ebb_signature *signature, const char *given);
