/* SPDX-License-Identifier: MIT */
/*
 * readFile: stat first, so that what is too large is refused before it is
 * read; then counted while it streams, because a file may grow meanwhile.
 */
#include "e2b/tasks/tasks.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "e2b/connection.h"
#include "e2b/tasks/fields.h"
#include "e2b/files.h"
#include "e2b/filesystem.h"
#include "e2b/tasks/result.h"
#include "e2b/rpc.h"
#include "e2b/state.h"
#include "task/place.h"

#define ERROR_BYTES_MAX 65536 /* of an answer instead of the file */

typedef struct reading {
    ebb_e2b_job job;
    const char *path;
    bool is_text;
    size_t bytes_max;
} reading;

static int too_large(const reading *r, int64_t size, ebb_err *err)
{
    char shown[EBB_SHOWN_BYTES];

    return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                       "%s: %s has %s%lld bytes, maxBytes is %zu; raise it, "
                       "or take a part with e2b.runCommand",
                       r->job.subject, ebb_place_shown(r->path, shown),
                       size < 0 ? "more than " : "",
                       (long long)(size < 0 ? (int64_t)r->bytes_max : size),
                       r->bytes_max);
}

static int is_virtual(const char *where, const char *path, ebb_err *err)
{
    char shown[EBB_SHOWN_BYTES];

    return ebb_err_set(err, EBB_UNSUPPORTED,
                       "%s: %s is made as it is read and has no size; read "
                       "it with e2b.runCommand",
                       where, ebb_place_shown(path, shown));
}

/* ---- the bytes ---- */

static ebb_value *no_content(const reading *r, const ebb_buf *file,
                             ebb_err *err)
{
    char shown[EBB_SHOWN_BYTES];

    if (r->is_text && !ebb_utf8_valid(file->bytes, file->n))
        ebb_err_set(err, EBB_NOT_UTF8,
                    "%s: %s is not UTF-8; read it with encoding = \"base64\"",
                    r->job.subject, ebb_place_shown(r->path, shown));
    else
        ebb_err_set(err, EBB_NO_MEMORY, "contents of a file");
    return NULL;
}

static ebb_value *content(const reading *r, const ebb_buf *file, ebb_err *err)
{
    ebb_value *out = NULL;
    ebb_buf text;

    ebb_buf_init(&text, 0);
    if (r->is_text)
        out = ebb_value_string(file->bytes, file->n);
    else if (ebb_base64_write(&text, file->bytes, file->n) == 0)
        out = ebb_value_string(text.bytes, text.n);
    ebb_buf_clear(&text);
    return out != NULL ? out : no_content(r, file, err);
}

static void finish(reading *r, const ebb_buf *file)
{
    ebb_err err = { 0 };
    ebb_value *text = content(r, file, &err), *out;
    int64_t n = (int64_t)file->n;

    if (text == NULL) {
        ebb_e2b_job_fail(&r->job, &err, NULL);
        return;
    }
    out = ebb_e2b_result_new(&r->job);
    out = ebb_e2b_result_with(out, "path", ebb_value_text(r->path));
    out = ebb_e2b_result_with(out, "encoding",
                              ebb_value_text(r->is_text ? "utf8" : "base64"));
    out = ebb_e2b_result_with(out, "content", text);
    out = ebb_e2b_result_with(out, "byteCount", ebb_value_int(n));
    out = ebb_e2b_result_with(out, "returnedBytes", ebb_value_int(n));
    out = ebb_e2b_result_with(out, "maxBytes",
                              ebb_value_int((int64_t)r->bytes_max));
    out = ebb_e2b_result_with(out, "truncated", ebb_value_bool(false));
    out = ebb_e2b_result_cap(out, &err);
    if (out == NULL)
        ebb_e2b_job_fail(&r->job, &err, NULL);
    else
        ebb_e2b_job_finish(&r->job, out);
}

static void got(void *context, ebb_e2b_transfer *transfer,
                const ebb_err *failure)
{
    reading *r = context;
    const ebb_buf *file = ebb_e2b_transfer_body(transfer);
    bool is_file = ebb_e2b_transfer_status(transfer) == 200;
    ebb_err err = { 0 };

    r->job.transfer = NULL;
    if (is_file && (failure == NULL ? file->n > r->bytes_max
                                    : failure->code == EBB_LIMIT_EXCEEDED)) {
        too_large(r, -1, &err);
    } else if (failure != NULL) {
        err = *failure;
        ebb_err_wrap(&err, "%s", r->job.subject);
    } else if (is_file) {
        finish(r, file);
        return;
    } else if (ebb_e2b_connect_again(&r->job, transfer)) {
        return;
    } else {
        ebb_e2b_files_error(&r->job, transfer, r->path, &err);
    }
    ebb_e2b_job_fail(&r->job, &err, NULL);
}

static void get(reading *r)
{
    char *path = ebb_e2b_files_path(r->path);
    size_t answer_max =
        r->bytes_max > ERROR_BYTES_MAX ? r->bytes_max : ERROR_BYTES_MAX;
    ebb_e2b_transfer_config config = {
        .port = EBB_E2B_ENVD,
        .target = &r->job.target,
        .method = "GET",
        .path = path,
        .limits = { .idle_ms = r->job.e2b->config.transfer_idle_ms },
        .answer_max = answer_max,
        .context = r,
        .on_done = got,
    };
    ebb_err err = { 0 };

    if (path == NULL)
        ebb_err_set(&err, EBB_NO_MEMORY, "path of a file");
    else
        r->job.transfer = ebb_e2b_transfer_start(r->job.e2b, &config, &err);
    ebb_mem_free(path);
    if (r->job.transfer == NULL)
        ebb_e2b_job_fail(&r->job, &err, NULL);
}

/* ---- its size ---- */

/* Its size is the link's own, so that only what it leads to can be told. */
static int check_link(const reading *r, const ebb_e2b_entry *entry,
                      ebb_err *err)
{
    char *target = ebb_mem_dup_n(entry->link_target, entry->link_target_n);
    int failed = 0;

    if (target == NULL)
        failed = ebb_err_set(err, EBB_NO_MEMORY, "target of a link");
    else if (ebb_e2b_files_is_virtual(target))
        failed = is_virtual(r->job.subject, r->path, err);
    ebb_mem_free(target);
    return failed;
}

static int check_entry(void *context, const ebb_e2b_entry *entry, ebb_err *err)
{
    const reading *r = context;
    char shown[EBB_SHOWN_BYTES];

    if (entry->is_directory)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "%s: %s is a directory; list it with "
                           "e2b.listFiles",
                           r->job.subject, ebb_place_shown(r->path, shown));
    if (entry->link_target != NULL)
        return check_link(r, entry, err);
    if (!entry->is_file)
        return ebb_err_set(err, EBB_INVALID_INPUT, "%s: %s is no regular file",
                           r->job.subject, ebb_place_shown(r->path, shown));
    if (entry->size > (int64_t)r->bytes_max)
        return too_large(r, entry->size, err);
    return 0;
}

static void stat_done(void *context, ebb_e2b_transfer *transfer,
                      const ebb_err *failure)
{
    reading *r = context;
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_err err = { 0 };

    r->job.transfer = NULL;
    if (failure != NULL) {
        err = *failure;
        ebb_err_wrap(&err, "%s", r->job.subject);
    } else if (ebb_e2b_transfer_status(transfer) != 200) {
        if (ebb_e2b_connect_again(&r->job, transfer))
            return;
        ebb_e2b_files_error(&r->job, transfer, r->path, &err);
    } else if (ebb_e2b_filesystem_parse_stat(body->bytes, body->n, check_entry,
                                             r, &err) == 0) {
        get(r);
        return;
    }
    ebb_e2b_job_fail(&r->job, &err, NULL);
}

static void stat(ebb_e2b_job *job)
{
    reading *r = (reading *)job;
    ebb_buf message;
    ebb_e2b_rpc rpc = {
        .path = "/filesystem.Filesystem/Stat",
        .message = &message,
        .context = r,
        .on_done = stat_done,
    };
    ebb_err err = { 0 };

    ebb_buf_init(&message, 0);
    ebb_e2b_filesystem_write_stat(&message, r->path);
    if (ebb_buf_check(&message, "path of a file", &err) == 0)
        job->transfer = ebb_e2b_rpc_start(job, &rpc, &err);
    ebb_buf_clear(&message);
    if (job->transfer == NULL)
        ebb_e2b_job_fail(job, &err, NULL);
}

/* ---- the attempt ---- */

static void begin(ebb_e2b_job *job)
{
    reading *r = (reading *)job;

    r->path = ebb_value_find_string(job->input, "path");
    r->is_text =
        strcmp(ebb_value_find_string(job->input, "encoding"), "utf8") == 0;
    r->bytes_max = (size_t)ebb_value_find_int(job->input, "maxBytes", 0);
    ebb_e2b_connect(job, 0, stat);
}

int ebb_e2b_check_read(const ebb_value *input, ebb_err *err)
{
    const char *path = ebb_value_find_string(input, "path");
    const char *encoding = ebb_value_find_string(input, "encoding");
    int64_t max = ebb_value_find_int(input, "maxBytes", 0);

    if (strcmp(encoding, "utf8") == 0 && max > EBB_E2B_TEXT_BYTES_MAX)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "e2b.readFile: maxBytes: expected 1 to %d for "
                           "utf8, got %lld",
                           EBB_E2B_TEXT_BYTES_MAX, (long long)max);
    if (ebb_e2b_files_is_virtual(path))
        return is_virtual("e2b.readFile: path", path, err);
    return 0;
}

void ebb_e2b_task_read(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(reading), begin, NULL);
}
