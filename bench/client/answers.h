/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the fake E2B of the client bench answers: control plane, envd in both
 * codecs, code interpreter. Nothing is executed, everything is known before;
 * it is as fast as can be, so that what is measured is the client.
 *
 * A command says what it would do: "out=BYTES/FRAME" writes so many bytes in
 * frames of so many, "hold=MS" ends so much later.
 */

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

typedef struct request {
    char method[8];
    char path[1024]; /* with the query */
    char content_type[128];
    const char *body;
    size_t body_n;
} request;

/*
 * Bytes in the order head, batch again and again until batch_bytes, tail. The
 * batch is shared and stays; head and tail are the answer's.
 */
typedef struct answer {
    ebb_buf head;
    const ebb_buf *batch;
    size_t batch_bytes;
    ebb_buf tail;
    int64_t hold_ms; /* between the head and the rest */
} answer;

/* Fills an answer whose buffers are empty. */
void answer_make(answer *a, const request *r);
