/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/code_result.h"

#include <string.h>

#include "base/mem.h"
#include "e2b/tasks/result.h"

/* ---- text results: one budget for all ---- */

/*
 * With n texts each gets at most max(1, budget / n), never more than what is
 * left. n grows while they come, so a text that is kept can only shrink: it is
 * cut to its share now, which bounds memory, and once more at the end.
 */
size_t ebb_e2b_code_result_share(const ebb_e2b_code_result *result, size_t n)
{
    size_t each = n == 0 ? 0 : result->result_bytes_max / n;

    return each > 0 ? each : 1;
}

static int recut(ebb_value *text, size_t max_bytes)
{
    size_t n = 0;
    const char *bytes = ebb_value_get_string(ebb_value_find(text, "text"), &n);
    int64_t count = ebb_value_find_int(text, "byteCount", 0), returned;
    ebb_value *cut, *shorter;

    if (ebb_value_find_int(text, "maxBytes", 0) == (int64_t)max_bytes)
        return 0; /* as when it came */
    cut = ebb_e2b_text_cut(bytes, n, max_bytes);
    returned = ebb_value_find_int(cut, "returnedBytes", 0);
    if (cut == NULL)
        return -1;
    shorter = ebb_value_copy(ebb_value_find(cut, "text"));
    ebb_value_free(cut);
    if (ebb_value_set(text, "text", shorter) != 0 ||
        ebb_value_set(text, "returnedBytes", ebb_value_int(returned)) != 0 ||
        ebb_value_set(text, "maxBytes", ebb_value_int((int64_t)max_bytes)) ||
        ebb_value_set(text, "truncated", ebb_value_bool(count > returned)))
        return -1;
    return 0;
}

static int share_out(ebb_e2b_code_result *result)
{
    size_t n = ebb_value_size(result->texts);
    size_t left = result->result_bytes_max,
           each = ebb_e2b_code_result_share(result, n);

    for (size_t i = 0; i < n; i++) {
        ebb_value *text = ebb_value_at(result->texts, i);
        if (recut(text, each < left ? each : left) != 0)
            return -1;
        left -= (size_t)ebb_value_find_int(text, "returnedBytes", 0);
    }
    return 0;
}

/* ---- the whole ---- */

static ebb_value *moved(ebb_value **from)
{
    ebb_value *value = *from;

    *from = NULL;
    return value != NULL ? value : ebb_value_null();
}

/* All but the artifacts, within the cap. */
static ebb_value *with_parts(ebb_e2b_code_result *result, ebb_value *out)
{
    if (share_out(result) != 0) {
        ebb_value_free(out);
        return NULL;
    }
    ebb_bounded_finish(&result->out);
    ebb_bounded_finish(&result->err);
    out = ebb_e2b_result_with(out, "executionCount",
                              moved(&result->execution_count));
    out = ebb_e2b_result_with(out, "textResults", moved(&result->texts));
    out = ebb_e2b_result_with(out, "stdout", ebb_e2b_text(&result->out));
    out = ebb_e2b_result_with(out, "stderr", ebb_e2b_text(&result->err));
    return ebb_e2b_result_with(out, "error", moved(&result->error));
}

/* Every BoundedText in it, to be cut if the whole does not fit. */
static int fit(ebb_value *out, ebb_err *err)
{
    ebb_value *texts = ebb_value_find(out, "textResults");
    size_t n = ebb_value_size(texts), count = 0;
    ebb_value *traceback =
        ebb_value_find(ebb_value_find(out, "error"), "traceback");
    ebb_value **all = ebb_mem_alloc((n + 3) * sizeof(ebb_value *));
    int failed;

    if (all == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "result of code");
    for (size_t i = 0; i < n; i++)
        all[count++] = ebb_value_at(texts, i);
    all[count++] = ebb_value_find(out, "stdout");
    all[count++] = ebb_value_find(out, "stderr");
    if (traceback != NULL)
        all[count++] = traceback;
    failed = ebb_e2b_result_fit(out, all, count, err);
    ebb_mem_free(all);
    return failed;
}

ebb_value *ebb_e2b_code_result_details(ebb_e2b_code_result *result)
{
    ebb_value *details = with_parts(result, ebb_value_object());
    ebb_err ignored = { 0 };

    if (details != NULL)
        fit(details, &ignored);
    return details;
}

static void say_too_large(const ebb_e2b_code_result *result, size_t bytes,
                          ebb_err *err)
{
    ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                "an artifact of the code has %zu bytes, maxArtifactBytes is "
                "%zu. Write it to a sandbox file and read it back with "
                "e2b.readFile",
                bytes, result->artifact_bytes_max);
}

ebb_value *ebb_e2b_code_result_take(ebb_e2b_code_result *result,
                                    const ebb_e2b_job *job, ebb_err *err,
                                    ebb_value **details)
{
    ebb_value *out;

    *details = NULL;
    if (result->too_large > 0) {
        say_too_large(result, result->too_large, err);
        *details = ebb_e2b_code_result_details(result);
        return NULL;
    }
    out = with_parts(result, ebb_e2b_result_new(job));
    out = ebb_e2b_result_with(out, "artifacts", moved(&result->artifacts));
    if (out == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "result of code");
        return NULL;
    }
    if (fit(out, err) == 0)
        return out;
    if (err->code == EBB_NO_MEMORY) {
        ebb_value_free(out);
        return NULL;
    }
    ebb_value_del(out, "artifacts");
    fit(out, err);
    *details = out;
    ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                "the artifacts of the code together pass the %d bytes of a "
                "result. Write them to sandbox files and read them back "
                "with e2b.readFile",
                EBB_E2B_RESULT_BYTES_MAX);
    return NULL;
}
