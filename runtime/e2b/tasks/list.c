/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/tasks.h"

#include <string.h>

#include "base/value_pool.h"
#include "e2b/connection.h"
#include "e2b/files.h"
#include "e2b/filesystem.h"
#include "e2b/tasks/result.h"
#include "e2b/rpc.h"
#include "e2b/state.h"

typedef struct directory {
    ebb_e2b_job job;
    const char *path;
    int64_t limit, available;
    ebb_e2b_listing listing;
    ebb_value *entries;
    ebb_pool *pool; /* of the entries */
    ebb_err broken; /* what made us stop reading */
} directory;

/* The strings were checked as they were read. */
static int add_entry(void *context, const ebb_e2b_entry *entry, ebb_err *err)
{
    static const char *const keys[] = { "name", "path", "type", "size" };
    directory *d = context;
    ebb_value *out;

    if (d->available++ >= d->limit)
        return 0;
    out = ebb_pool_object_of(
        d->pool, keys,
        (ebb_value *[]){
            ebb_pool_string_valid(d->pool, entry->name, entry->name_n),
            ebb_pool_string_valid(d->pool, entry->path, entry->path_n),
            ebb_pool_string_valid(d->pool, entry->type, strlen(entry->type)),
            ebb_pool_int(d->pool, entry->size) },
        sizeof keys / sizeof *keys);
    if (ebb_value_add(d->entries, out) == 0)
        return 0;
    return ebb_err_set(err, EBB_NO_MEMORY, "entry of a directory");
}

static int on_body(void *context, const char *bytes, size_t n)
{
    directory *d = context;

    return ebb_e2b_listing_add(&d->listing, bytes, n, &d->broken);
}

static void finish(directory *d)
{
    ebb_value *entries = d->entries, *out;
    int64_t returned = (int64_t)ebb_value_size(entries);
    ebb_err err = { 0 };

    d->entries = NULL;
    out = ebb_e2b_result_new(&d->job);
    out = ebb_e2b_result_with(out, "entries", entries);
    out = ebb_e2b_result_with(out, "page",
                              ebb_e2b_page(returned, d->available, d->limit));
    out = ebb_e2b_result_cap(out, &err);
    if (out == NULL)
        ebb_e2b_job_fail(&d->job, &err, NULL);
    else
        ebb_e2b_job_finish(&d->job, out);
}

static void on_done(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *failure)
{
    directory *d = context;
    ebb_err err = { 0 };

    d->job.transfer = NULL;
    if (failure != NULL) {
        err = d->broken.code != EBB_OK ? d->broken : *failure;
        ebb_err_wrap(&err, "%s", d->job.subject);
    } else if (ebb_e2b_transfer_status(transfer) != 200) {
        if (ebb_e2b_connect_again(&d->job, transfer))
            return;
        ebb_e2b_files_error(&d->job, transfer, d->path, &err);
    } else if (ebb_e2b_listing_finish(&d->listing, &err) == 0) {
        finish(d);
        return;
    }
    ebb_e2b_job_fail(&d->job, &err, NULL);
}

static void list(ebb_e2b_job *job)
{
    directory *d = (directory *)job;
    ebb_buf message;
    ebb_e2b_rpc rpc = {
        .path = "/filesystem.Filesystem/ListDir",
        .message = &message,
        .context = d,
        .on_body = on_body,
        .on_done = on_done,
    };
    ebb_err err = { 0 };

    ebb_buf_init(&message, 0);
    ebb_e2b_filesystem_write_list(&message, d->path);
    if (ebb_buf_check(&message, "path of a directory", &err) == 0)
        job->transfer = ebb_e2b_rpc_start(job, &rpc, &err);
    ebb_buf_clear(&message);
    if (job->transfer == NULL)
        ebb_e2b_job_fail(job, &err, NULL);
}

static void begin(ebb_e2b_job *job)
{
    directory *d = (directory *)job;

    d->path = ebb_value_find_string(job->input, "path");
    d->limit = ebb_value_find_int(job->input, "limit", 0);
    d->entries = ebb_value_array();
    ebb_e2b_listing_init(&d->listing, add_entry, d);
    d->pool = d->entries != NULL ? ebb_value_pool(d->entries) : NULL;
    if (d->pool == NULL)
        ebb_e2b_job_no_memory(job);
    else
        ebb_e2b_connect(job, 0, list);
}

static void clear(ebb_e2b_job *job)
{
    directory *d = (directory *)job;

    ebb_e2b_listing_clear(&d->listing);
    ebb_value_free(d->entries);
}

void ebb_e2b_task_list(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(directory), begin, clear);
}
