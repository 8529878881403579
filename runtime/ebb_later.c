/* SPDX-License-Identifier: MIT */

/*
 * The parts of the embedding API that this version declares and does not have
 * yet: byte streams and the Render worker. Each says so.
 */

#include "ebb_private.h"

static int unsupported(ebb_err *err, const char *what)
{
    return ebb_err_set(err, EBB_UNSUPPORTED,
                       "%s: not in this version of ebb (%s)", what,
                       ebb_version());
}

ebb_stream *ebb_stream_open(ebb_runtime *rt, const char *kind,
                            const ebb_value *input, ebb_err *err)
{
    (void)rt;
    (void)kind;
    (void)input;
    unsupported(err, "streams");
    return NULL;
}

int ebb_stream_write(ebb_stream *stream, const void *bytes, size_t n,
                     ebb_err *err)
{
    (void)stream;
    (void)bytes;
    (void)n;
    return unsupported(err, "streams");
}

void ebb_stream_close(ebb_stream *stream)
{
    (void)stream;
}

int ebb_worker_register(ebb_runtime *rt, ebb_err *err)
{
    (void)rt;
    return unsupported(err, "the Render worker");
}

int ebb_worker_run(ebb_runtime *rt, ebb_err *err)
{
    (void)rt;
    return unsupported(err, "the Render worker");
}
