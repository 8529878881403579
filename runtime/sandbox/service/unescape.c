/* SPDX-License-Identifier: MIT */
#include "sandbox/service/unescape.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ebb_unescape(char *text)
{
    char *out = text;

    while (*text != '\0') {
        if (*text == '%') {
            int high = digit(text[1]);
            int low = high >= 0 ? digit(text[2]) : -1;

            if (low < 0 || high + low == 0)
                return false;
            *out++ = (char)(unsigned char)(high << 4 | low);
            text += 3;
        } else {
            if (*text == '+')
                *text = ' ';
            *out++ = *text++;
        }
    }
    *out = '\0';
    return true;
}
