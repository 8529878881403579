/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <limits.h>

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* No value has this bit, so that several are checked at once. */
#define NONE 0x80u

/* The value of a character of the standard or the URL alphabet, or NONE. */
static unsigned value_of(unsigned char c, bool strict)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26u;
    if (c >= '0' && c <= '9')
        return c - '0' + 52u;
    if (c == '+' || (!strict && c == '-'))
        return 62;
    if (c == '/' || (!strict && c == '_'))
        return 63;
    return NONE;
}

/* As value_of, by table: a decoder's time goes here. */
typedef struct table {
    unsigned char of[256];
} table;

static void fill(table *t, bool strict)
{
    for (unsigned c = 0; c < 256; c++)
        t->of[c] = (unsigned char)value_of((unsigned char)c, strict);
}

int ebb_base64_write(ebb_buf *out, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t length = (n + 2) / 3 * 4;
    char *to = ebb_buf_reserve(out, length);

    if (to == NULL)
        return -1;
    for (; n >= 3; n -= 3, p += 3) {
        *to++ = alphabet[p[0] >> 2];
        *to++ = alphabet[(p[0] & 3) << 4 | p[1] >> 4];
        *to++ = alphabet[(p[1] & 15) << 2 | p[2] >> 6];
        *to++ = alphabet[p[2] & 63];
    }
    if (n > 0) {
        unsigned char second = n == 2 ? p[1] : 0;

        *to++ = alphabet[p[0] >> 2];
        *to++ = alphabet[(p[0] & 3) << 4 | second >> 4];
        *to++ = alphabet[(second & 15) << 2];
        if (n == 1)
            to[-1] = '=';
        *to++ = '=';
    }
    ebb_buf_grew(out, length);
    return 0;
}

/*
 * How many characters of text stand for bytes, the padding left out; -1 if
 * length or padding are wrong.
 */
static long long digits_of(const char *text, size_t n, bool strict)
{
    size_t pad = 0;

    if (n > LLONG_MAX)
        return -1;
    while (pad < 2 && pad < n && text[n - 1 - pad] == '=')
        pad++;
    if ((strict || pad > 0) && n % 4 != 0)
        return -1;
    return (n - pad) % 4 == 1 ? -1 : (long long)(n - pad);
}

/* The last two or three characters. The bits they do not use must be 0. */
static bool parse_rest(const table *t, const unsigned char *p, size_t n,
                       bool strict, char *to)
{
    unsigned a = t->of[p[0]], b = t->of[p[1]], c = n == 3 ? t->of[p[2]] : 0;

    if (((a | b | c) & NONE) || (strict && (n == 2 ? b & 15 : c & 3) != 0))
        return false;
    to[0] = (char)(a << 2 | b >> 4);
    if (n == 3)
        to[1] = (char)((b & 15) << 4 | c >> 2);
    return true;
}

int ebb_base64_parse(ebb_buf *out, const char *text, size_t n, bool strict)
{
    const unsigned char *p = (const unsigned char *)text;
    long long digits = digits_of(text, n, strict);
    size_t left, rest;
    char *to;
    table t;

    if (digits < 0)
        return -1;
    left = (size_t)digits;
    rest = left % 4;
    to = ebb_buf_reserve(out, left / 4 * 3 + (rest > 0 ? rest - 1 : 0));
    if (to == NULL)
        return -1;
    fill(&t, strict);
    for (; left >= 4; left -= 4, p += 4) {
        unsigned a = t.of[p[0]], b = t.of[p[1]];
        unsigned c = t.of[p[2]], d = t.of[p[3]];

        if ((a | b | c | d) & NONE)
            return -1;
        *to++ = (char)(a << 2 | b >> 4);
        *to++ = (char)((b & 15) << 4 | c >> 2);
        *to++ = (char)((c & 3) << 6 | d);
    }
    if (rest > 0 && !parse_rest(&t, p, rest, strict, to))
        return -1;
    ebb_buf_grew(out, (size_t)digits / 4 * 3 + (rest > 0 ? rest - 1 : 0));
    return 0;
}

long long ebb_base64_length(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    long long digits = digits_of(text, n, true);
    unsigned any = 0, last;
    table t;

    if (digits <= 0)
        return digits;
    fill(&t, true);
    for (long long i = 0; i < digits; i++)
        any |= t.of[p[i]];
    last = t.of[p[digits - 1]];
    if ((any & NONE) || (digits % 4 == 2 && (last & 15) != 0) ||
        (digits % 4 == 3 && (last & 3) != 0))
        return -1;
    return digits / 4 * 3 + (digits % 4 > 0 ? digits % 4 - 1 : 0);
}
