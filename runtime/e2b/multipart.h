/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The multipart/form-data (RFC 7578) that envd takes for several files: parts
 * named "file" whose filename is the whole path, as raw UTF-8. It copies
 * neither paths nor contents: they and the form stay where they are until the
 * request that carries its pieces has ended.
 */

#include "net/http_client.h"

#include <stdbool.h>

#define EBB_E2B_BOUNDARY_BYTES 33

typedef struct ebb_e2b_form {
    char boundary[EBB_E2B_BOUNDARY_BYTES];
    char begin[128]; /* of a part, up to its path */
    char end[EBB_E2B_BOUNDARY_BYTES + 8];
    ebb_http_piece *pieces; /* owned */
    size_t count;
    size_t room;
} ebb_e2b_form;

/*
 * Whether envd reads a filename back as it was: it does not percent-decode,
 * and quotes, backslashes, semicolons and control characters have meanings
 * in the header.
 */
bool ebb_e2b_form_takes(const char *path);

/*
 * A form of so many parts, with a boundary so random that no content can hold
 * it but by an accident of 2^-128. -1 leaves it empty.
 */
int ebb_e2b_form_init(ebb_e2b_form *form, size_t parts, ebb_err *err);
void ebb_e2b_form_clear(ebb_e2b_form *form); /* also of a zeroed one */

/* The next part; the last one closes the form. */
void ebb_e2b_form_add(ebb_e2b_form *form, const char *path, const char *bytes,
                      size_t n);
