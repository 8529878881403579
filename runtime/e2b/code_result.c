/* SPDX-License-Identifier: MIT */
#include "e2b/code_result.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "e2b/result.h"

#define RESULTS_MAX     10000
#define NAME_BYTES_MAX  4096
#define VALUE_BYTES_MAX 65536

int ebb_e2b_code_result_init(ebb_e2b_code_result *result,
                             const ebb_value *input, ebb_err *err)
{
    *result = (ebb_e2b_code_result){
        .result_bytes_max =
            (size_t)ebb_value_find_int(input, "maxResultBytes", 0),
        .artifact_bytes_max =
            (size_t)ebb_value_find_int(input, "maxArtifactBytes", 0),
        .output_bytes_max =
            (size_t)ebb_value_find_int(input, "maxOutputBytes", 0),
        .texts = ebb_value_array(),
        .artifacts = ebb_value_array(),
    };
    if (result->texts == NULL || result->artifacts == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "result of code");
    if (ebb_bounded_init(&result->out, result->output_bytes_max, err) != 0)
        return -1;
    return ebb_bounded_init(&result->err, result->output_bytes_max, err);
}

void ebb_e2b_code_result_clear(ebb_e2b_code_result *result)
{
    ebb_bounded_clear(&result->out);
    ebb_bounded_clear(&result->err);
    ebb_value_free(result->execution_count);
    ebb_value_free(result->texts);
    ebb_value_free(result->artifacts);
    ebb_value_free(result->error);
    *result = (ebb_e2b_code_result){ 0 };
}

static void add_output(ebb_bounded *bounded, const ebb_value *event)
{
    size_t n = 0;
    const char *text = ebb_value_get_string(ebb_value_find(event, "text"), &n);

    if (text != NULL)
        ebb_bounded_add(bounded, text, n);
}

static ebb_value *cut_member(const ebb_value *event, const char *name,
                             size_t max_bytes)
{
    size_t n = 0;
    const char *text = ebb_value_get_string(ebb_value_find(event, name), &n);

    return ebb_e2b_text_cut(text ? text : "", n, max_bytes);
}

/* A plain string, cut without saying so: names and messages. */
static ebb_value *plain_member(const ebb_value *event, const char *name,
                               size_t max_bytes)
{
    ebb_value *cut = cut_member(event, name, max_bytes);
    ebb_value *text =
        cut == NULL ? NULL : ebb_value_copy(ebb_value_find(cut, "text"));

    ebb_value_free(cut);
    return text;
}

/* ---- text results: one budget for all ---- */

/*
 * With n texts each gets at most max(1, budget / n), never more than what is
 * left. n grows while they come, so a text that is kept can only shrink: it is
 * cut to its share now, which bounds memory, and once more at the end.
 */
static size_t share(const ebb_e2b_code_result *result, size_t n)
{
    size_t each = n == 0 ? 0 : result->result_bytes_max / n;

    return each > 0 ? each : 1;
}

static int recut(ebb_value *text, size_t max_bytes)
{
    size_t n = 0;
    const char *bytes = ebb_value_get_string(ebb_value_find(text, "text"), &n);
    int64_t count = ebb_value_find_int(text, "byteCount", 0);
    ebb_value *cut = ebb_e2b_text_cut(bytes, n, max_bytes), *shorter;
    int64_t returned = ebb_value_find_int(cut, "returnedBytes", 0);

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
    size_t left = result->result_bytes_max, each = share(result, n);

    for (size_t i = 0; i < n; i++) {
        ebb_value *text = ebb_value_at(result->texts, i);
        if (recut(text, each < left ? each : left) != 0)
            return -1;
        left -= (size_t)ebb_value_find_int(text, "returnedBytes", 0);
    }
    return 0;
}

static int add_text(ebb_e2b_code_result *result, const ebb_value *event,
                    ebb_err *err)
{
    size_t n = ebb_value_size(result->texts);

    if (ebb_value_type(ebb_value_find(event, "text")) != EBB_STRING)
        return 0;
    if (n >= RESULTS_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "the code shows more than %d results", RESULTS_MAX);
    if (ebb_value_add(result->texts,
                      cut_member(event, "text", share(result, n + 1))) == 0)
        return 0;
    return ebb_err_set(err, EBB_NO_MEMORY, "result of code");
}

/* ---- artifacts ---- */

/* Base64 as kernels write it, with line ends, made canonical. */
static int decode(const char *text, size_t n, ebb_buf *bytes)
{
    ebb_buf joined;
    int failed = 0;

    ebb_buf_init(&joined, 0);
    for (size_t i = 0; i < n && !failed; i++) {
        size_t run = strcspn(text + i, "\r\n ");
        failed = ebb_buf_add(&joined, text + i, run);
        i += run;
    }
    if (!failed)
        failed = ebb_base64_parse(bytes, joined.bytes ? joined.bytes : "",
                                  joined.n, false);
    ebb_buf_clear(&joined);
    return failed;
}

static ebb_value *artifact(const ebb_e2b_code_result *result,
                           const ebb_buf *bytes, const char *type)
{
    size_t index = ebb_value_size(result->artifacts);
    ebb_value *content = ebb_value_object(), *out;
    ebb_buf text;

    ebb_buf_init(&text, 0);
    if (ebb_base64_write(&text, bytes->bytes ? bytes->bytes : "", bytes->n))
        content = ebb_e2b_result_with(content, "base64", NULL);
    else
        content = ebb_e2b_result_with(
            content, "base64",
            ebb_value_string(text.bytes ? text.bytes : "", text.n));
    ebb_buf_clear(&text);
    content = ebb_e2b_result_with(content, "contentType", ebb_value_text(type));
    content = ebb_e2b_result_with(content, "byteCount",
                                  ebb_value_int((int64_t)bytes->n));
    content =
        ebb_e2b_result_with(content, "maxBytes",
                            ebb_value_int((int64_t)result->artifact_bytes_max));
    content = ebb_e2b_result_with(content, "truncated", ebb_value_bool(false));
    out = ebb_e2b_result_with(ebb_value_object(), "index",
                              ebb_value_int((int64_t)index));
    return ebb_e2b_result_with(out, "content", content);
}

/* Their sum is kept below what a result can hold at all. */
static bool has_room(const ebb_e2b_code_result *result, size_t n)
{
    size_t total = n;

    for (size_t i = 0; i < ebb_value_size(result->artifacts); i++)
        total += (size_t)ebb_value_find_int(
            ebb_value_find(ebb_value_at(result->artifacts, i), "content"),
            "byteCount", 0);
    return total <= EBB_E2B_RESULT_BYTES_MAX;
}

static int add_artifact(ebb_e2b_code_result *result, const ebb_value *event,
                        ebb_err *err)
{
    bool png = ebb_value_find_string(event, "png") != NULL;
    size_t n = 0;
    const char *text =
        ebb_value_get_string(ebb_value_find(event, png ? "png" : "jpeg"), &n);
    ebb_buf bytes;
    int failed = 0;

    if (text == NULL)
        return 0;
    ebb_buf_init(&bytes, 0);
    if (decode(text, n, &bytes) != 0)
        failed = ebb_err_set(err, EBB_PROTOCOL,
                             "a picture of the code is not base64");
    else if (bytes.n > result->artifact_bytes_max || !has_room(result, bytes.n))
        result->too_large = result->too_large ? result->too_large : bytes.n;
    else if (ebb_value_add(result->artifacts,
                           artifact(result, &bytes,
                                    png ? "image/png" : "image/jpeg")) != 0)
        failed = ebb_err_set(err, EBB_NO_MEMORY, "result of code");
    ebb_buf_clear(&bytes);
    return failed;
}

/* ---- events ---- */

static int set_error(ebb_e2b_code_result *result, const ebb_value *event,
                     ebb_err *err)
{
    ebb_value *error =
        ebb_e2b_result_with(ebb_value_object(), "name",
                            plain_member(event, "name", NAME_BYTES_MAX));

    error = ebb_e2b_result_with(error, "value",
                                plain_member(event, "value", VALUE_BYTES_MAX));
    error = ebb_e2b_result_with(
        error, "traceback",
        cut_member(event, "traceback", result->output_bytes_max));
    if (error == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "result of code");
    ebb_value_free(result->error);
    result->error = error;
    return 0;
}

int ebb_e2b_code_result_add(void *context, const char *type,
                            const ebb_value *event, ebb_err *err)
{
    ebb_e2b_code_result *result = context;
    const ebb_value *count = ebb_value_find(event, "execution_count");

    if (strcmp(type, "stdout") == 0) {
        add_output(&result->out, event);
    } else if (strcmp(type, "stderr") == 0) {
        add_output(&result->err, event);
    } else if (strcmp(type, "error") == 0) {
        return set_error(result, event, err);
    } else if (strcmp(type, "result") == 0) {
        if (add_text(result, event, err) != 0)
            return -1;
        return add_artifact(result, event, err);
    } else if (strcmp(type, "number_of_executions") == 0 &&
               ebb_value_type(count) == EBB_INT) {
        ebb_value_free(result->execution_count);
        result->execution_count = ebb_value_copy(count);
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
static int fit(ebb_value *out)
{
    ebb_value *texts = ebb_value_find(out, "textResults");
    size_t n = ebb_value_size(texts), count = 0;
    ebb_value *traceback =
        ebb_value_find(ebb_value_find(out, "error"), "traceback");
    ebb_value **all = ebb_mem_alloc((n + 3) * sizeof(ebb_value *));
    int failed;

    if (all == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        all[count++] = ebb_value_at(texts, i);
    all[count++] = ebb_value_find(out, "stdout");
    all[count++] = ebb_value_find(out, "stderr");
    if (traceback != NULL)
        all[count++] = traceback;
    failed = ebb_e2b_result_fit(out, all, count);
    ebb_mem_free(all);
    return failed;
}

ebb_value *ebb_e2b_code_result_details(ebb_e2b_code_result *result)
{
    ebb_value *details = with_parts(result, ebb_value_object());

    if (details != NULL)
        fit(details);
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
    if (fit(out) == 0)
        return out;
    ebb_value_del(out, "artifacts");
    *details = out;
    ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                "the artifacts of the code together pass the %d bytes of a "
                "result. Write them to sandbox files and read them back "
                "with e2b.readFile",
                EBB_E2B_RESULT_BYTES_MAX);
    return NULL;
}
