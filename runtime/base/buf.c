/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ROOM_MIN 64

void ebb_buf_init(ebb_buf *buf, size_t bytes_max)
{
    *buf = (ebb_buf){ .bytes_max = bytes_max };
}

void ebb_buf_clear(ebb_buf *buf)
{
    ebb_mem_free(buf->bytes);
    ebb_buf_init(buf, buf->bytes_max);
}

void ebb_buf_reset(ebb_buf *buf)
{
    buf->n = 0;
    buf->failed = false;
    buf->starved = false;
    if (buf->bytes != NULL)
        buf->bytes[0] = '\0';
}

static int fail(ebb_buf *buf, bool starved)
{
    buf->failed = true;
    buf->starved = starved;
    return -1;
}

static size_t limit(const ebb_buf *buf)
{
    return buf->bytes_max > 0 ? buf->bytes_max : SIZE_MAX - 1;
}

/* Doubles, so that a row of small writes costs amortised constant time. */
static size_t next_room(const ebb_buf *buf, size_t wanted)
{
    size_t room = buf->room < ROOM_MIN / 2     ? ROOM_MIN
                  : buf->room > limit(buf) / 2 ? limit(buf)
                                               : buf->room * 2;

    if (room < wanted)
        room = wanted;
    return room < limit(buf) ? room : limit(buf);
}

static int make_room(ebb_buf *buf, size_t n)
{
    size_t room;
    char *bytes;

    if (buf->failed)
        return -1;
    if (n > limit(buf) - buf->n)
        return fail(buf, false);
    if (buf->bytes != NULL && buf->n + n <= buf->room)
        return 0;
    room = next_room(buf, buf->n + n);
    bytes = ebb_mem_resize(buf->bytes, room + 1);
    if (bytes == NULL)
        return fail(buf, true);
    bytes[buf->n] = '\0';
    buf->bytes = bytes;
    buf->room = room;
    return 0;
}

int ebb_buf_add(ebb_buf *buf, const void *bytes, size_t n)
{
    if (make_room(buf, n) < 0)
        return -1;
    if (n > 0)
        memcpy(buf->bytes + buf->n, bytes, n);
    ebb_buf_grew(buf, n);
    return 0;
}

int ebb_buf_add_text(ebb_buf *buf, const char *text)
{
    return ebb_buf_add(buf, text, strlen(text));
}

int ebb_buf_add_byte(ebb_buf *buf, char byte)
{
    return ebb_buf_add(buf, &byte, 1);
}

int ebb_buf_printf(ebb_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    int n, result = -1;
    size_t room = buf->bytes == NULL || buf->failed ? 0 : buf->room - buf->n;

    va_start(args, fmt);
    va_copy(again, args);
    /* Often it fits at once; to only measure costs as much as to write. */
    n = vsnprintf(room > 0 ? buf->bytes + buf->n : NULL,
                  room > 0 ? room + 1 : 0, fmt, args);
    if (room > 0 && (n < 0 || (size_t)n > room))
        buf->bytes[buf->n] = '\0'; /* only a part of it was written */
    if (n < 0) {
        fail(buf, false);
    } else if (room > 0 && (size_t)n <= room) {
        buf->n += (size_t)n;
        result = 0;
    } else if (make_room(buf, (size_t)n) == 0) {
        vsnprintf(buf->bytes + buf->n, (size_t)n + 1, fmt, again);
        ebb_buf_grew(buf, (size_t)n);
        result = 0;
    }
    va_end(again);
    va_end(args);
    return result;
}

char *ebb_buf_reserve(ebb_buf *buf, size_t n)
{
    return make_room(buf, n) == 0 ? buf->bytes + buf->n : NULL;
}

void ebb_buf_grew(ebb_buf *buf, size_t n)
{
    assert(n <= buf->room - buf->n);
    buf->n += n;
    buf->bytes[buf->n] = '\0';
}

void ebb_buf_drop(ebb_buf *buf, size_t n)
{
    assert(n <= buf->n);
    if (n == 0)
        return;
    buf->n -= n;
    memmove(buf->bytes, buf->bytes + n, buf->n + 1);
}

char *ebb_buf_take(ebb_buf *buf)
{
    char *bytes;

    if (make_room(buf, 0) < 0)
        return NULL;
    bytes = buf->bytes;
    ebb_buf_init(buf, buf->bytes_max);
    return bytes;
}

int ebb_buf_check(const ebb_buf *buf, const char *what, ebb_err *err)
{
    if (!buf->failed)
        return 0;
    if (buf->starved || buf->bytes_max == 0)
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for %s", what);
    return ebb_err_set(err, EBB_LIMIT_EXCEEDED, "%s is longer than %zu bytes",
                       what, buf->bytes_max);
}
