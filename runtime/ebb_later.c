/* SPDX-License-Identifier: MIT */

/*
 * The parts of the embedding API that this version declares and does not have
 * yet: durable runs, byte streams, the Render worker. Each says so.
 */

#include "ebb_private.h"

static int unsupported(ebb_err *err, const char *what)
{
    return ebb_err_set(err, EBB_UNSUPPORTED,
                       "%s: not in this version of ebb (%s)", what,
                       ebb_version());
}

ebb_run *ebb_run_open(ebb_runtime *rt, const ebb_run_config *config,
                      ebb_err *err)
{
    (void)rt;
    (void)config;
    unsupported(err, "durable runs");
    return NULL;
}

void ebb_run_close(ebb_run *run)
{
    (void)run;
}

int ebb_step_begin(ebb_run *run, const char *path, const char *name,
                   const ebb_value *input, ebb_value **recorded, ebb_err *err)
{
    (void)run;
    (void)path;
    (void)name;
    (void)input;
    *recorded = NULL;
    return unsupported(err, "durable steps");
}

int ebb_step_finish(ebb_run *run, const char *path, const ebb_value *result,
                    const ebb_err *failure, ebb_err *err)
{
    (void)run;
    (void)path;
    (void)result;
    (void)failure;
    return unsupported(err, "durable steps");
}

int ebb_runs_list(ebb_runtime *rt, ebb_value **out, ebb_err *err)
{
    (void)rt;
    *out = NULL;
    return unsupported(err, "durable runs");
}

int ebb_runs_show(ebb_runtime *rt, const char *id, ebb_value **out,
                  ebb_err *err)
{
    (void)rt;
    (void)id;
    *out = NULL;
    return unsupported(err, "durable runs");
}

int ebb_runs_cancel(ebb_runtime *rt, const char *id, ebb_err *err)
{
    (void)rt;
    (void)id;
    return unsupported(err, "durable runs");
}

int ebb_runs_prune(ebb_runtime *rt, bool kill, ebb_value **out, ebb_err *err)
{
    (void)rt;
    (void)kill;
    *out = NULL;
    return unsupported(err, "durable runs");
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
