/* SPDX-License-Identifier: MIT */
#include "task/place.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 128

static void write_path(const ebb_place *at, char *out, size_t room)
{
    size_t n;

    if (at->up == NULL) {
        snprintf(out, room, "%s", at->name);
        return;
    }
    write_path(at->up, out, room);
    n = strlen(out);
    if (at->name == NULL)
        snprintf(out + n, room - n, "[%zu]", at->index);
    else
        snprintf(out + n, room - n, "%s%s", at->up->up ? "." : ": ", at->name);
}

ebb_value *ebb_place_wrong(const ebb_place *at, ebb_err *err, const char *fmt,
                           ...)
{
    char path[PATH_BYTES], what[EBB_ERR_MSG_BYTES];
    va_list args;

    write_path(at, path, sizeof path);
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    ebb_err_set(err, EBB_INVALID_INPUT, "%s: %s", path, what);
    return NULL;
}

const char *ebb_place_shown(const char *text, char out[EBB_SHOWN_BYTES])
{
    size_t n = strlen(text);

    if (n >= EBB_SHOWN_BYTES) {
        n = EBB_SHOWN_BYTES - 1;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
            n--;
    }
    memcpy(out, text, n);
    out[n] = '\0';
    return out;
}
