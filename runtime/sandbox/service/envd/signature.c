/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/signature.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/digest.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define VERSION "v1_"

/* Two URLs' worth: no request head is longer. */
#define SIGNED_BYTES_MAX ((size_t)128 << 10)

int ebb_signature_write(const ebb_signature *signature,
                        char out[EBB_SIGNATURE_BYTES], ebb_err *err)
{
    ebb_buf text;
    int rc;

    ebb_buf_init(&text, SIGNED_BYTES_MAX);
    ebb_buf_printf(&text, "%s:%s:%s:%s", signature->path, signature->op,
                   signature->user, signature->token);
    if (signature->expires)
        ebb_buf_printf(&text, ":%" PRId64, signature->expiry_s);
    rc = ebb_buf_check(&text, "what a signature covers", err);
    if (rc == 0) {
        unsigned char hash[EBB_SHA256_BYTES];

        ebb_digest_sha256(text.bytes, text.n, hash);
        ebb_buf_reset(&text);
        ebb_buf_add_text(&text, VERSION);
        ebb_base64_write(&text, hash, sizeof hash);
        rc = ebb_buf_check(&text, "a signature", err);
    }
    if (rc == 0) {
        /* 32 bytes are 43 digits and one '=', which the URLs leave out. */
        memcpy(out, text.bytes, EBB_SIGNATURE_BYTES - 1);
        out[EBB_SIGNATURE_BYTES - 1] = '\0';
    }
    ebb_buf_clear(&text);
    return rc;
}

bool ebb_signature_matches(const ebb_signature *signature, const char *given)
{
    char right[EBB_SIGNATURE_BYTES];
    ebb_err err;

    return ebb_signature_write(signature, right, &err) == 0 &&
           ebb_digest_equal(right, given);
}
