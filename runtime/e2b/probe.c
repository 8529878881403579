/* SPDX-License-Identifier: MIT */
#include "e2b/probe.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "e2b/connection.h"
#include "e2b/control.h"
#include "e2b/state.h"

static void settle(ebb_e2b_probe *probe, const char *found)
{
    size_t n = strlen(probe->why);

    snprintf(probe->why + n, sizeof probe->why - n, "%s", found);
    probe->under_way = false;
    probe->settled(probe->job);
}

static void on_done(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *err)
{
    ebb_e2b_probe *probe = context;
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_err ignored = { 0 };
    ebb_value *json = NULL;
    const char *state, *found = "";
    int status = ebb_e2b_transfer_status(transfer);

    probe->job->transfer = NULL;
    if (err == NULL && status == 200 && body->n > 0)
        json = ebb_value_parse(body->bytes, body->n, 10000, &ignored);
    state = ebb_value_find_string(json, "state");
    probe->ended = err == NULL && status == 404;
    if (probe->ended)
        found = "; the sandbox has ended (killed, or its time was up)";
    else if (state != NULL && strcmp(state, "paused") == 0)
        found = "; the sandbox is paused";
    else if (state != NULL && strcmp(state, "running") == 0)
        found = "; the connection was lost, the sandbox still runs";
    ebb_value_free(json);
    settle(probe, found);
}

void ebb_e2b_probe_start(ebb_e2b_probe *probe, ebb_e2b_job *job,
                         const char *why, ebb_e2b_job_fn *settled)
{
    char *path = ebb_e2b_path("", job->sandbox_id, "");
    ebb_e2b_transfer_config config = {
        .port = EBB_E2B_CONTROL,
        .method = "GET",
        .path = path,
        .limits = { .total_ms = EBB_E2B_PROBE_MS },
        .context = probe,
        .on_done = on_done,
    };
    ebb_err ignored = { 0 };

    ebb_e2b_connection_drop(job->e2b, job->sandbox_id);
    *probe = (ebb_e2b_probe){ .job = job, .settled = settled };
    snprintf(probe->why, sizeof probe->why, "%s", why);
    probe->under_way = true;
    if (path != NULL)
        job->transfer = ebb_e2b_transfer_start(job->e2b, &config, &ignored);
    ebb_mem_free(path);
    if (job->transfer == NULL)
        settle(probe, "");
}
