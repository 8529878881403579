/* SPDX-License-Identifier: MIT */
#include "net/lines.h"

#include <string.h>

void ebb_lines_init(ebb_lines *lines, size_t line_bytes_max, ebb_lines_fn *fn,
                    void *context)
{
    *lines = (ebb_lines){ .fn = fn, .context = context };
    ebb_buf_init(&lines->held, line_bytes_max);
}

void ebb_lines_clear(ebb_lines *lines)
{
    ebb_buf_clear(&lines->held);
}

static int hold(ebb_lines *lines, const char *bytes, size_t n, ebb_err *err)
{
    if (ebb_buf_add(&lines->held, bytes, n) == 0)
        return 0;
    return ebb_buf_check(&lines->held, "a line", err);
}

/* The line begun so far is whole. */
static int give(ebb_lines *lines, ebb_err *err)
{
    ebb_buf *held = &lines->held;
    int status = lines->fn(lines->context, held->n == 0 ? "" : held->bytes,
                           held->n, err);

    ebb_buf_reset(held);
    return status;
}

int ebb_lines_add(ebb_lines *lines, const char *bytes, size_t n, ebb_err *err)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t part = end == NULL ? n : (size_t)(end - bytes);

        if (hold(lines, bytes, part, err) != 0)
            return -1;
        if (end == NULL)
            return 0;
        if (give(lines, err) != 0)
            return -1;
        bytes += part + 1;
        n -= part + 1;
    }
    return 0;
}

int ebb_lines_finish(ebb_lines *lines, ebb_err *err)
{
    return lines->held.n == 0 ? 0 : give(lines, err);
}
