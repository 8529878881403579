/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/upload.h"

#include "base/mem.h"
#include "sandbox/service/envd/envd_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/*
 * Compressed bytes are expanded a slice at a time, so that what one slice
 * becomes (at most 1,032 times as much) fits the reader while it is paused.
 */
#define GZIP_SLICE_BYTES 4096u

static void upload_free(ebb_upload *upload)
{
    upload->call->state = NULL;
    upload->call->on_cancel = NULL;
    if (upload->fd >= 0)
        close(upload->fd);
    ebb_multipart_free(upload->multipart);
    ebb_gunzip_free(upload->gunzip);
    ebb_buf_clear(&upload->raw);
    ebb_buf_clear(&upload->metadata);
    ebb_value_free(upload->written);
    ebb_mem_free(upload->path);
    ebb_mem_free(upload->part_path);
    ebb_mem_free(upload);
}

static void on_cancel(ebb_envd_call *call)
{
    upload_free(call->state);
}

/*
 * Beyond E2B's answer: how many files of a form were whole before the one
 * that failed, in its order. None after that one was begun.
 */
static void report(const ebb_upload *upload)
{
    char count[24];

    snprintf(count, sizeof count, "%zu", ebb_value_size(upload->written));
    ebb_exchange_add_header(upload->call->exchange, "Ebb-Files-Written", count);
}

/* The statuses of what went wrong while reading and writing. */
static void fail(ebb_upload *upload, const ebb_err *err)
{
    ebb_envd_call *call = upload->call;
    int status = 500;

    if (err->code == EBB_INVALID_INPUT || err->code == EBB_LIMIT_EXCEEDED)
        status = 400;
    else if (err->code == EBB_FORBIDDEN)
        status = 403;
    else if (err->status == ENOSPC || err->status == EDQUOT)
        status = 507;
    else if (err->code == EBB_SANDBOX_NOT_RUNNING)
        status = 502;
    if (upload->multipart)
        report(upload);
    upload_free(upload);
    ebb_envd_reply_error(call, status, "%s", err->msg);
}

static void finish(ebb_upload *upload)
{
    ebb_envd_call *call = upload->call;
    ebb_value *written = upload->written;

    upload->written = NULL;
    upload_free(upload);
    ebb_envd_reply_value(call, 200, "text/plain; charset=utf-8", written,
                         false);
    ebb_value_free(written);
}

/* The body is over: so is the upload, once the attributes are set. */
static void check_end(ebb_upload *upload)
{
    ebb_err err;

    if (!upload->body_ended || upload->waiting || upload->raw.n > 0)
        return;
    if (upload->gunzip && ebb_gunzip_finish(upload->gunzip, &err) != 0) {
        err.code = EBB_INVALID_INPUT;
        ebb_err_wrap(&err, "error decompressing request body");
        fail(upload, &err);
        return;
    }
    if (upload->multipart &&
        ebb_multipart_finish(upload->multipart, &err) != 0) {
        ebb_err_wrap(&err, upload->fd >= 0 ? "error writing file"
                                           : "error reading form");
        fail(upload, &err);
        return;
    }
    if (ebb_upload_close_file(upload, &err) != 0)
        fail(upload, &err);
    else if (upload->settling == 0)
        finish(upload);
}

static void on_metadata_set(void *context, const ebb_err *err)
{
    ebb_envd_call *call = context;
    ebb_upload *upload = call->state;

    if (upload && err && upload->metadata.n > 0) {
        fail(upload, err);
    } else if (upload) {
        /* Without metadata the file system may well know no attributes. */
        upload->settling--;
        check_end(upload);
    }
    ebb_envd_call_arrived(call);
}

/* Replaces the attributes of a file that another upload may have set. */
static void set_metadata(ebb_upload *upload)
{
    upload->settling++;
    ebb_envd_call_hold(upload->call);
    ebb_box_set_metadata(upload->call->envd->sandbox->box, upload->part_path,
                         upload->metadata.bytes ? upload->metadata.bytes : "",
                         upload->metadata.n, on_metadata_set, upload->call);
}

static void pump(ebb_upload *upload);

static void on_opened(void *context, int fd, const ebb_err *why)
{
    ebb_envd_call *call = context;
    ebb_upload *upload = call->state;
    ebb_err err;

    if (!upload) {
        if (!why)
            close(fd);
    } else if (why) {
        ebb_upload_explain(upload, why, &err);
        fail(upload, &err);
    } else {
        upload->fd = fd;
        upload->waiting = false;
        set_metadata(upload);
        pump(upload);
    }
    ebb_envd_call_arrived(call);
}

/* Opens part_path; the body waits meanwhile. */
static void open_file(ebb_upload *upload)
{
    upload->waiting = true;
    ebb_exchange_pause(upload->call->exchange);
    ebb_envd_call_hold(upload->call);
    ebb_box_open(upload->call->envd->sandbox->box, upload->part_path,
                 EBB_BOX_WRITE, on_opened, upload->call);
}

/* ---- forms ---- */

static bool is_written(const ebb_upload *upload, const char *path)
{
    size_t i, n = ebb_value_size(upload->written);

    for (i = 0; i < n; i++) {
        const ebb_value *entry = ebb_value_at(upload->written, i);

        if (strcmp(ebb_value_find_string(entry, "path"), path) == 0)
            return true;
    }
    return false;
}

static int on_part(void *context, const char *name, const char *filename,
                   ebb_err *err)
{
    ebb_upload *upload = context;
    char *path;

    if (!name || strcmp(name, "file") != 0)
        return 0; /* another field: ignored */
    if (!upload->path && !filename)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "error getting multipart custom part file name: "
                           "filename not found in Content-Disposition "
                           "header");
    path = upload->path ? ebb_mem_dup(upload->path)
                        : ebb_envd_path_expand(filename, err);
    ebb_mem_free(upload->part_path);
    upload->part_path = path;
    if (!path)
        return upload->path ? ebb_err_set(err, EBB_NO_MEMORY, "no memory") : -1;
    if (is_written(upload, path))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "you cannot upload multiple files to the same "
                           "path '%s' in one upload request, only the first "
                           "specified file was uploaded",
                           path);
    ebb_multipart_pause(upload->multipart);
    open_file(upload);
    return 0;
}

static int on_part_bytes(void *context, const char *bytes, size_t n,
                         ebb_err *err)
{
    ebb_upload *upload = context;

    return upload->fd >= 0 ? ebb_upload_write(upload, bytes, n, err) : 0;
}

static int on_part_end(void *context, ebb_err *err)
{
    return ebb_upload_close_file(context, err);
}

static const ebb_multipart_sink form = { on_part, on_part_bytes, on_part_end };

/* ---- the body ---- */

/* Decoded bytes: to the form's reader or to the file. */
static int take_plain(ebb_upload *upload, const char *bytes, size_t n,
                      ebb_err *err)
{
    if (upload->multipart)
        return ebb_multipart_add(upload->multipart, bytes, n, err);
    return ebb_upload_write(upload, bytes, n, err);
}

struct expansion {
    ebb_upload *upload;
    ebb_err *err;
    bool sunk; /* the error is the sink's, not gzip's */
};

static int on_expanded(void *context, const char *bytes, size_t n)
{
    struct expansion *to = context;

    if (take_plain(to->upload, bytes, n, to->err) == 0)
        return 0;
    to->sunk = true;
    return -1;
}

static int take_slice(ebb_upload *upload, ebb_err *err)
{
    struct expansion to = { upload, err, false };
    size_t n =
        upload->raw.n < GZIP_SLICE_BYTES ? upload->raw.n : GZIP_SLICE_BYTES;
    ebb_err gzip_err;
    int rc = ebb_gunzip_add(upload->gunzip, upload->raw.bytes, n, on_expanded,
                            &to, &gzip_err);

    ebb_buf_drop(&upload->raw, n);
    if (rc == 0 || to.sunk)
        return rc;
    *err = gzip_err;
    err->code = EBB_INVALID_INPUT;
    return ebb_err_wrap(err, "error decompressing request body");
}

/* Goes on with what is here until it is used up or a file must be opened. */
static void pump(ebb_upload *upload)
{
    ebb_err err;
    int rc = 0;

    if (upload->multipart)
        rc = ebb_multipart_resume(upload->multipart, &err);
    while (rc == 0 && !upload->waiting && upload->raw.n > 0)
        rc = take_slice(upload, &err);
    if (rc != 0) {
        fail(upload, &err);
        return;
    }
    if (!upload->waiting && !upload->body_ended)
        ebb_exchange_resume(upload->call->exchange);
    check_end(upload);
}

static int on_body(void *context, ebb_exchange *exchange, const char *bytes,
                   size_t n)
{
    ebb_envd_call *call = context;
    ebb_upload *upload = call->state;
    ebb_err err;
    int rc = 0;

    (void)exchange;
    if (!upload)
        return -1; /* answered */
    if (!upload->gunzip)
        rc = take_plain(upload, bytes, n, &err);
    else if (ebb_buf_add(&upload->raw, bytes, n) != 0)
        rc = ebb_buf_check(&upload->raw, "an upload's piece", &err);
    while (rc == 0 && !upload->waiting && upload->raw.n > 0)
        rc = take_slice(upload, &err);
    if (rc != 0)
        fail(upload, &err);
    return rc;
}

static void on_end(void *context, ebb_exchange *exchange)
{
    ebb_envd_call *call = context;
    ebb_upload *upload = call->state;

    (void)exchange;
    if (!upload)
        return;
    upload->body_ended = true;
    check_end(upload);
}

/* ---- POST ---- */

static bool is_type(const char *header, const char *type)
{
    size_t n = strlen(type);

    return strncasecmp(header, type, n) == 0 &&
           (!header[n] || strchr("; \t", header[n]));
}

static int set_encoding(ebb_upload *upload, ebb_err *err)
{
    const char *given =
        ebb_exchange_header(upload->call->exchange, "Content-Encoding");

    if (!given || !*given || strcasecmp(given, "identity") == 0)
        return 0;
    if (strcasecmp(given, "gzip") != 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "error decompressing request body: unsupported "
                           "Content-Encoding: %s, supported: [gzip]",
                           given);
    upload->gunzip = ebb_gunzip_new(0, err);
    return upload->gunzip ? 0 : -1;
}

static int set_type(ebb_upload *upload, bool has_path, ebb_err *err)
{
    const char *type =
        ebb_exchange_header(upload->call->exchange, "Content-Type");

    if (type && is_type(type, "multipart/form-data")) {
        upload->multipart = ebb_multipart_new(type, &form, upload, err);
        if (upload->multipart)
            return 0;
        err->code = EBB_SERVER; /* 500, as the real one answers */
        return ebb_err_wrap(err, "error parsing multipart form");
    }
    if (!type || !is_type(type, "application/octet-stream"))
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "unsupported content type: %s, expected "
                           "multipart/form-data or application/octet-stream",
                           type ? type : "");
    if (!has_path)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "path query parameter is required for raw body "
                           "upload");
    upload->part_path = ebb_mem_dup(upload->path);
    if (!upload->part_path)
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory");
    return 0;
}

static int set_up(ebb_upload *upload, bool has_path, ebb_err *err)
{
    if (ebb_upload_read_metadata(upload->call->exchange, &upload->metadata,
                                 err) != 0)
        return ebb_err_wrap(err, "invalid metadata");
    if (set_type(upload, has_path, err) != 0)
        return -1;
    return set_encoding(upload, err);
}

void ebb_envd_files_post(ebb_envd_call *call)
{
    const char *path = ebb_exchange_query(call->exchange, "path");
    bool has_path = path && *path;
    ebb_upload *upload;
    ebb_err err;

    if (ebb_envd_files_check(call, "write") != 0)
        return;
    upload = ebb_mem_zero(sizeof *upload);
    if (!upload) {
        ebb_envd_reply_error(call, 500, "no memory");
        return;
    }
    upload->call = call;
    upload->fd = -1;
    upload->written = ebb_value_array();
    ebb_buf_init(&upload->metadata, EBB_UPLOAD_METADATA_BYTES_MAX);
    ebb_buf_init(&upload->raw, 0); /* one piece of the server's */
    call->state = upload;
    call->on_cancel = on_cancel;
    if (has_path && !(upload->path = ebb_envd_files_path(call, path))) {
        upload_free(upload);
        return;
    }
    if (set_up(upload, has_path, &err) != 0) {
        fail(upload, &err);
        return;
    }
    if (!upload->multipart)
        open_file(upload);
    ebb_exchange_receive(call->exchange, on_body, on_end, call);
}
