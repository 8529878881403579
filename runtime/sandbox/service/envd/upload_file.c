/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/upload.h"

#include "sandbox/service/envd/envd_path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int ebb_upload_write(ebb_upload *upload, const char *bytes, size_t n,
                     ebb_err *err)
{
    while (n > 0) {
        ssize_t wrote = write(upload->fd, bytes, n);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0 && (errno == ENOSPC || errno == EDQUOT))
            return ebb_err_set_status(err, EBB_SERVER, errno,
                                      "not enough disk space available");
        if (wrote < 0)
            return ebb_err_set_errno(err, EBB_SERVER, "error writing file");
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

/* {"name","path","type","metadata"?} of the file that is now written. */
static int add_result(ebb_upload *upload, ebb_err *err)
{
    ebb_value *entry = ebb_value_object(), *pairs = NULL;
    size_t n, at = 0;
    const char *name = ebb_envd_path_base(upload->part_path, &n);

    if (upload->metadata.n > 0)
        pairs = ebb_value_object();
    while (pairs && at < upload->metadata.n) {
        const char *key = upload->metadata.bytes + at;
        const char *value = key + strlen(key) + 1;

        ebb_value_set(pairs, key, ebb_value_text(value));
        at = (size_t)(value + strlen(value) + 1 - upload->metadata.bytes);
    }
    if (pairs)
        ebb_value_set(entry, "metadata", pairs);
    ebb_value_set(entry, "name", ebb_value_string(name, n));
    ebb_value_set(entry, "path", ebb_value_text(upload->part_path));
    ebb_value_set(entry, "type", ebb_value_text("file"));
    if (ebb_value_size(entry) < 3 || ebb_value_add(upload->written, entry) != 0)
        return ebb_err_set(err, EBB_INVALID_INPUT,
                           "the path is not UTF-8, or there is no memory");
    return 0;
}

int ebb_upload_close_file(ebb_upload *upload, ebb_err *err)
{
    int fd = upload->fd;

    if (fd < 0)
        return 0;
    upload->fd = -1;
    if (close(fd) != 0)
        return ebb_err_set_errno(err, EBB_SERVER, "error writing file");
    return add_result(upload, err);
}

int ebb_upload_explain(const ebb_upload *upload, const ebb_err *why,
                       ebb_err *err)
{
    const char *path = upload->part_path;

    *err = *why;
    if (why->status == EISDIR)
        return ebb_err_set(err, EBB_INVALID_INPUT, "path is a directory: %s",
                           path);
    if (why->status == ENOTDIR)
        return ebb_err_set(err, EBB_SERVER,
                           "error ensuring directories: path is a file, in "
                           "%s",
                           path);
    /* ENOENT: a parent is missing and cannot be made. */
    if (why->status == EACCES || why->status == EPERM || why->status == EROFS ||
        why->status == ENOENT)
        return ebb_err_set(err, EBB_FORBIDDEN, "path may not be written: %s",
                           path);
    if (why->status == ENOSPC || why->status == EDQUOT)
        return ebb_err_set_status(err, EBB_SERVER, why->status,
                                  "not enough disk space available");
    return ebb_err_wrap(err, "error opening file");
}
