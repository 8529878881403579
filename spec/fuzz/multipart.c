/* SPDX-License-Identifier: MIT */
/*
 * An upload gives the same parts however it is cut and when it is paused at
 * each. The first line is the content type.
 */
#include "targets.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/service/envd/multipart.h"

typedef struct heard {
    ebb_buf said;
    ebb_multipart *paused; /* at each part, or NULL */
} heard;

static int on_part(void *context, const char *name, const char *filename,
                   ebb_err *err)
{
    heard *h = context;

    ebb_buf_printf(&h->said, "%s|%s:", name ? name : "-",
                   filename ? filename : "-");
    if (h->paused != NULL)
        ebb_multipart_pause(h->paused);
    return ebb_buf_check(&h->said, "what was told", err);
}

static int on_bytes(void *context, const char *bytes, size_t n, ebb_err *err)
{
    heard *h = context;

    ebb_buf_add(&h->said, bytes, n);
    return ebb_buf_check(&h->said, "what was told", err);
}

static int on_part_end(void *context, ebb_err *err)
{
    heard *h = context;

    ebb_buf_add_byte(&h->said, ';');
    return ebb_buf_check(&h->said, "what was told", err);
}

static int hear(heard *h, const char *type, const char *body, size_t n,
                size_t step)
{
    static const ebb_multipart_sink sink = { on_part, on_bytes, on_part_end };
    bool pauses = h->paused != NULL;
    ebb_err err = { 0 };
    ebb_multipart *m = ebb_multipart_new(type, &sink, h, &err);
    int failed = m == NULL ? -1 : 0;

    if (pauses)
        h->paused = m;
    for (size_t at = 0; at < n && !failed; at += step) {
        failed = ebb_multipart_add(m, body + at, n - at < step ? n - at : step,
                                   &err);
        /* Each part takes more than four bytes of the body. */
        for (size_t i = 0; pauses && !failed && i <= step / 4; i++)
            failed = ebb_multipart_resume(m, &err);
    }
    if (!failed)
        failed = ebb_multipart_finish(m, &err);
    ebb_multipart_free(m);
    return failed;
}

void ebb_fuzz_multipart(const uint8_t *bytes, size_t n)
{
    const char *text = (const char *)bytes;
    const char *line = n > 0 ? memchr(text, '\n', n) : NULL;
    heard whole = { 0 }, cut = { 0 };
    char *type;

    if (line == NULL)
        return;
    type = ebb_mem_dup_n(text, (size_t)(line - text));
    n -= (size_t)(line + 1 - text);
    cut.paused = (ebb_multipart *)&cut; /* any: hear puts it right */
    ebb_fuzz_hold(hear(&whole, type, line + 1, n, n + 1) ==
                      hear(&cut, type, line + 1, n,
                           ebb_fuzz_step((const uint8_t *)line + 1, n)),
                  "both fail or none");
    ebb_fuzz_hold(
        whole.said.n == cut.said.n &&
            (whole.said.n == 0 ||
             memcmp(whole.said.bytes, cut.said.bytes, whole.said.n) == 0),
        "the same parts however it is cut");
    ebb_mem_free(type);
    ebb_buf_clear(&whole.said);
    ebb_buf_clear(&cut.said);
}
