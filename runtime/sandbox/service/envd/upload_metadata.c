/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/upload.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define PREFIX "X-Metadata-"

struct reading {
    ebb_buf *out;
    ebb_err *err;
    int rc;
};

/* The place of the first byte that is not printable ASCII, or -1. */
static int find_unprintable(const char *text)
{
    int i;

    for (i = 0; text[i]; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e)
            return i;
    }
    return -1;
}

static void read_one(void *context, const char *name, const char *value)
{
    struct reading *reading = context;
    const char *key = name + sizeof PREFIX - 1;
    int bad;

    if (reading->rc != 0 || strncasecmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return;
    bad = find_unprintable(value);
    if (!*key || strlen(key) > EBB_UPLOAD_KEY_BYTES_MAX)
        reading->rc =
            ebb_err_set(reading->err, EBB_INVALID_INPUT,
                        "metadata key is empty or longer than %u bytes",
                        EBB_UPLOAD_KEY_BYTES_MAX);
    else if (bad >= 0)
        reading->rc = ebb_err_set(
            reading->err, EBB_INVALID_INPUT,
            "metadata value for key \"%s\" contains non-printable-ASCII byte "
            "0x%02x at offset %d",
            key, (unsigned char)value[bad], bad);
    if (reading->rc != 0)
        return;
    for (; *key; key++)
        ebb_buf_add_byte(reading->out, (char)tolower((unsigned char)*key));
    ebb_buf_add_byte(reading->out, '\0');
    ebb_buf_add(reading->out, value, strlen(value) + 1);
    if (reading->out->failed)
        reading->rc = ebb_err_set(reading->err, EBB_INVALID_INPUT,
                                  "metadata is longer than %u bytes",
                                  EBB_UPLOAD_METADATA_BYTES_MAX);
}

int ebb_upload_read_metadata(const ebb_exchange *exchange, ebb_buf *out,
                             ebb_err *err)
{
    struct reading reading = { .out = out, .err = err, .rc = 0 };

    ebb_exchange_headers(exchange, read_one, &reading);
    return reading.rc;
}
