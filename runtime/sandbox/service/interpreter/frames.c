/* SPDX-License-Identifier: MIT */
#include "sandbox/service/interpreter/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK       '\x1e'
#define MARK_BYTES 17 /* the mark and the nonce */

/* A buffer that once held a long line is not kept. */
#define LINE_BYTES_KEPT 65536

void ebb_frames_init(ebb_frames *frames,
                     const char nonce[EBB_FRAMES_NONCE_BYTES],
                     const ebb_frames_sink *sink)
{
    *frames = (ebb_frames){ .sink = *sink };
    snprintf(frames->head, sizeof frames->head, "%c%s", MARK, nonce);
    ebb_buf_init(&frames->line, EBB_FRAMES_LINE_BYTES_MAX);
}

void ebb_frames_clear(ebb_frames *frames)
{
    ebb_buf_clear(&frames->line);
    frames->seen_n = 0;
    frames->left = 0;
}

static void raw(ebb_frames *frames, const char *bytes, size_t n)
{
    if (n > 0) {
        frames->sink.on_raw(frames->sink.context, bytes, n);
    }
}

/* Whether byte may come next in a head. */
static bool fits(const ebb_frames *frames, char byte)
{
    if (frames->seen_n < MARK_BYTES) {
        return byte == frames->head[frames->seen_n];
    }
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

/*
 * Takes one byte while a head may have begun; false when it turns out to be
 * none. A head that began in an earlier chunk was then the user's.
 */
static bool take_head(ebb_frames *frames, char byte)
{
    if (!fits(frames, byte)) {
        size_t n = frames->carried ? frames->seen_n : 0;
        frames->seen_n = 0;
        frames->carried = false;
        raw(frames, frames->seen, n);
        return false;
    }
    frames->seen[frames->seen_n++] = byte;
    return true;
}

/* The head is complete: a frame of left bytes follows. */
static void begin_frame(ebb_frames *frames)
{
    frames->seen[frames->seen_n] = '\0';
    frames->left = strtoul(frames->seen + MARK_BYTES, NULL, 16);
    frames->seen_n = 0;
    frames->carried = false;
}

static void end_line(ebb_frames *frames)
{
    const char *line = frames->line.bytes != NULL ? frames->line.bytes : "";
    frames->sink.on_line(frames->sink.context, line, frames->line.n);
    if (frames->line.room > LINE_BYTES_KEPT) {
        ebb_buf_clear(&frames->line);
    } else {
        ebb_buf_reset(&frames->line);
    }
}

static int take_frame(ebb_frames *frames, const char *bytes, size_t n,
                      ebb_err *err)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t piece = end != NULL ? (size_t)(end - bytes) : n;
        if (ebb_buf_add(&frames->line, bytes, piece) != 0) {
            return ebb_buf_check(&frames->line, "a kernel's message", err);
        }
        if (end != NULL) {
            end_line(frames);
            piece++;
        }
        bytes += piece;
        n -= piece;
    }
    return 0;
}

/*
 * Takes what is not inside a frame, up to the end of the next head or of the
 * bytes. Returns how many were taken.
 */
static size_t take_raw(ebb_frames *frames, const char *bytes, size_t n)
{
    size_t at = 0;
    size_t from = 0; /* the user's bytes begin here */
    size_t mark = 0; /* and end here: where the head begins */
    while (at < n && frames->seen_n < EBB_FRAMES_HEAD_BYTES) {
        bool carried = frames->carried;
        if (frames->seen_n > 0 && take_head(frames, bytes[at])) {
            at++;
            continue;
        }
        from = carried ? at : from;
        const char *next = memchr(bytes + at, MARK, n - at);
        if (next == NULL) {
            at = n;
            break;
        }
        mark = (size_t)(next - bytes);
        at = mark + 1;
        frames->seen[frames->seen_n++] = MARK;
    }
    if (frames->seen_n == 0) {
        mark = n;
    }
    if (!frames->carried) {
        raw(frames, bytes + from, mark - from);
    }
    frames->carried = frames->seen_n > 0;
    if (frames->seen_n == EBB_FRAMES_HEAD_BYTES) {
        begin_frame(frames);
    }
    return at;
}

int ebb_frames_add(ebb_frames *frames, const char *bytes, size_t n,
                   ebb_err *err)
{
    while (n > 0) {
        size_t piece;
        if (frames->left > 0) {
            piece = frames->left < n ? frames->left : n;
            frames->left -= piece;
            if (take_frame(frames, bytes, piece, err) != 0) {
                return -1;
            }
        } else {
            piece = take_raw(frames, bytes, n);
        }
        bytes += piece;
        n -= piece;
    }
    return 0;
}
