/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/extension.h"

#include <stdio.h>

#include "base/mem.h"
#include "e2b/connection.h"
#include "e2b/control.h"
#include "e2b/state.h"

/* Of one extension, and the least between two that fail. */
#define EXTEND_TOTAL_MS 30000
#define EXTEND_AGAIN_MS 5000

/* Half of what is left, so that several failures fit before the end. */
static void extension_plan(ebb_e2b_extension *extension)
{
    const ebb_e2b_job *job = extension->job;
    int64_t wait = (job->promised_end_ms - ebb_e2b_job_now(job)) / 2;

    if (wait < EXTEND_AGAIN_MS)
        wait = EXTEND_AGAIN_MS;
    if (wait > job->e2b->config.extend_ms)
        wait = job->e2b->config.extend_ms;
    ebb_loop_timer_start(extension->timer, wait);
}

static void extended(void *context, ebb_e2b_transfer *transfer,
                     const ebb_err *err)
{
    ebb_e2b_extension *extension = context;
    ebb_e2b_job *job = extension->job;
    int status = ebb_e2b_transfer_status(transfer);

    extension->transfer = NULL;
    if (err == NULL && status >= 200 && status < 300)
        job->promised_end_ms = ebb_e2b_job_now(job) + EBB_E2B_LIFE_MS;
    extension_plan(extension);
}

/* A failure costs nothing yet: the next turn comes before the life's end. */
static void extend(void *context)
{
    ebb_e2b_extension *extension = context;
    ebb_e2b_job *job = extension->job;
    char body[48];
    int n =
        snprintf(body, sizeof body, "{\"timeout\":%d}", EBB_E2B_LIFE_MS / 1000);
    char *path =
        ebb_e2b_path(ebb_e2b_prefix(job->e2b), job->sandbox_id, "/connect");
    ebb_e2b_transfer_config config = {
        .method = "POST",
        .path = path,
        .content_type = "application/json",
        .body = body,
        .body_n = (size_t)n,
        .limits = { .total_ms = EXTEND_TOTAL_MS },
        .context = extension,
        .on_done = extended,
    };
    ebb_err ignored = { 0 };

    if (path != NULL)
        extension->transfer =
            ebb_e2b_transfer_start(job->e2b, &config, &ignored);
    if (extension->transfer == NULL)
        extension_plan(extension);
    ebb_mem_free(path);
}

int ebb_e2b_extension_start(ebb_e2b_extension *extension, ebb_e2b_job *job)
{
    extension->job = job;
    if (extension->timer == NULL)
        extension->timer =
            ebb_loop_timer_new(job->e2b->config.loop, extend, extension);
    if (extension->timer == NULL)
        return -1;
    extension_plan(extension);
    return 0;
}

void ebb_e2b_extension_clear(ebb_e2b_extension *extension)
{
    ebb_loop_timer_free(extension->timer);
    ebb_e2b_transfer_cancel(extension->transfer);
    *extension = (ebb_e2b_extension){ 0 };
}
