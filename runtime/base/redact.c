/* SPDX-License-Identifier: MIT */
#include "base/redact.h"

#include <stdbool.h>
#include <string.h>

#define MASK "***"

/* Messages have spaces where control characters were. */
static bool same(char shown, char secret)
{
    unsigned char c = (unsigned char)secret;

    return shown == secret || (shown == ' ' && (c < ' ' || c == 0x7F));
}

/*
 * How much of text is the secret: all of it, or a beginning of bytes_min
 * bytes or more that the text ends in. 0: nothing.
 */
static size_t match(const char *text, const char *secret, size_t bytes_min)
{
    size_t n = 0;

    while (text[n] != '\0' && secret[n] != '\0' && same(text[n], secret[n]))
        n++;
    if (secret[n] == '\0' || (text[n] == '\0' && n >= bytes_min))
        return n;
    return 0;
}

void ebb_redact(char *text, const char *secret, size_t bytes_min)
{
    char *to = text;

    if (secret == NULL || strlen(secret) < bytes_min)
        return;
    while (*text != '\0') {
        size_t n = match(text, secret, bytes_min);
        if (n == 0) {
            *to++ = *text++;
            continue;
        }
        memcpy(to, MASK, sizeof MASK - 1);
        to += sizeof MASK - 1;
        text += n;
    }
    *to = '\0';
}
