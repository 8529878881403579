/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "sandbox/service/envd/envd_path.h"
#include "sandbox/service/envd/files_head.h"
#include "sandbox/service/envd/signature.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *query_or_empty(const ebb_envd_call *call, const char *name)
{
    const char *value = ebb_exchange_query(call->exchange, name);

    return value ? value : "";
}

/* ---- the checks that GET and POST share ---- */

/* The query as a signature for op covers it; -1 for a bad expiry. */
static int read_signature(const ebb_exchange *exchange,
                          const ebb_sandbox *sandbox, const char *op,
                          ebb_signature *out)
{
    const char *path = ebb_exchange_query(exchange, "path");
    const char *user = ebb_exchange_query(exchange, "username");
    const char *expiry = ebb_exchange_query(exchange, "signature_expiration");
    char *end;

    *out = (ebb_signature){ .path = path ? path : "",
                            .op = op,
                            .user = user ? user : "",
                            .token = sandbox->token,
                            .expires = expiry != NULL };
    if (!expiry)
        return 0;
    errno = 0;
    out->expiry_s = strtoll(expiry, &end, 10);
    return *expiry && !*end && errno == 0 ? 0 : -1;
}

static void refuse_expiry(ebb_envd_call *call)
{
    char *message = ebb_mem_printf(
        "Invalid format for parameter signature_expiration: error binding "
        "string parameter: strconv.ParseInt: parsing \"%.100s\": invalid "
        "syntax\n",
        query_or_empty(call, "signature_expiration"));

    ebb_envd_reply_text(call, 400, message ? message : "bad expiration\n");
    ebb_mem_free(message);
}

bool ebb_envd_signature_matches(const ebb_sandbox *sandbox,
                                const ebb_exchange *exchange)
{
    bool reads = strcmp(ebb_exchange_method(exchange), "GET") == 0;
    const char *given = ebb_exchange_query(exchange, "signature");
    ebb_signature signature;

    return given && *sandbox->token &&
           read_signature(exchange, sandbox, reads ? "read" : "write",
                          &signature) == 0 &&
           ebb_signature_matches(&signature, given);
}

static int refuse(ebb_envd_call *call, const char *why)
{
    ebb_envd_reply_error(call, 401, "%s", why);
    return -1;
}

static int check_signature(ebb_envd_call *call, const ebb_signature *signature)
{
    const char *header = ebb_exchange_header(call->exchange, "X-Access-Token");
    const char *given = ebb_exchange_query(call->exchange, "signature");

    if (!*signature->token)
        return 0;
    if (header && *header) {
        if (ebb_digest_equal(header, signature->token))
            return 0;
        return refuse(call,
                      "access token present in header but does not match");
    }
    if (!given)
        return refuse(call, "missing signature query parameter");
    if (!ebb_signature_matches(signature, given))
        return refuse(call, "invalid signature");
    if (signature->expires && signature->expiry_s < (int64_t)time(NULL))
        return refuse(call, "signature is already expired");
    return 0;
}

int ebb_envd_files_check(ebb_envd_call *call, const char *op)
{
    const char *user = ebb_exchange_query(call->exchange, "username");
    ebb_signature signature;

    if (read_signature(call->exchange, call->envd->sandbox, op, &signature) !=
        0) {
        refuse_expiry(call);
        return -1;
    }
    if (check_signature(call, &signature) != 0)
        return -1;
    if (user && *user)
        call->user = ebb_envd_user_find(user);
    if (call->user)
        return 0;
    ebb_envd_reply_error(call, 401,
                         "error looking up user '%s': user: unknown user %s",
                         user, user);
    return -1;
}

char *ebb_envd_files_path(ebb_envd_call *call, const char *path)
{
    ebb_err err;
    char *expanded = ebb_envd_path_expand(path, &err);

    if (!expanded)
        ebb_envd_reply_error(call, 400,
                             "error expanding and resolving path '%s': %s",
                             path, err.msg);
    return expanded;
}

/* ---- GET ---- */

/* One download on its way. */
struct download {
    ebb_envd_call *call;
    char *path;
};

static void download_free(struct download *download)
{
    ebb_mem_free(download->path);
    ebb_mem_free(download);
}

static void refuse_open(ebb_envd_call *call, const char *path,
                        const ebb_err *err)
{
    if (err->code == EBB_FILE_NOT_FOUND)
        ebb_envd_reply_error(call, 404, "path '%s' does not exist", path);
    else if (err->status == EISDIR)
        ebb_envd_reply_error(call, 400, "path '%s' is a directory", path);
    else if (err->status == EACCES || err->status == EPERM)
        ebb_envd_reply_error(call, 403, "path '%s' may not be read", path);
    else if (err->code == EBB_UNSUPPORTED)
        ebb_envd_reply_error(call, 500,
                             "path '%s' is not on a disk: read it with a "
                             "command, such as cat",
                             path);
    else if (err->code == EBB_SANDBOX_NOT_RUNNING)
        ebb_envd_reply_error(call, 502, "%s", err->msg);
    else
        ebb_envd_reply_error(call, err->code == EBB_INVALID_INPUT ? 400 : 500,
                             "error opening file: %s", err->msg);
}

static void add_heads(ebb_exchange *exchange, const char *name,
                      const char *date)
{
    ebb_buf disposition;

    ebb_buf_init(&disposition, 0);
    ebb_files_write_disposition(name, &disposition);
    if (disposition.bytes)
        ebb_exchange_add_header(exchange, "Content-Disposition",
                                disposition.bytes);
    ebb_buf_clear(&disposition);
    if (date)
        ebb_exchange_add_header(exchange, "Last-Modified", date);
    ebb_exchange_add_header(exchange, "Vary", "Accept-Encoding");
}

/* If-Modified-Since: whether the client's copy is still good. */
static bool is_unchanged(const ebb_exchange *exchange, time_t modified)
{
    const char *since = ebb_exchange_header(exchange, "If-Modified-Since");
    int64_t ms;

    return since && ebb_clock_parse_http(since, &ms) &&
           (int64_t)modified <= ms / 1000;
}

/* A range asked for under a condition that does not hold is no range. */
static const char *range_of(const ebb_exchange *exchange, const char *date)
{
    const char *when = ebb_exchange_header(exchange, "If-Range");

    if (when && strcmp(when, date) != 0)
        return NULL;
    return ebb_exchange_header(exchange, "Range");
}

static void refuse_range(ebb_envd_call *call, const char *name, uint64_t size)
{
    static const char why[] = "invalid range: failed to overlap\n";
    char range[48];

    snprintf(range, sizeof range, "bytes */%" PRIu64, size);
    add_heads(call->exchange, name, NULL);
    ebb_exchange_add_header(call->exchange, "Content-Range", range);
    ebb_exchange_add_header(call->exchange, "X-Content-Type-Options",
                            "nosniff");
    ebb_envd_call_answered(call);
    ebb_exchange_reply(call->exchange, 416, "text/plain; charset=utf-8", why,
                       sizeof why - 1);
}

/* Answers with the open file; takes fd. */
static void send_file(ebb_envd_call *call, const char *name, int fd,
                      const struct stat *st)
{
    uint64_t offset = 0, size = (uint64_t)st->st_size, length = size;
    char first[EBB_FILES_SNIFF_BYTES], date[EBB_FILES_DATE_BYTES], range[96];
    ssize_t n = pread(fd, first, sizeof first, 0);
    ebb_files_range which;

    ebb_files_write_date(st->st_mtime, date);
    which = ebb_files_parse_range(range_of(call->exchange, date), size, &offset,
                                  &length);
    if (which == EBB_FILES_UNSATISFIABLE) {
        close(fd);
        refuse_range(call, name, size);
        return;
    }
    add_heads(call->exchange, name, date);
    ebb_envd_call_answered(call);
    if (is_unchanged(call->exchange, st->st_mtime)) {
        close(fd);
        ebb_exchange_reply(call->exchange, 304, NULL, NULL, 0);
        return;
    }
    ebb_exchange_add_header(call->exchange, "Accept-Ranges", "bytes");
    if (which == EBB_FILES_PART) {
        snprintf(range, sizeof range, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
                 offset, offset + length - 1, size);
        ebb_exchange_add_header(call->exchange, "Content-Range", range);
    }
    ebb_exchange_reply_file(call->exchange, which == EBB_FILES_PART ? 206 : 200,
                            ebb_files_type(name, first, n > 0 ? (size_t)n : 0),
                            fd, offset, length);
}

static void on_opened(void *context, int fd, const ebb_err *err)
{
    struct download *download = context;
    ebb_envd_call *call = download->call;
    struct stat st;
    char *name;
    size_t n;
    const char *base = ebb_envd_path_base(download->path, &n);

    if (!ebb_envd_call_arrived(call)) {
        if (!err)
            close(fd);
        download_free(download);
        return;
    }
    name = ebb_mem_dup_n(base, n);
    if (err) {
        refuse_open(call, download->path, err);
    } else if (!name || fstat(fd, &st) != 0) {
        close(fd);
        ebb_envd_reply_error(call, 500, "error opening file");
    } else if (!ebb_files_takes_identity(
                   ebb_exchange_header(call->exchange, "Accept-Encoding"))) {
        close(fd);
        ebb_envd_reply_error(call, 406,
                             "error parsing Accept-Encoding: no acceptable "
                             "encoding found, supported: [identity]");
    } else {
        send_file(call, name, fd, &st);
    }
    ebb_mem_free(name);
    download_free(download);
}

void ebb_envd_files_get(ebb_envd_call *call)
{
    struct download *download;

    if (ebb_envd_files_check(call, "read") != 0)
        return;
    download = ebb_mem_zero(sizeof *download);
    if (!download) {
        ebb_envd_reply_error(call, 500, "no memory");
        return;
    }
    download->call = call;
    download->path = ebb_envd_files_path(call, query_or_empty(call, "path"));
    if (!download->path) {
        download_free(download);
        return;
    }
    ebb_envd_call_hold(call);
    ebb_box_open(call->envd->sandbox->box, download->path, EBB_BOX_READ,
                 on_opened, download);
}
