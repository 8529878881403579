/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/service/interpreter/frames.h"

#define NONCE "0123456789abcdef"
#define HEAD  "\x1e" NONCE

typedef struct seen {
    ebb_buf raw;
    ebb_buf lines; /* each ended by | */
} seen;

static void on_raw(void *context, const char *bytes, size_t n)
{
    assert_true(n > 0);
    ebb_buf_add(&((seen *)context)->raw, bytes, n);
}

static void on_line(void *context, const char *line, size_t n)
{
    assert_int_equal(strlen(line), n);
    ebb_buf_add(&((seen *)context)->lines, line, n);
    ebb_buf_add_byte(&((seen *)context)->lines, '|');
}

/* Feeds input in chunks of step bytes and compares what comes out. */
static void check_step(const char *input, size_t n, size_t step,
                       const char *raw, const char *lines)
{
    seen got = { 0 };
    ebb_frames frames;
    ebb_err err;
    ebb_frames_init(&frames, NONCE,
                    &(ebb_frames_sink){ on_raw, on_line, &got });
    for (size_t at = 0; at < n; at += step) {
        size_t piece = n - at < step ? n - at : step;
        assert_int_equal(ebb_frames_add(&frames, input + at, piece, &err), 0);
    }
    assert_string_equal(got.raw.bytes != NULL ? got.raw.bytes : "", raw);
    assert_string_equal(got.lines.bytes != NULL ? got.lines.bytes : "", lines);
    ebb_frames_clear(&frames);
    ebb_buf_clear(&got.raw);
    ebb_buf_clear(&got.lines);
}

static void check(const char *input, const char *raw, const char *lines)
{
    for (size_t step = 1; step <= strlen(input) + 1; step++) {
        check_step(input, strlen(input), step, raw, lines);
    }
}

static void passes_what_is_no_frame(void **state)
{
    (void)state;
    check("plain", "plain", "");
    check("\x1e\x1e" NONCE "zzzz.", "\x1e\x1e" NONCE "zzzz.", "");
    check("a\x1e"
          "0123x",
          "a\x1e"
          "0123x",
          "");
}

static void takes_frames_from_between(void **state)
{
    (void)state;
    check("a" HEAD "0003{}\nb", "ab", "{}|");
    check(HEAD "0003{}\n" HEAD "0004[1]\nz", "z", "{}|[1]|");
    /* A mark directly before a frame is the user's. */
    check("\x1e" HEAD "0003{}\n", "\x1e", "{}|");
}

static void joins_a_line_of_several_frames(void **state)
{
    (void)state;
    check(HEAD "0002{\""
               "out" HEAD "0005a\":1}" HEAD "0001\n",
          "out", "{\"a\":1}|");
    check(HEAD "0006a\nb\nc\n", "", "a|b|c|");
}

static void keeps_an_unfinished_head_and_an_empty_frame(void **state)
{
    (void)state;
    check("x" HEAD "00", "x", "");
    check(HEAD "0000y", "y", "");
}

static void refuses_a_line_past_its_bound(void **state)
{
    (void)state;
    char frame[EBB_FRAMES_HEAD_BYTES + 0xffff + 1];
    seen got = { 0 };
    ebb_frames frames;
    ebb_err err = { 0 };
    int status = 0;
    size_t sent = 0;
    snprintf(frame, sizeof frame, HEAD "ffff");
    memset(frame + EBB_FRAMES_HEAD_BYTES, 'x', 0xffff);
    ebb_frames_init(&frames, NONCE,
                    &(ebb_frames_sink){ on_raw, on_line, &got });
    while (status == 0 && sent < 2 * EBB_FRAMES_LINE_BYTES_MAX) {
        status = ebb_frames_add(&frames, frame, sizeof frame - 1, &err);
        sent += 0xffff;
    }
    assert_int_equal(status, -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    assert_true(sent > EBB_FRAMES_LINE_BYTES_MAX);
    assert_true(sent < EBB_FRAMES_LINE_BYTES_MAX + 0x20000);
    ebb_frames_clear(&frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_what_is_no_frame),
        cmocka_unit_test(takes_frames_from_between),
        cmocka_unit_test(joins_a_line_of_several_frames),
        cmocka_unit_test(keeps_an_unfinished_head_and_an_empty_frame),
        cmocka_unit_test(refuses_a_line_past_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
