/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include "base/digest.h"

/*
 * n - 1 random characters of the first `size` of alphabet. Bytes at and above
 * the largest multiple of size are drawn again: each character is as likely.
 */
static int draw(char *out, size_t n, unsigned size, ebb_err *err)
{
    static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    unsigned char pool[64];
    size_t made = 0;

    while (made + 1 < n) {
        if (ebb_digest_random(pool, sizeof pool, err) < 0)
            return -1;
        for (size_t i = 0; i < sizeof pool && made + 1 < n; i++)
            if (pool[i] < 256 / size * size)
                out[made++] = alphabet[pool[i] % size];
    }
    if (n > 0)
        out[made] = '\0';
    return 0;
}

int ebb_id_random(char *out, size_t n, ebb_err *err)
{
    return draw(out, n, 36, err);
}

int ebb_id_hex(char *out, size_t n, ebb_err *err)
{
    return draw(out, n, 16, err);
}

void ebb_id_uuid(const unsigned char random[16], char out[EBB_ID_UUID_BYTES])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 16; i++) {
        unsigned char byte = random[i];

        if (i == 6) /* version 4 */
            byte = (unsigned char)((byte & 0x0F) | 0x40);
        if (i == 8) /* variant 10 */
            byte = (unsigned char)((byte & 0x3F) | 0x80);
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    *out = '\0';
}
