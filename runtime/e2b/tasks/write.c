/* SPDX-License-Identifier: MIT */
/*
 * writeFiles. Several files with plain names go out as one request, which
 * costs one round trip; else each file is a request of its own, with its path
 * in the query, where every name is safe. Either way each is sent once, and a
 * failure says which files are written and which may be.
 */
#include "e2b/tasks/write.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "e2b/connection.h"
#include "e2b/files.h"
#include "e2b/state.h"
#include "e2b/tasks/fields.h"
#include "e2b/tasks/tasks.h"

#define PATH_SLOTS 256

/* ---- what is to be written, before anything is sent ---- */

static bool is_base64(const ebb_value *entry)
{
    return strcmp(ebb_value_find_string(entry, "encoding"), "base64") == 0;
}

/* The bytes of a content once decoded, or -1. */
static long long content_bytes(const ebb_value *entry)
{
    size_t n = 0;
    const char *text =
        ebb_value_get_string(ebb_value_find(entry, "content"), &n);

    return is_base64(entry) ? ebb_base64_length(text, n) : (long long)n;
}

static const char *path_at(const ebb_value *files, size_t index)
{
    return ebb_value_find_string(ebb_value_at(files, index), "path");
}

/* The paths so far: an open hash table by their marks. */
typedef struct paths {
    uint64_t marks[EBB_E2B_WRITE_MAX];
    unsigned char slots[PATH_SLOTS]; /* of a path, its index + 1; 0: free */
} paths;

_Static_assert(EBB_E2B_WRITE_MAX < PATH_SLOTS, "there is always a free slot");

/* The fields have bounded how many there are. */
static int check_twice(const ebb_value *files, size_t index, paths *seen,
                       ebb_err *err)
{
    const char *path = path_at(files, index);
    uint64_t mark = ebb_e2b_files_mark(path);
    size_t at = mark % PATH_SLOTS, other;

    for (; (other = seen->slots[at]) > 0; at = (at + 1) % PATH_SLOTS)
        if (seen->marks[other - 1] == mark &&
            ebb_e2b_files_same(path_at(files, other - 1), path))
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "e2b.writeFiles: files[%zu].path: the same as "
                               "files[%zu].path",
                               index + 1, other);
    seen->marks[index] = mark;
    seen->slots[at] = (unsigned char)(index + 1);
    return 0;
}

int ebb_e2b_check_write(const ebb_value *input, ebb_err *err)
{
    const ebb_value *files = ebb_value_find(input, "files");
    int64_t max = ebb_value_find_int(input, "maxTotalBytes", 0);
    size_t count = ebb_value_size(files);
    paths seen = { .slots = { 0 } };
    long long total = 0, bytes;

    for (size_t i = 0; i < count; i++) {
        bytes = content_bytes(ebb_value_at(files, i));
        if (bytes < 0)
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "e2b.writeFiles: files[%zu].content: not "
                               "canonical base64 (standard alphabet, padded)",
                               i + 1);
        if (check_twice(files, i, &seen, err) != 0)
            return -1;
        total += bytes;
    }
    if (total > max)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "e2b.writeFiles: %lld bytes in all, maxTotalBytes "
                           "is %lld; raise it, or write in several calls",
                           total, (long long)max);
    return 0;
}

static int take_content(ebb_e2b_file *f, const ebb_value *entry, ebb_err *err)
{
    ebb_buf decoded;

    f->name = ebb_value_find(entry, "path");
    f->path = ebb_value_get_string(f->name, NULL);
    f->bytes = ebb_value_get_string(ebb_value_find(entry, "content"), &f->n);
    if (!is_base64(entry))
        return 0;
    ebb_buf_init(&decoded, 0);
    if (ebb_base64_parse(&decoded, f->bytes, f->n, true) == 0) {
        f->n = decoded.n;
        f->decoded = ebb_buf_take(&decoded);
    }
    ebb_buf_clear(&decoded);
    f->bytes = f->decoded;
    if (f->decoded == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "contents of a file");
    return 0;
}

static int take_files(ebb_e2b_writing *w, ebb_err *err)
{
    const ebb_value *files = ebb_value_find(w->job.input, "files");

    w->files = ebb_mem_zero(ebb_value_size(files) * sizeof *w->files);
    if (w->files == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "files to write");
    w->count = ebb_value_size(files);
    w->together = w->count > 1;
    for (size_t i = 0; i < w->count; i++) {
        ebb_e2b_file *f = &w->files[i];
        if (take_content(f, ebb_value_at(files, i), err) != 0)
            return -1;
        w->together = w->together && ebb_e2b_form_takes(f->path);
    }
    return 0;
}

/* ---- sending ---- */

static void on_done(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *failure)
{
    ebb_e2b_writing *w = context;

    w->job.transfer = NULL;
    w->sending = false;
    ebb_e2b_writing_done(w, transfer, failure);
}

/* From here on what the request carries may be written. */
static void before_body(void *context)
{
    ebb_e2b_writing *w = context;

    for (size_t i = w->first; i < w->first + w->asked; i++)
        w->files[i].fate = EBB_E2B_SENT;
    ebb_e2b_job_before_body(&w->job);
}

static void send(ebb_e2b_writing *w, const char *path, const char *content_type,
                 const ebb_http_piece *pieces, size_t n)
{
    int64_t idle_ms = w->job.e2b->config.transfer_idle_ms;
    ebb_e2b_transfer_config config = {
        .port = EBB_E2B_ENVD,
        .target = &w->job.target,
        .method = "POST",
        .path = path,
        .content_type = content_type,
        .pieces = pieces,
        .pieces_count = n,
        .limits = { .idle_ms = idle_ms },
        .context = w,
        .before_body = before_body,
        .unheld = !ebb_attempt_may_wait(w->job.attempt),
        .on_done = on_done,
    };
    ebb_err err = { 0 };

    if (path == NULL)
        ebb_err_set(&err, EBB_NO_MEMORY, "path of a file");
    else
        w->job.transfer = ebb_e2b_transfer_start(w->job.e2b, &config, &err);
    w->sending = w->job.transfer != NULL;
    if (!w->sending)
        ebb_e2b_job_fail(&w->job, &err, NULL);
}

/* The files of the request as a form; path is that of the request. */
static void send_form(ebb_e2b_writing *w, const char *path)
{
    ebb_e2b_form *form = &w->form;
    ebb_err err = { 0 };
    char type[96];

    ebb_e2b_form_clear(form);
    if (ebb_e2b_form_init(form, w->asked, &err) != 0) {
        ebb_e2b_job_fail(&w->job, &err, NULL);
        return;
    }
    for (size_t i = w->first; i < w->first + w->asked; i++)
        ebb_e2b_form_add(form, w->files[i].path, w->files[i].bytes,
                         w->files[i].n);
    snprintf(type, sizeof type, "multipart/form-data; boundary=%s",
             form->boundary);
    send(w, path, type, form->pieces, form->count);
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
    ebb_e2b_writing *w = (ebb_e2b_writing *)job;
    const ebb_e2b_file *f = &w->files[w->first];
    char *path;

    w->asked = w->together ? w->count : 1;
    if (w->together) {
        send_form(w, "/files");
        return;
    }
    path = ebb_e2b_files_path(f->path);
    /* An empty body would have no first byte to wait before. */
    if (f->n > 0 && takes_bytes(job->target.envd_version)) {
        w->bytes = (ebb_http_piece){ f->bytes, f->n };
        send(w, path, "application/octet-stream", &w->bytes, 1);
    } else {
        send_form(w, path);
    }
    ebb_mem_free(path);
}

/* ---- the attempt ---- */

static bool any_sent(const ebb_e2b_writing *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->files[i].fate == EBB_E2B_SENT)
            return true;
    return false;
}

static void cancel(ebb_e2b_job *job)
{
    ebb_e2b_writing *w = (ebb_e2b_writing *)job;
    ebb_err err = { 0 };

    /* It may have gone out in this very turn, and nobody said so yet. */
    if (w->sending && ebb_e2b_transfer_was_sent(job->transfer))
        before_body(w);
    if (job->allowed && any_sent(w)) {
        ebb_e2b_writing_unknown(w,
                                "cancelled while the files were being written");
        return;
    }
    ebb_err_set(&err, EBB_CANCELLED, "the call was cancelled");
    ebb_e2b_job_fail(job, &err, NULL);
}

static void begin(ebb_e2b_job *job)
{
    ebb_e2b_writing *w = (ebb_e2b_writing *)job;
    ebb_err err = { 0 };

    job->cancel = cancel;
    job->details = ebb_e2b_writing_details;
    w->next = send_next;
    if (take_files(w, &err) != 0)
        ebb_e2b_job_fail(job, &err, NULL);
    else
        ebb_e2b_connect(job, 0, send_next);
}

static void clear(ebb_e2b_job *job)
{
    ebb_e2b_writing *w = (ebb_e2b_writing *)job;

    for (size_t i = 0; i < w->count; i++)
        ebb_mem_free(w->files[i].decoded);
    ebb_mem_free(w->files);
    ebb_e2b_form_clear(&w->form);
}

void ebb_e2b_task_write(ebb_attempt *attempt)
{
    ebb_e2b_job_start(attempt, sizeof(ebb_e2b_writing), begin, clear);
}
