/* SPDX-License-Identifier: MIT */
/* The lines of /execute give the same events however they are cut. */
#include "targets.h"

#include <inttypes.h>
#include <string.h>

#include "e2b/interpreter.h"

static int on_text(void *context, const char *type, const char *name,
                   const char *bytes, size_t n, ebb_err *err)
{
    ebb_buf_printf(context, "%s.%s ", type, name);
    ebb_buf_add(context, bytes, n);
    return ebb_buf_check(context, "what was told", err);
}

static int on_number(void *context, const char *type, const char *name,
                     int64_t number, ebb_err *err)
{
    ebb_buf_printf(context, "%s.%s %" PRId64 "\n", type, name, number);
    return ebb_buf_check(context, "what was told", err);
}

static int on_event(void *context, const char *type, ebb_err *err)
{
    ebb_buf_printf(context, "%s\n", type);
    return ebb_buf_check(context, "what was told", err);
}

/* Into said; returns whether all of it was such a stream. */
static int hear(const char *bytes, size_t n, size_t step, ebb_buf *said)
{
    ebb_e2b_execution execution;
    ebb_err err = { 0 };
    int failed = 0;

    ebb_buf_init(said, 0);
    ebb_e2b_execution_init(&execution, said);
    execution.on_text = on_text;
    execution.on_number = on_number;
    execution.on_event = on_event;
    for (size_t at = 0; at < n && !failed; at += step)
        failed = ebb_e2b_execution_add(&execution, bytes + at,
                                       n - at < step ? n - at : step, &err);
    if (!failed)
        failed = ebb_e2b_execution_finish(&execution, &err);
    ebb_e2b_execution_clear(&execution);
    return failed;
}

void ebb_fuzz_execution(const uint8_t *bytes, size_t n)
{
    ebb_buf whole, cut;

    ebb_fuzz_hold(
        hear((const char *)bytes, n, n + 1, &whole) ==
            hear((const char *)bytes, n, ebb_fuzz_step(bytes, n), &cut),
        "both fail or none");
    ebb_fuzz_hold(
        whole.n == cut.n &&
            (whole.n == 0 || memcmp(whole.bytes, cut.bytes, whole.n) == 0),
        "the same events however it is cut");
    ebb_buf_clear(&whole);
    ebb_buf_clear(&cut);
}
