/* SPDX-License-Identifier: MIT */
/* A kernel's pipe gives the same bytes and lines however it is cut. */
#include "targets.h"

#include <string.h>

#include "sandbox/service/interpreter/frames.h"

typedef struct heard {
    ebb_buf raw, lines;
} heard;

static void on_raw(void *context, const char *bytes, size_t n)
{
    ebb_buf_add(&((heard *)context)->raw, bytes, n);
}

static void on_line(void *context, const char *line, size_t n)
{
    heard *h = context;

    ebb_buf_add(&h->lines, line, n);
    ebb_buf_printf(&h->lines, "\n@%zu ", h->raw.n);
}

static int hear(heard *h, const char *bytes, size_t n, size_t step)
{
    ebb_frames_sink sink = { on_raw, on_line, h };
    ebb_frames frames;
    ebb_err err = { 0 };
    int failed = 0;

    ebb_frames_init(&frames, "0123456789abcdef", &sink);
    for (size_t at = 0; at < n && !failed; at += step)
        failed = ebb_frames_add(&frames, bytes + at,
                                n - at < step ? n - at : step, &err);
    ebb_frames_clear(&frames);
    return failed;
}

static bool same(const ebb_buf *a, const ebb_buf *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->bytes, b->bytes, a->n) == 0);
}

void ebb_fuzz_frames(const uint8_t *bytes, size_t n)
{
    const char *text = (const char *)bytes;
    heard whole = { 0 }, cut = { 0 };

    ebb_fuzz_hold(hear(&whole, text, n, n + 1) ==
                      hear(&cut, text, n, ebb_fuzz_step(bytes, n)),
                  "both fail or none");
    ebb_fuzz_hold(same(&whole.raw, &cut.raw) && same(&whole.lines, &cut.lines),
                  "the same bytes and lines however it is cut");
    ebb_buf_clear(&whole.raw);
    ebb_buf_clear(&whole.lines);
    ebb_buf_clear(&cut.raw);
    ebb_buf_clear(&cut.lines);
}
