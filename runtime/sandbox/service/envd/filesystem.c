/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/filesystem.h"

#include "base/mem.h"
#include "sandbox/service/envd/envd_entry.h"
#include "sandbox/service/envd/envd_path.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define LISTING_BYTES_MAX ((size_t)64 << 20)

/* One call on its way: what it asked for. Freed by finish. */
struct request {
    ebb_envd_call *call;
    char *path;   /* absolute; of Move the source */
    char *to;     /* of Move */
    bool listing; /* a failed listing asks what the path is */
    char *prefix; /* of a listing's entries: the path, cleaned */
    ebb_buf out;  /* the listing so far */
    ebb_err err;  /* why an entry could not be added, or what failed before */
    bool failed;
};

/* The box called back for the last time. */
static void finish(struct request *request)
{
    ebb_envd_call_arrived(request->call);
    ebb_mem_free(request->path);
    ebb_mem_free(request->to);
    ebb_mem_free(request->prefix);
    ebb_buf_clear(&request->out);
    ebb_mem_free(request);
}

/* A request about the path, or NULL after the call was failed. */
static struct request *begin(ebb_envd_call *call, const char *path,
                             const char *to)
{
    struct request *request = ebb_mem_zero(sizeof *request);
    ebb_err err;

    if (!request) {
        ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED, "no memory");
        return NULL;
    }
    request->call = call;
    ebb_envd_call_hold(call);
    ebb_buf_init(&request->out, LISTING_BYTES_MAX);
    request->path = ebb_envd_path_expand(path, &err);
    if (request->path && to)
        request->to = ebb_envd_path_expand(to, &err);
    if (request->path && (request->to || !to))
        return request;
    ebb_envd_fail(call, EBB_CONNECT_INVALID_ARGUMENT, "%s", err.msg);
    finish(request);
    return NULL;
}

static ebb_box *box_of(const struct request *request)
{
    return request->call->envd ? request->call->envd->sandbox->box : NULL;
}

/* What is said when nothing better fits the error. */
static void fail(const struct request *request, const ebb_err *err,
                 const char *what)
{
    ebb_connect_code code = EBB_CONNECT_INTERNAL;

    if (err->code == EBB_SANDBOX_NOT_RUNNING)
        code = EBB_CONNECT_UNAVAILABLE;
    else if (err->code == EBB_LIMIT_EXCEEDED)
        code = EBB_CONNECT_RESOURCE_EXHAUSTED;
    ebb_envd_fail(request->call, code, "%s: %s", what, err->msg);
}

static void answer_entry(const struct request *request,
                         const ebb_box_entry *entry, const char *path)
{
    /* MakeDir's and Move's answers are the same message on the wire. */
    Filesystem__StatResponse response = FILESYSTEM__STAT_RESPONSE__INIT;
    ebb_envd_entry out;
    ebb_err err;

    if (ebb_envd_entry_init(&out, entry, path, &err) == 0) {
        response.entry = &out.info;
        ebb_envd_answer(request->call, &response.base);
    } else {
        fail(request, &err, "error getting file info");
    }
    ebb_envd_entry_clear(&out);
}

/* ---- Stat ---- */

static void on_stat(void *context, const ebb_box_entry *entry,
                    const ebb_err *err)
{
    struct request *request = context;
    const char *path = request->to ? request->to : request->path;

    if (!err)
        answer_entry(request, entry, path);
    else if (err->code == EBB_FILE_NOT_FOUND)
        ebb_envd_fail(request->call, EBB_CONNECT_NOT_FOUND,
                      "file not found: lstat %s: no such file or directory",
                      path);
    else
        fail(request, err, "error getting file info");
    finish(request);
}

void ebb_envd_stat(ebb_envd_call *call, const ProtobufCMessage *message)
{
    const Filesystem__StatRequest *stat =
        (const Filesystem__StatRequest *)message;
    struct request *request = begin(call, stat->path, NULL);

    if (request)
        ebb_box_stat(box_of(request), request->path, on_stat, request);
}

/* The change is made: answers with what is there now. */
static void answer_stat(struct request *request)
{
    if (box_of(request) && ebb_envd_call_open(request->call))
        ebb_box_stat(box_of(request), request->to ? request->to : request->path,
                     on_stat, request);
    else
        finish(request);
}

/* ---- ListDir ---- */

static int add_entry(struct request *request, const ebb_box_entry *entry)
{
    const ebb_envd_rpc *rpc = request->call->rpc;
    size_t prefix = strlen(request->prefix);
    size_t base = strlen(request->path);
    const char *below = entry->path;
    char *path;
    ebb_envd_entry out;
    ebb_buf one;
    int rc;

    /* Children are called after the path as it was asked for, cleaned. */
    if (strncmp(below, request->path, base) == 0)
        below += base;
    below += strspn(below, "/");
    path =
        ebb_mem_printf("%s%s%s", request->prefix, prefix > 1 ? "/" : "", below);
    if (!path)
        return ebb_err_set(&request->err, EBB_NO_MEMORY, "no memory");
    ebb_buf_init(&one, 0);
    rc = ebb_envd_entry_init(&out, entry, path, &request->err);
    if (rc == 0)
        rc = ebb_envd_encode(rpc, &out.info.base, &one, &request->err);
    if (rc == 0) {
        ebb_envd_list_add(rpc, &request->out, &one);
        rc = ebb_buf_check(&request->out, "a listing", &request->err);
    }
    ebb_envd_entry_clear(&out);
    ebb_buf_clear(&one);
    ebb_mem_free(path);
    return rc;
}

static void on_entry(void *context, const ebb_box_entry *entry)
{
    struct request *request = context;

    if (request->failed || !ebb_envd_call_open(request->call))
        return;
    request->failed = add_entry(request, entry) != 0;
}

/* Why a listing failed with ENOTDIR: the path is a file, or leads through. */
static void on_listed_stat(void *context, const ebb_box_entry *entry,
                           const ebb_err *err)
{
    struct request *request = context;

    (void)entry;
    if (!err)
        ebb_envd_fail(request->call, EBB_CONNECT_INVALID_ARGUMENT,
                      "path is not a directory: %s", request->path);
    else
        fail(request, err, "error listing directory");
    finish(request);
}

static void on_listed(void *context, const ebb_err *err)
{
    struct request *request = context;
    ebb_envd_call *call = request->call;

    if (err && err->status == ENOTDIR && box_of(request)) {
        ebb_box_stat(box_of(request), request->path, on_listed_stat, request);
        return;
    }
    if (err && err->code == EBB_FILE_NOT_FOUND)
        ebb_envd_fail(call, EBB_CONNECT_NOT_FOUND,
                      "path not found: lstat %s: no such file or directory",
                      request->path);
    else if (err && err->status == ELOOP)
        ebb_envd_fail(call, EBB_CONNECT_FAILED_PRECONDITION,
                      "cyclic symlink or chain >255 links at \"%s\"",
                      request->path);
    else if (err || request->failed)
        fail(request, err ? err : &request->err, "error listing directory");
    else if (ebb_envd_call_open(call)) {
        ebb_envd_list_end(call->rpc, &request->out);
        ebb_envd_answer_bytes(
            call, request->out.bytes ? request->out.bytes : "", request->out.n);
    }
    finish(request);
}

void ebb_envd_list_dir(ebb_envd_call *call, const ProtobufCMessage *message)
{
    const Filesystem__ListDirRequest *list =
        (const Filesystem__ListDirRequest *)message;
    struct request *request = begin(call, list->path, NULL);

    if (!request)
        return;
    request->prefix = ebb_envd_path_clean(request->path);
    if (!request->prefix) {
        ebb_envd_fail(call, EBB_CONNECT_RESOURCE_EXHAUSTED, "no memory");
        finish(request);
        return;
    }
    ebb_box_list(box_of(request), request->path,
                 list->depth == 0 ? 1 : list->depth, EBB_ENVD_ENTRIES_MAX,
                 on_entry, on_listed, request);
}

/* ---- MakeDir ---- */

/* Something is there already: a directory, or a file in its way. */
static void on_made_stat(void *context, const ebb_box_entry *entry,
                         const ebb_err *err)
{
    struct request *request = context;

    if (err)
        fail(request, err, "error getting file info");
    else if (S_ISDIR(entry->mode) || S_ISDIR(entry->target_mode))
        ebb_envd_fail(request->call, EBB_CONNECT_ALREADY_EXISTS,
                      "directory already exists: %s", request->path);
    else
        ebb_envd_fail(request->call, EBB_CONNECT_INVALID_ARGUMENT,
                      "path already exists but it is not a directory: %s",
                      request->path);
    finish(request);
}

static void on_made(void *context, const ebb_err *err)
{
    struct request *request = context;

    if (!err) {
        answer_stat(request);
        return;
    }
    if ((err->code == EBB_CONFLICT || err->status == ENOTDIR) &&
        box_of(request)) {
        ebb_box_stat(box_of(request), request->path, on_made_stat, request);
        return;
    }
    fail(request, err, "error creating directory");
    finish(request);
}

void ebb_envd_make_dir(ebb_envd_call *call, const ProtobufCMessage *message)
{
    const Filesystem__MakeDirRequest *make =
        (const Filesystem__MakeDirRequest *)message;
    struct request *request = begin(call, make->path, NULL);

    if (request)
        ebb_box_make_dir(box_of(request), request->path, on_made, request);
}

/* ---- Move, Remove ---- */

static void on_moved(void *context, const ebb_err *err)
{
    struct request *request = context;

    if (!err) {
        answer_stat(request);
        return;
    }
    if (err->code == EBB_FILE_NOT_FOUND)
        ebb_envd_fail(request->call, EBB_CONNECT_NOT_FOUND,
                      "source file not found: rename %s %s: no such file or "
                      "directory",
                      request->path, request->to);
    else
        fail(request, err, "error renaming");
    finish(request);
}

void ebb_envd_move(ebb_envd_call *call, const ProtobufCMessage *message)
{
    const Filesystem__MoveRequest *move =
        (const Filesystem__MoveRequest *)message;
    struct request *request = begin(call, move->source, move->destination);

    if (request)
        ebb_box_move(box_of(request), request->path, request->to, on_moved,
                     request);
}

static void on_removed(void *context, const ebb_err *err)
{
    Filesystem__RemoveResponse response = FILESYSTEM__REMOVE_RESPONSE__INIT;
    struct request *request = context;

    if (!err)
        ebb_envd_answer(request->call, &response.base);
    else
        fail(request, err, "error removing file or directory");
    finish(request);
}

void ebb_envd_remove(ebb_envd_call *call, const ProtobufCMessage *message)
{
    const Filesystem__RemoveRequest *remove =
        (const Filesystem__RemoveRequest *)message;
    struct request *request = begin(call, remove->path, NULL);

    if (request)
        ebb_box_remove(box_of(request), request->path, on_removed, request);
}
