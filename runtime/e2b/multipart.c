/* SPDX-License-Identifier: MIT */
#include "e2b/multipart.h"

#include <string.h>

#include "base/id.h"

bool ebb_e2b_multipart_takes(const char *path)
{
    for (const char *c = path; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            return false;
    return strpbrk(path, "%;\\\"'") == NULL;
}

int ebb_e2b_multipart_boundary(char boundary[EBB_E2B_BOUNDARY_BYTES],
                               ebb_err *err)
{
    return ebb_id_hex(boundary, EBB_E2B_BOUNDARY_BYTES, err);
}

int ebb_e2b_multipart_begin(ebb_buf *out, const char *boundary,
                            const char *path)
{
    ebb_buf_add_text(out, out->n > 0 ? "\r\n--" : "--");
    ebb_buf_add_text(out, boundary);
    ebb_buf_add_text(out, "\r\nContent-Disposition: form-data; "
                          "name=\"file\"; filename=\"");
    ebb_buf_add_text(out, path);
    return ebb_buf_add_text(
        out, "\"\r\nContent-Type: application/octet-stream\r\n\r\n");
}

int ebb_e2b_multipart_end(ebb_buf *out, const char *boundary)
{
    return ebb_buf_printf(out, "\r\n--%s--\r\n", boundary);
}
