/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The headers of a file's answer, as Go's http.ServeContent writes them: type,
 * disposition, date, range. Pure functions over text; no file is touched.
 */

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define EBB_FILES_SNIFF_BYTES 512
#define EBB_FILES_DATE_BYTES  32

/* By the name's extension, else by the first bytes. Static. */
const char *ebb_files_type(const char *name, const char *bytes, size_t n);

/* Content-Disposition: inline, with the file's name. */
void ebb_files_write_disposition(const char *name, ebb_buf *out);

/* An HTTP date (RFC 9110, 5.6.7). */
void ebb_files_write_date(time_t when, char out[EBB_FILES_DATE_BYTES]);

typedef enum ebb_files_range {
    EBB_FILES_WHOLE, /* no range, or one that is ignored */
    EBB_FILES_PART,
    EBB_FILES_UNSATISFIABLE
} ebb_files_range;

/* One range of bytes over size; several, and other units, are ignored. */
ebb_files_range ebb_files_parse_range(const char *header, uint64_t size,
                                      uint64_t *offset, uint64_t *length);

/* Whether Accept-Encoding (NULL: absent) lets the bytes go as they are. */
bool ebb_files_takes_identity(const char *header);
