/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

void ebb_digest_sha256(const void *bytes, size_t n,
                       unsigned char out[EBB_SHA256_BYTES])
{
    SHA256(bytes, n, out);
}

void ebb_digest_hex(const void *bytes, size_t n, char out[EBB_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EBB_SHA256_BYTES];

    ebb_digest_sha256(bytes, n, sum);
    for (size_t i = 0; i < sizeof sum; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[EBB_SHA256_HEX - 1] = '\0';
}

bool ebb_digest_equal(const char *a, const char *b)
{
    size_t n = strlen(a);

    return n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0;
}

int ebb_digest_random(void *bytes, size_t n, ebb_err *err)
{
    char *to = bytes;

    while (n > 0) {
        ssize_t got = getrandom(to, n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ebb_err_set_errno(err, EBB_UNSUPPORTED,
                                     "the kernel gives no random bytes");
        to += got;
        n -= (size_t)got;
    }
    return 0;
}
