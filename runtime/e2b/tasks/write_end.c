/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/value_pool.h"
#include "e2b/connection.h"
#include "e2b/errors.h"
#include "e2b/files.h"
#include "e2b/tasks/result.h"

/* ---- what is known of each file ---- */

static void set_fate(ebb_e2b_writing *w, size_t first, size_t n,
                     ebb_e2b_fate fate)
{
    for (size_t i = first; i < first + n; i++)
        w->files[i].fate = fate;
}

static int add_file(ebb_value *files, ebb_pool *pool, const ebb_e2b_file *f)
{
    static const char *const keys[] = { "path", "byteCount" };
    ebb_value *const members[] = { ebb_value_copy(f->name),
                                   ebb_pool_int(pool, (int64_t)f->n) };

    return ebb_value_add(files, ebb_pool_object_of(pool, keys, members, 2));
}

/* [{path, byteCount}] of the files of one fate. */
static ebb_value *list(const ebb_e2b_writing *w, ebb_e2b_fate fate)
{
    ebb_value *out = ebb_value_array();
    ebb_pool *pool = out != NULL ? ebb_value_pool(out) : NULL;
    bool failed = pool == NULL;

    for (size_t i = 0; !failed && i < w->count; i++)
        failed =
            w->files[i].fate == fate && add_file(out, pool, &w->files[i]) != 0;
    if (!failed)
        return out;
    ebb_value_free(out);
    return NULL;
}

ebb_value *ebb_e2b_writing_details(const ebb_e2b_job *job)
{
    const ebb_e2b_writing *w = (const ebb_e2b_writing *)job;
    ebb_value *details;

    if (!job->allowed ||
        (w->count == 1 && w->files[0].fate == EBB_E2B_NOT_SENT))
        return NULL;
    details = ebb_e2b_result_with(ebb_value_object(), "written",
                                  list(w, EBB_E2B_WRITTEN));
    return ebb_e2b_result_with(details, "mayBeWritten", list(w, EBB_E2B_SENT));
}

void ebb_e2b_writing_unknown(ebb_e2b_writing *w, const char *why)
{
    ebb_err err = { 0 };

    ebb_err_set(&err, EBB_OUTCOME_UNKNOWN,
                "%s: %s; the files may have been written, and are not sent "
                "again",
                w->job.subject, why);
    ebb_e2b_job_fail(&w->job, &err, NULL);
}

/* ---- a failure ---- */

/*
 * Our own service says of a form that fails how many of its files were whole
 * before it; it takes them in order and begins none after the one that
 * fails. E2B's says nothing, and then each may be written.
 */
static void take_report(ebb_e2b_writing *w, const ebb_e2b_transfer *transfer)
{
    const char *said = ebb_e2b_transfer_header(transfer, "Ebb-Files-Written");
    size_t n = said == NULL ? 0 : strspn(said, "0123456789");
    size_t written;

    if (n == 0 || n > 3 || said[n] != '\0')
        return;
    written = strtoul(said, NULL, 10);
    if (written >= w->asked)
        return; /* then none would have failed */
    set_fate(w, w->first, w->asked, EBB_E2B_NOT_SENT);
    set_fate(w, w->first, written, EBB_E2B_WRITTEN);
    w->first += written;
    w->asked = 1; /* the one that failed */
    w->files[w->first].fate = EBB_E2B_SENT;
}

/* Whether words name the path by itself, not as a part of another word. */
static bool names(const char *words, const char *path)
{
    size_t n = strlen(path);
    const char *before = *path == '/' ? " '\":(" : " '\":(/";

    for (const char *at = strstr(words, path); at != NULL;
         at = strstr(at + 1, path))
        if ((at == words || strchr(before, at[-1]) != NULL) &&
            strchr(" '\":,;)", at[n]) != NULL) /* or the end */
            return true;
    return false;
}

/* The one file that the server's words name, or NULL: none or several. */
static const char *named(const ebb_e2b_writing *w, const char *words)
{
    const char *path = NULL;

    for (size_t i = w->first; i < w->first + w->asked; i++) {
        if (!names(words, w->files[i].path))
            continue;
        if (path != NULL)
            return NULL;
        path = w->files[i].path;
    }
    return path;
}

static void refused(ebb_e2b_writing *w, const ebb_e2b_transfer *transfer,
                    const char *words)
{
    int status = ebb_e2b_transfer_status(transfer);
    const char *path = w->files[w->first].path;
    ebb_err err = { 0 };
    char several[48];

    /* A full disk shows in the middle of a file, all else before it. */
    if (w->asked == 1 && status != 507)
        w->files[w->first].fate = EBB_E2B_NOT_SENT;
    if (w->asked > 1) {
        snprintf(several, sizeof several, "one of %zu files", w->asked);
        path = named(w, words);
    }
    ebb_e2b_files_error(&w->job, transfer, path != NULL ? path : several, &err);
    if (err.code == EBB_FILE_NOT_FOUND)
        err.code = EBB_INVALID_INPUT;
    ebb_e2b_job_fail(&w->job, &err, NULL);
}

static void http_failed(ebb_e2b_writing *w, ebb_e2b_transfer *transfer)
{
    int status = ebb_e2b_transfer_status(transfer);
    char words[EBB_E2B_WORDS_BYTES], why[EBB_E2B_WORDS_BYTES + 32];

    /* Nothing of this request was executed, whichever way it goes on. */
    if (ebb_e2b_refusal_of(transfer) != EBB_E2B_NOT_REFUSED)
        set_fate(w, w->first, w->asked, EBB_E2B_NOT_SENT);
    if (ebb_e2b_connect_again(&w->job, transfer))
        return;
    take_report(w, transfer);
    ebb_e2b_error_words(&w->job, transfer, words);
    if (ebb_e2b_error_refuses(status) || status == 507) {
        refused(w, transfer, words);
        return;
    }
    snprintf(why, sizeof why, "%s (HTTP %d)", words, status);
    ebb_e2b_writing_unknown(w, why);
}

/* ---- an answer ---- */

/* Whether an entry of the answer is the file: its path as the server sees it,
 * which begins in the home when it is relative. */
static bool is_listed(const ebb_value *json, const char *path)
{
    size_t n = strlen(path), length;

    for (size_t i = 0; i < ebb_value_size(json); i++) {
        const char *at = ebb_value_find_string(ebb_value_at(json, i), "path");
        if (at == NULL)
            continue;
        length = strlen(at);
        if (strcmp(at, path) == 0 ||
            (*path != '/' && length > n && at[length - n - 1] == '/' &&
             strcmp(at + length - n, path) == 0))
            return true;
    }
    return false;
}

static void finish(ebb_e2b_writing *w)
{
    ebb_value *result = ebb_e2b_result_new(&w->job);

    result = ebb_e2b_result_with(result, "files", list(w, EBB_E2B_WRITTEN));
    ebb_e2b_job_finish(&w->job, result);
}

static void confirm(ebb_e2b_writing *w, const ebb_e2b_transfer *transfer)
{
    const ebb_buf *body = ebb_e2b_transfer_body(transfer);
    ebb_err ignored = { 0 };
    ebb_value *json = NULL;
    size_t confirmed;

    if (body->n > 0)
        json = ebb_value_parse(body->bytes, body->n, 0, &ignored);
    confirmed = ebb_value_type(json) == EBB_ARRAY ? ebb_value_size(json) : 0;
    for (size_t i = w->first; i < w->first + w->asked; i++)
        if (confirmed >= w->asked ||
            (confirmed > 0 && is_listed(json, w->files[i].path)))
            w->files[i].fate = EBB_E2B_WRITTEN;
    ebb_value_free(json);
    if (confirmed < w->asked) {
        ebb_e2b_writing_unknown(w, "the answer does not confirm every file");
        return;
    }
    w->first += w->asked;
    w->asked = 0;
    if (w->first < w->count)
        w->next(&w->job);
    else
        finish(w);
}

void ebb_e2b_writing_done(ebb_e2b_writing *w, ebb_e2b_transfer *transfer,
                          const ebb_err *failure)
{
    ebb_err err = { 0 };

    if (failure == NULL && ebb_e2b_transfer_status(transfer) == 200) {
        confirm(w, transfer);
    } else if (failure == NULL) {
        http_failed(w, transfer);
    } else if (ebb_e2b_transfer_was_sent(transfer)) {
        ebb_e2b_writing_unknown(w, failure->msg);
    } else {
        set_fate(w, w->first, w->asked, EBB_E2B_NOT_SENT);
        err = *failure;
        ebb_err_wrap(&err, "%s", w->job.subject);
        ebb_e2b_job_fail(&w->job, &err, NULL);
    }
}
