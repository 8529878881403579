/* SPDX-License-Identifier: MIT */
#include "e2b/files.h"

#include <string.h>

#include "base/mem.h"
#include "e2b/errors.h"
#include "task/place.h"

char *ebb_e2b_files_path(const char *path)
{
    char *escaped = ebb_http_escape(path, strlen(path));
    char *out = NULL;

    if (escaped != NULL)
        out = ebb_mem_printf("/files?path=%s", escaped);
    ebb_mem_free(escaped);
    return out;
}

/* The next name of a path and its length; 0 at the end. */
static size_t next_name(const char **path)
{
    *path += strspn(*path, "/");
    return strcspn(*path, "/");
}

static bool is(const char *name, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(name, text, n) == 0;
}

/* From where a name may begin to the next one that means something. */
static const char *next_step(const char *path)
{
    while (*path == '/' ||
           (*path == '.' && (path[1] == '/' || path[1] == '\0')))
        path++;
    return path;
}

/* A leading ~ is the home, where a relative path begins anyway. */
static const char *first_step(const char *path)
{
    if (*path == '~' && (path[1] == '/' || path[1] == '\0'))
        path++;
    return next_step(path);
}

bool ebb_e2b_files_same(const char *a, const char *b)
{
    if ((*a == '/') != (*b == '/'))
        return false;
    a = first_step(a);
    b = first_step(b);
    while (*a != '\0' && *b != '\0') {
        size_t n = strcspn(a, "/");
        if (strcspn(b, "/") != n || memcmp(a, b, n) != 0)
            return false;
        a = next_step(a + n);
        b = next_step(b + n);
    }
    return *a == *b;
}

uint64_t ebb_e2b_files_mark(const char *path)
{
    uint64_t mark = *path == '/';

    path = first_step(path);
    while (*path != '\0') {
        for (; *path != '/' && *path != '\0'; path++)
            mark = mark * 31 + (unsigned char)*path;
        mark = mark * 31 + '/';
        path = next_step(path);
    }
    return mark;
}

/*
 * A relative path begins in a home of unknown depth, which ".." can leave:
 * then it counts as seen from the root.
 */
bool ebb_e2b_files_is_virtual(const char *path)
{
    int depth = 0;
    bool from_root = *path == '/', is_virtual = false;
    size_t n;

    for (; (n = next_name(&path)) > 0; path += n) {
        if (is(path, n, "."))
            continue;
        if (is(path, n, "..")) {
            if (depth > 0)
                depth--;
            else
                from_root = true;
            continue;
        }
        if (depth == 0)
            is_virtual = is(path, n, "proc") || is(path, n, "sys");
        depth++;
    }
    return from_root && depth > 0 && is_virtual;
}

void ebb_e2b_files_error(const ebb_e2b_job *job,
                         const ebb_e2b_transfer *transfer, const char *path,
                         ebb_err *err)
{
    int status = ebb_e2b_transfer_status(transfer);
    ebb_connect_code code = ebb_e2b_error_connect(transfer);
    char shown[EBB_SHOWN_BYTES], words[EBB_E2B_WORDS_BYTES];

    ebb_e2b_error_status(job, transfer, job->subject, err);
    if (code != EBB_CONNECT_OK)
        err->code = ebb_e2b_error_file_code(code);
    else if (status == 404)
        err->code = EBB_FILE_NOT_FOUND;
    ebb_e2b_error_words(job, transfer, words);
    /* A path that goes through a file is "internal" to envd. */
    if (err->code == EBB_SERVER && strstr(words, "ot a directory") != NULL)
        err->code = EBB_FILE_NOT_FOUND;
    /* So is one that may not be entered; another attempt changes nothing. */
    if (err->code == EBB_SERVER && strstr(words, "ermission denied") != NULL)
        err->code = EBB_FORBIDDEN;
    if (err->code != EBB_SERVER && err->code != EBB_RATE_LIMITED) {
        int64_t after = err->retry_after_ms;
        ebb_err_set_status(err, err->code, status, "%s: %s: %s", job->subject,
                           ebb_place_shown(path, shown), words);
        err->retry_after_ms = after;
    }
}
