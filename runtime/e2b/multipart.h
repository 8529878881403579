/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The multipart/form-data (RFC 7578) that envd takes for several files: parts
 * named "file" whose filename is the whole path, as raw UTF-8.
 */

#include "base/buf.h"

#include <stdbool.h>

#define EBB_E2B_BOUNDARY_BYTES 33

/*
 * Whether envd reads a filename back as it was: it does not percent-decode,
 * and quotes, backslashes, semicolons and control characters have meanings
 * in the header.
 */
bool ebb_e2b_multipart_takes(const char *path);

/* Random, so that no content can hold it but by an accident of 2^-128. */
int ebb_e2b_multipart_boundary(char boundary[EBB_E2B_BOUNDARY_BYTES],
                               ebb_err *err);

/* What comes before and after each file's bytes, and at the end. */
int ebb_e2b_multipart_begin(ebb_buf *out, const char *boundary,
                            const char *path);
int ebb_e2b_multipart_end(ebb_buf *out, const char *boundary);
