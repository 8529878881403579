/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Takes apart what a kernel's pipe carries: what the user's code wrote, as it
 * is, and in between the driver's messages in frames. A frame is
 *
 *   0x1e, 16 digits of the kernel's nonce, 4 hex digits: n, n bytes
 *
 * and is written at once (at most PIPE_BUF), so that no other writer of the
 * pipe can get into it. The frames' bytes together are lines of JSON.
 *
 * It is no defence: user code can read the nonce and forge a message, to its
 * own harm alone. What it cannot do is take memory past the bound or make
 * this fail in any other way than an error.
 */

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define EBB_FRAMES_NONCE_BYTES    17 /* 16 digits and a NUL */
#define EBB_FRAMES_HEAD_BYTES     21
#define EBB_FRAMES_LINE_BYTES_MAX (12u * 1024 * 1024)

typedef struct ebb_frames_sink {
    /* Bytes of the user's code; never empty. */
    void (*on_raw)(void *context, const char *bytes, size_t n);
    /* A line without its LF, NUL-terminated. */
    void (*on_line)(void *context, const char *line, size_t n);
    void *context;
} ebb_frames_sink;

typedef struct ebb_frames {
    char head[EBB_FRAMES_HEAD_BYTES + 1]; /* what a frame begins with */
    char seen[EBB_FRAMES_HEAD_BYTES + 1]; /* a head begun so far */
    size_t seen_n;
    bool carried; /* it began in an earlier chunk */
    size_t left;  /* bytes of the frame that is being read */
    ebb_buf line;
    ebb_frames_sink sink;
} ebb_frames;

void ebb_frames_init(ebb_frames *frames,
                     const char nonce[EBB_FRAMES_NONCE_BYTES],
                     const ebb_frames_sink *sink);
void ebb_frames_clear(ebb_frames *frames);

/* EBB_LIMIT_EXCEEDED for a line that is too long, EBB_NO_MEMORY. */
int ebb_frames_add(ebb_frames *frames, const char *bytes, size_t n,
                   ebb_err *err);
