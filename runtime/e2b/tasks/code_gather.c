/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/code_result.h"

#include <string.h>

#include "e2b/tasks/result.h"

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

static void clear_event(ebb_e2b_code_result *result)
{
    ebb_bounded_clear(&result->text);
    ebb_bounded_clear(&result->name);
    ebb_bounded_clear(&result->value);
    ebb_bounded_clear(&result->traceback);
    ebb_e2b_picture_clear(&result->picture);
}

void ebb_e2b_code_result_clear(ebb_e2b_code_result *result)
{
    ebb_bounded_clear(&result->out);
    ebb_bounded_clear(&result->err);
    ebb_value_free(result->execution_count);
    ebb_value_free(result->texts);
    ebb_value_free(result->artifacts);
    ebb_value_free(result->error);
    clear_event(result);
    *result = (ebb_e2b_code_result){ 0 };
}

/* Begins a text of the event with its first piece. */
static int add_piece(ebb_bounded *bounded, const char *bytes, size_t n,
                     size_t max_bytes, ebb_err *err)
{
    if (bounded->text == NULL && ebb_bounded_init(bounded, max_bytes, err) != 0)
        return -1;
    ebb_bounded_add(bounded, bytes, n);
    return 0;
}

static int keep_text(ebb_e2b_code_result *result, ebb_err *err)
{
    if (result->text.text == NULL)
        return 0;
    if (ebb_value_size(result->texts) >= RESULTS_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "the code shows more than %d results", RESULTS_MAX);
    ebb_bounded_finish(&result->text);
    if (ebb_value_add(result->texts, ebb_e2b_text(&result->text)) == 0)
        return 0;
    return ebb_err_set(err, EBB_NO_MEMORY, "result of code");
}

/* ---- artifacts ---- */

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

static int keep_artifact(ebb_e2b_code_result *result, ebb_err *err)
{
    const ebb_e2b_picture *picture = &result->picture;
    size_t bytes = ebb_e2b_picture_bytes(picture);
    size_t index = ebb_value_size(result->artifacts);
    ebb_value *content, *out;

    if (picture->type == NULL)
        return 0;
    if (bytes > result->artifact_bytes_max || !has_room(result, bytes)) {
        if (result->too_large == 0)
            result->too_large = bytes;
        return 0;
    }
    content = ebb_e2b_picture_value(picture, result->artifact_bytes_max, err);
    if (content == NULL)
        return -1;
    out = ebb_e2b_result_with(ebb_value_object(), "index",
                              ebb_value_int((int64_t)index));
    out = ebb_e2b_result_with(out, "content", content);
    if (ebb_value_add(result->artifacts, out) == 0)
        return 0;
    return ebb_err_set(err, EBB_NO_MEMORY, "result of code");
}

/* ---- events ---- */

/* A plain string: names and messages are cut without saying so. */
static ebb_value *plain(ebb_bounded *bounded)
{
    ebb_bounded_finish(bounded);
    if (bounded->starved)
        return NULL;
    return ebb_value_string(bounded->text ? bounded->text : "",
                            bounded->returned_bytes);
}

static int keep_error(ebb_e2b_code_result *result, ebb_err *err)
{
    ebb_value *error;

    if (result->traceback.text == NULL &&
        ebb_bounded_init(&result->traceback, result->output_bytes_max, err) !=
            0)
        return -1;
    ebb_bounded_finish(&result->traceback);
    error =
        ebb_e2b_result_with(ebb_value_object(), "name", plain(&result->name));
    error = ebb_e2b_result_with(error, "value", plain(&result->value));
    error = ebb_e2b_result_with(error, "traceback",
                                ebb_e2b_text(&result->traceback));
    if (error == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "result of code");
    ebb_value_free(result->error);
    result->error = error;
    return 0;
}

static int add_result(ebb_e2b_code_result *result, const char *name,
                      const char *bytes, size_t n, ebb_err *err)
{
    if (strcmp(name, "text") == 0)
        return add_piece(&result->text, bytes, n,
                         ebb_e2b_code_result_share(
                             result, ebb_value_size(result->texts) + 1),
                         err);
    if (strcmp(name, "png") == 0 || strcmp(name, "jpeg") == 0)
        return ebb_e2b_picture_add(&result->picture, name, bytes, n,
                                   result->artifact_bytes_max, err);
    return 0;
}

static int add_error(ebb_e2b_code_result *result, const char *name,
                     const char *bytes, size_t n, ebb_err *err)
{
    if (strcmp(name, "name") == 0)
        return add_piece(&result->name, bytes, n, NAME_BYTES_MAX, err);
    if (strcmp(name, "value") == 0)
        return add_piece(&result->value, bytes, n, VALUE_BYTES_MAX, err);
    if (strcmp(name, "traceback") == 0)
        return add_piece(&result->traceback, bytes, n, result->output_bytes_max,
                         err);
    return 0;
}

int ebb_e2b_code_result_text(void *context, const char *type, const char *name,
                             const char *bytes, size_t n, ebb_err *err)
{
    ebb_e2b_code_result *result = context;

    if (strcmp(type, "result") == 0)
        return add_result(result, name, bytes, n, err);
    if (strcmp(type, "error") == 0)
        return add_error(result, name, bytes, n, err);
    if (strcmp(name, "text") != 0)
        return 0;
    if (strcmp(type, "stdout") == 0)
        ebb_bounded_add(&result->out, bytes, n);
    else if (strcmp(type, "stderr") == 0)
        ebb_bounded_add(&result->err, bytes, n);
    return 0;
}

int ebb_e2b_code_result_number(void *context, const char *type,
                               const char *name, int64_t number, ebb_err *err)
{
    ebb_e2b_code_result *result = context;

    (void)err;
    if (strcmp(type, "number_of_executions") == 0 &&
        strcmp(name, "execution_count") == 0) {
        ebb_value_free(result->execution_count);
        result->execution_count = ebb_value_int(number);
    }
    return 0;
}

int ebb_e2b_code_result_event(void *context, const char *type, ebb_err *err)
{
    ebb_e2b_code_result *result = context;
    int failed = 0;

    if (strcmp(type, "result") == 0)
        failed = keep_text(result, err) != 0 || keep_artifact(result, err);
    else if (strcmp(type, "error") == 0)
        failed = keep_error(result, err);
    clear_event(result);
    return failed ? -1 : 0;
}
