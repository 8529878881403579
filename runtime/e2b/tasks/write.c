/* SPDX-License-Identifier: MIT */
/*
 * writeFiles. Several files with plain names go out as one request, which
 * costs one round trip; else each file is a request of its own, with its path
 * in the query, where every name is safe. Either way each is sent once, and a
 * failure says which files are known to be written.
 */
#include "e2b/tasks/tasks.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "e2b/connection.h"
#include "e2b/errors.h"
#include "e2b/files.h"
#include "e2b/multipart.h"
#include "e2b/tasks/result.h"
#include "e2b/state.h"
#include "task/place.h"

typedef struct file {
    const char *path;
    const char *bytes; /* the input's, or decoded */
    size_t n;
    ebb_buf decoded;
} file;

typedef struct writing {
    ebb_e2b_job job;
    file *files;
    size_t count;
    size_t written; /* of files: how many the server has confirmed */
    bool together;  /* all in one request */
} writing;

/* ---- what is to be written, before anything is sent ---- */

static int take_content(file *f, const ebb_value *entry, size_t index,
                        ebb_err *err)
{
    const char *encoding = ebb_value_find_string(entry, "encoding");

    f->path = ebb_value_find_string(entry, "path");
    f->bytes = ebb_value_get_string(ebb_value_find(entry, "content"), &f->n);
    if (strcmp(encoding, "base64") != 0)
        return 0;
    if (ebb_base64_length(f->bytes, f->n) < 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "e2b.writeFiles: files[%zu].content: not "
                           "canonical base64 (standard alphabet, padded)",
                           index + 1);
    ebb_buf_init(&f->decoded, 0);
    if (ebb_base64_parse(&f->decoded, f->bytes, f->n, true) != 0)
        return ebb_err_set(err, EBB_NO_MEMORY, "contents of a file");
    f->bytes = f->decoded.bytes;
    f->n = f->decoded.n;
    return 0;
}

static int check_twice(const writing *w, size_t index, ebb_err *err)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(w->files[i].path, w->files[index].path) == 0)
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "e2b.writeFiles: files[%zu].path: the same as "
                               "files[%zu].path",
                               index + 1, i + 1);
    return 0;
}

static int take_files(writing *w, ebb_err *err)
{
    const ebb_value *files = ebb_value_find(w->job.input, "files");
    int64_t max = ebb_value_find_int(w->job.input, "maxTotalBytes", 0);
    uint64_t total = 0;

    w->files = ebb_mem_zero(ebb_value_size(files) * sizeof *w->files);
    if (w->files == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "files to write");
    w->count = ebb_value_size(files);
    w->together = w->count > 1;
    for (size_t i = 0; i < w->count; i++) {
        file *f = &w->files[i];
        if (take_content(f, ebb_value_at(files, i), i, err) != 0 ||
            check_twice(w, i, err) != 0)
            return -1;
        total += f->n;
        w->together = w->together && ebb_e2b_multipart_takes(f->path);
    }
    if (total > (uint64_t)max)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "e2b.writeFiles: %llu bytes in all, maxTotalBytes "
                           "is %lld; raise it, or write in several calls",
                           (unsigned long long)total, (long long)max);
    return 0;
}

/* ---- how it ends ---- */

static ebb_value *written(const writing *w)
{
    ebb_value *out = ebb_value_array();

    for (size_t i = 0; out != NULL && i < w->written; i++) {
        ebb_value *entry = ebb_e2b_result_with(
            ebb_value_object(), "path", ebb_value_text(w->files[i].path));
        entry = ebb_e2b_result_with(entry, "byteCount",
                                    ebb_value_int((int64_t)w->files[i].n));
        if (ebb_value_add(out, entry) != 0) {
            ebb_value_free(out);
            out = NULL;
        }
    }
    return out;
}

static void fail(writing *w, const ebb_err *err)
{
    ebb_value *details = NULL;

    if (!w->together && w->count > 1)
        details =
            ebb_e2b_result_with(ebb_value_object(), "written", written(w));
    ebb_e2b_job_fail(&w->job, err, details);
}

static void fail_unknown(writing *w, const char *why)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_OUTCOME_UNKNOWN,
                "%s: %s; the files may have been written, and are not sent "
                "again",
                w->job.subject, why);
    fail(w, &err);
}

static void http_failed(writing *w, ebb_e2b_transfer *transfer)
{
    int status = ebb_e2b_transfer_status(transfer);
    const char *path = w->files[w->written].path;
    char words[EBB_E2B_WORDS_BYTES], why[EBB_E2B_WORDS_BYTES + 32];
    ebb_err err = { 0 };

    if (ebb_e2b_connect_again(&w->job, transfer))
        return;
    if (!ebb_e2b_error_refuses(status) && status != 507) {
        ebb_e2b_error_words(&w->job, transfer, words);
        snprintf(why, sizeof why, "%s (HTTP %d)", words, status);
        fail_unknown(w, why);
        return;
    }
    ebb_e2b_files_error(&w->job, transfer, path, &err);
    if (err.code == EBB_FILE_NOT_FOUND)
        err.code = EBB_INVALID_INPUT;
    fail(w, &err);
}

static void send_next(ebb_e2b_job *job);

/* Takes the answer of a request that wrote n files. */
static void confirm(writing *w, const ebb_e2b_transfer *transfer, size_t n)
{
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_err ignored = { 0 };
    ebb_value *json = NULL, *result;
    size_t confirmed;

    if (body->n > 0)
        json = ebb_value_parse(body->bytes, body->n, 0, &ignored);
    confirmed = ebb_value_type(json) == EBB_ARRAY ? ebb_value_size(json) : 0;
    ebb_value_free(json);
    if (confirmed < n) {
        fail_unknown(w, "the answer does not confirm every file");
        return;
    }
    w->written += n;
    if (w->written < w->count) {
        send_next(&w->job);
        return;
    }
    result = ebb_e2b_result_new(&w->job);
    ebb_e2b_job_finish(&w->job,
                       ebb_e2b_result_with(result, "files", written(w)));
}

static void on_done(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *failure)
{
    writing *w = context;
    ebb_err err = { 0 };

    w->job.transfer = NULL;
    if (failure == NULL && ebb_e2b_transfer_status(transfer) == 200) {
        confirm(w, transfer, w->together ? w->count : 1);
    } else if (failure == NULL) {
        http_failed(w, transfer);
    } else if (ebb_e2b_transfer_was_sent(transfer)) {
        fail_unknown(w, failure->msg);
    } else {
        err = *failure;
        ebb_err_wrap(&err, "%s", w->job.subject);
        fail(w, &err);
    }
}

/* ---- sending ---- */

static void send(writing *w, const char *path, const char *content_type,
                 const char *body, size_t n)
{
    int64_t idle_ms = w->job.e2b->config.transfer_idle_ms;
    ebb_e2b_transfer_config config = {
        .port = EBB_E2B_ENVD,
        .target = &w->job.target,
        .method = "POST",
        .path = path,
        .content_type = content_type,
        .body = body != NULL ? body : "",
        .body_n = n,
        .limits = { .idle_ms = idle_ms },
        .context = w,
        .before_body = ebb_e2b_job_before_body,
        .on_done = on_done,
    };
    ebb_err err = { 0 };

    if (path == NULL)
        ebb_err_set(&err, EBB_NO_MEMORY, "path of a file");
    else
        w->job.transfer = ebb_e2b_transfer_start(w->job.e2b, &config, &err);
    if (w->job.transfer == NULL)
        fail(w, &err);
}

static int write_parts(const writing *w, ebb_buf *body, const char *boundary,
                       size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++)
        if (ebb_e2b_multipart_begin(body, boundary, w->files[i].path) != 0 ||
            ebb_buf_add(body, w->files[i].bytes, w->files[i].n) != 0)
            return -1;
    return ebb_e2b_multipart_end(body, boundary);
}

/* n files from first on; path is that of the request. */
static void send_parts(writing *w, const char *path, size_t first, size_t n)
{
    char boundary[EBB_E2B_BOUNDARY_BYTES], type[96];
    ebb_err err = { 0 };
    ebb_buf body;

    ebb_buf_init(&body, 0);
    if (ebb_e2b_multipart_boundary(boundary, &err) != 0 ||
        (write_parts(w, &body, boundary, first, n) != 0 &&
         ebb_buf_check(&body, "files to write", &err) != 0)) {
        fail(w, &err);
    } else {
        snprintf(type, sizeof type, "multipart/form-data; boundary=%s",
                 boundary);
        send(w, path, type, body.bytes, body.n);
    }
    ebb_buf_clear(&body);
}

/* envd before 0.5.7 takes no bare bytes; an unknown version is a new one. */
static bool takes_bytes(const char *version)
{
    unsigned major = 0, minor = 0, patch = 0;

    if (version == NULL ||
        sscanf(version, "%u.%u.%u", &major, &minor, &patch) < 2)
        return true;
    if (major > 0 || minor > 5)
        return true;
    return minor == 5 && patch >= 7;
}

static void send_next(ebb_e2b_job *job)
{
    writing *w = (writing *)job;
    const file *f = &w->files[w->written];
    char *path;

    if (w->together) {
        send_parts(w, "/files", 0, w->count);
        return;
    }
    path = ebb_e2b_files_path(f->path);
    /* An empty body would have no first byte to wait before. */
    if (f->n > 0 && takes_bytes(job->target.envd_version))
        send(w, path, "application/octet-stream", f->bytes, f->n);
    else
        send_parts(w, path, w->written, 1);
    ebb_mem_free(path);
}

/* ---- the attempt ---- */

static void cancel(ebb_e2b_job *job)
{
    writing *w = (writing *)job;
    ebb_err err = { 0 };

    if (job->allowed) {
        fail_unknown(w, "cancelled while the files were being written");
        return;
    }
    ebb_err_set(&err, EBB_CANCELLED, "the call was cancelled");
    ebb_e2b_job_fail(job, &err, NULL);
}

static void begin(ebb_e2b_job *job)
{
    writing *w = (writing *)job;
    ebb_err err = { 0 };

    job->cancel = cancel;
    if (take_files(w, &err) != 0)
        ebb_e2b_job_fail(job, &err, NULL);
    else
        ebb_e2b_connect(job, 0, send_next);
}

static void clear(ebb_e2b_job *job)
{
    writing *w = (writing *)job;

    for (size_t i = 0; i < w->count; i++)
        ebb_buf_clear(&w->files[i].decoded);
    ebb_mem_free(w->files);
}

void ebb_e2b_task_write(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(writing), begin, clear);
}
