/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/picture.h"

#include <string.h>

#include "base/base64.h"
#include "e2b/tasks/result.h"

void ebb_e2b_picture_clear(ebb_e2b_picture *picture)
{
    ebb_buf_clear(&picture->base64);
    *picture = (ebb_e2b_picture){ 0 };
}

static void begin(ebb_e2b_picture *picture, const char *type, size_t bytes_max)
{
    ebb_e2b_picture_clear(picture);
    picture->type = type;
    ebb_buf_init(&picture->base64, (bytes_max + 2) / 3 * 4);
}

/* What does not fit is counted: too large a picture is not kept at all. */
static int keep(ebb_e2b_picture *picture, const char *digits, size_t n,
                ebb_err *err)
{
    ebb_buf *base64 = &picture->base64;

    picture->digits += n;
    if (picture->digits > base64->bytes_max) {
        ebb_buf_reset(base64);
        return 0;
    }
    ebb_buf_add(base64, digits, n);
    return ebb_buf_check(base64, "a picture", err);
}

int ebb_e2b_picture_add(ebb_e2b_picture *picture, const char *name,
                        const char *bytes, size_t n, size_t bytes_max,
                        ebb_err *err)
{
    const char *type = strcmp(name, "png") == 0 ? "image/png" : "image/jpeg";
    bool has_png =
        picture->type != NULL && strcmp(picture->type, "image/png") == 0;

    if (has_png && strcmp(name, "png") != 0)
        return 0;
    if (picture->type == NULL || strcmp(picture->type, type) != 0)
        begin(picture, type, bytes_max);
    while (n > 0) {
        size_t run = 0;
        while (run < n && strchr("\r\n ", bytes[run]) == NULL)
            run++;
        if (keep(picture, bytes, run, err) != 0)
            return -1;
        run += run < n;
        bytes += run;
        n -= run;
    }
    return 0;
}

size_t ebb_e2b_picture_bytes(const ebb_e2b_picture *picture)
{
    const ebb_buf *base64 = &picture->base64;
    size_t bytes = picture->digits / 4 * 3;

    if (base64->n > 0 && base64->bytes[base64->n - 1] == '=')
        bytes--;
    if (base64->n > 1 && base64->bytes[base64->n - 2] == '=')
        bytes--;
    return bytes;
}

ebb_value *ebb_e2b_picture_value(const ebb_e2b_picture *picture,
                                 size_t bytes_max, ebb_err *err)
{
    const ebb_buf *base64 = &picture->base64;
    const char *digits = base64->n > 0 ? base64->bytes : "";
    long long n = ebb_base64_length(digits, base64->n);
    ebb_value *out;

    if (n < 0) {
        ebb_err_set(err, EBB_PROTOCOL, "a picture of the code is not base64");
        return NULL;
    }
    out = ebb_e2b_result_with(ebb_value_object(), "base64",
                              ebb_value_string(digits, base64->n));
    out =
        ebb_e2b_result_with(out, "contentType", ebb_value_text(picture->type));
    out = ebb_e2b_result_with(out, "byteCount", ebb_value_int(n));
    out =
        ebb_e2b_result_with(out, "maxBytes", ebb_value_int((int64_t)bytes_max));
    out = ebb_e2b_result_with(out, "truncated", ebb_value_bool(false));
    if (out == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "result of code");
    return out;
}
