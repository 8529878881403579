/* SPDX-License-Identifier: MIT */
/* The stream of a command gives the same events however it is cut. */
#include "targets.h"

#include <string.h>

#include "base/buf.h"
#include "e2b/process.h"

typedef struct heard {
    ebb_e2b_process process;
    ebb_buf said; /* what was told, in order */
    int failed;
    ebb_err err;
} heard;

static void on_start(void *context)
{
    heard *h = context;

    ebb_buf_printf(&h->said, "start %u\n", (unsigned)h->process.pid);
}

static void on_output(void *context, int stream, const char *bytes, size_t n)
{
    heard *h = context;

    ebb_buf_printf(&h->said, "%d %zu ", stream, n);
    ebb_buf_add(&h->said, bytes, n);
}

static void hear(heard *h, const char *bytes, size_t n, size_t step)
{
    *h = (heard){ 0 };
    ebb_buf_init(&h->said, 0);
    ebb_e2b_process_init(&h->process, h);
    h->process.on_start = on_start;
    h->process.on_output = on_output;
    for (size_t at = 0; at < n && !h->failed; at += step)
        h->failed = ebb_e2b_process_add(&h->process, bytes + at,
                                        n - at < step ? n - at : step, &h->err);
}

static void forget(heard *h)
{
    ebb_e2b_process_clear(&h->process);
    ebb_buf_clear(&h->said);
}

void ebb_fuzz_connect(const uint8_t *bytes, size_t n)
{
    const char *text = (const char *)bytes;
    heard whole, cut;
    char signal[16];

    hear(&whole, text, n, n + 1);
    hear(&cut, text, n, ebb_fuzz_step(bytes, n));
    ebb_fuzz_hold(whole.failed == cut.failed, "both fail or none");
    ebb_fuzz_hold(strcmp(whole.err.msg, cut.err.msg) == 0, "one message");
    ebb_fuzz_hold(
        whole.said.n == cut.said.n &&
            (whole.said.n == 0 ||
             memcmp(whole.said.bytes, cut.said.bytes, whole.said.n) == 0),
        "the same events however it is cut");
    ebb_fuzz_hold(whole.process.finished == cut.process.finished &&
                      whole.process.code == cut.process.code &&
                      whole.process.exit_code == cut.process.exit_code,
                  "the same end however it is cut");
    ebb_e2b_process_signal(&whole.process, signal);
    forget(&whole);
    forget(&cut);
}
