/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/result.h"

#include <string.h>

#include "base/mem.h"

ebb_value *ebb_e2b_result_with(ebb_value *result, const char *key,
                               ebb_value *member)
{
    if (result == NULL) {
        ebb_value_free(member);
        return NULL;
    }
    if (ebb_value_set(result, key, member) == 0)
        return result;
    ebb_value_free(result);
    return NULL;
}

ebb_value *ebb_e2b_result_new(const ebb_e2b_job *job)
{
    return ebb_e2b_result_with(ebb_value_object(), "sandboxId",
                               ebb_value_text(job->sandbox_id));
}

ebb_value *ebb_e2b_time(const ebb_value *text)
{
    const char *given = ebb_value_get_string(text, NULL);
    char iso[EBB_CLOCK_ISO_BYTES];
    int64_t wall_ms;

    if (given == NULL || !ebb_clock_parse_iso(given, &wall_ms))
        return NULL;
    ebb_clock_iso(wall_ms, iso);
    return ebb_value_text(iso);
}

ebb_value *ebb_e2b_sandbox(const ebb_value *json, ebb_err *err)
{
    const char *id = ebb_value_find_string(json, "sandboxID");
    const char *template_id = ebb_value_find_string(json, "templateID");
    const char *state = ebb_value_find_string(json, "state");
    const ebb_value *metadata = ebb_value_find(json, "metadata");
    ebb_value *started = ebb_e2b_time(ebb_value_find(json, "startedAt"));
    ebb_value *end = ebb_e2b_time(ebb_value_find(json, "endAt"));
    ebb_value *out;

    if (id == NULL || template_id == NULL || state == NULL || started == NULL ||
        end == NULL) {
        ebb_err_set(err, EBB_PROTOCOL,
                    "sandbox %s: the service describes it without %s",
                    id ? id : "?",
                    id == NULL            ? "an id"
                    : template_id == NULL ? "a template"
                    : state == NULL       ? "a state"
                    : started == NULL     ? "a start"
                                          : "an end");
        ebb_value_free(started);
        ebb_value_free(end);
        return NULL;
    }
    out = ebb_e2b_result_with(ebb_value_object(), "sandboxId",
                              ebb_value_text(id));
    out = ebb_e2b_result_with(out, "templateId", ebb_value_text(template_id));
    out = ebb_e2b_result_with(out, "status", ebb_value_text(state));
    out = ebb_e2b_result_with(out, "startedAt", started);
    out = ebb_e2b_result_with(out, "endAt", end);
    out = ebb_e2b_result_with(out, "metadata",
                              ebb_value_type(metadata) == EBB_OBJECT
                                  ? ebb_value_copy(metadata)
                                  : ebb_value_object());
    if (out == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "result");
    return out;
}

static ebb_value *text_value(const char *text, size_t n, uint64_t byte_count,
                             size_t max_bytes)
{
    ebb_value *out = ebb_e2b_result_with(ebb_value_object(), "text",
                                         ebb_value_string(text, n));

    out = ebb_e2b_result_with(out, "byteCount",
                              ebb_value_int((int64_t)byte_count));
    out = ebb_e2b_result_with(out, "returnedBytes", ebb_value_int((int64_t)n));
    out =
        ebb_e2b_result_with(out, "maxBytes", ebb_value_int((int64_t)max_bytes));
    return ebb_e2b_result_with(out, "truncated",
                               ebb_value_bool(byte_count > n));
}

ebb_value *ebb_e2b_text(const ebb_bounded *bounded)
{
    if (bounded->starved)
        return NULL;
    return text_value(bounded->text, bounded->returned_bytes,
                      bounded->byte_count, bounded->max_bytes);
}

/* The longest prefix of at most max bytes that ends between characters. */
static size_t prefix(const char *text, size_t n, size_t max)
{
    if (n <= max)
        return n;
    while (max > 0 && ((unsigned char)text[max] & 0xC0) == 0x80)
        max--;
    return max;
}

ebb_value *ebb_e2b_text_cut(const char *text, size_t n, size_t max_bytes)
{
    return text_value(text, prefix(text, n, max_bytes), n, max_bytes);
}

ebb_value *ebb_e2b_page(int64_t returned, int64_t available, int64_t limit)
{
    ebb_value *page = ebb_e2b_result_with(ebb_value_object(), "returned",
                                          ebb_value_int(returned));

    page = ebb_e2b_result_with(page, "available",
                               available < 0 ? ebb_value_null()
                                             : ebb_value_int(available));
    page = ebb_e2b_result_with(page, "limit", ebb_value_int(limit));
    return ebb_e2b_result_with(page, "truncated",
                               ebb_value_bool(returned < available));
}

ebb_value *ebb_e2b_result_cap(ebb_value *result, ebb_err *err)
{
    size_t n;

    if (result == NULL) {
        ebb_err_set(err, EBB_NO_MEMORY, "result");
        return NULL;
    }
    if (ebb_value_fits(result, EBB_E2B_RESULT_BYTES_MAX))
        return result;
    n = ebb_value_length(result);
    ebb_value_free(result);
    ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                "the result has %zu bytes of JSON, at most %d are returned; "
                "ask for less",
                n, EBB_E2B_RESULT_BYTES_MAX);
    return NULL;
}

/* What a byte of a string costs in compact JSON. */
static size_t cost(unsigned char c)
{
    if (c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' ||
        c == '\b' || c == '\f')
        return 2;
    return c < 0x20 ? 6 : 1;
}

/* Cuts a BoundedText to what costs at most level bytes of JSON. */
static int cut(ebb_value *bounded, size_t level)
{
    size_t n = 0, fits = 0, used = 0;
    const char *text =
        ebb_value_get_string(ebb_value_find(bounded, "text"), &n);

    while (fits < n && used + cost((unsigned char)text[fits]) <= level)
        used += cost((unsigned char)text[fits++]);
    if (fits == n)
        return 0;
    n = prefix(text, n, fits);
    if (ebb_value_set(bounded, "text", ebb_value_string(text, n)) != 0 ||
        ebb_value_set(bounded, "returnedBytes", ebb_value_int((int64_t)n)) ||
        ebb_value_set(bounded, "truncated", ebb_value_bool(true)) != 0)
        return -1;
    return 0;
}

/*
 * The length that no text may pass so that all together fit into room: the
 * longest give way until they are as long as the next, and so on.
 */
static size_t level_of(const size_t *lengths, size_t n, size_t room)
{
    size_t low = 0, high = EBB_E2B_RESULT_BYTES_MAX;

    while (low < high) {
        size_t level = (low + high + 1) / 2, sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += lengths[i] < level ? lengths[i] : level;
        if (sum <= room)
            low = level;
        else
            high = level - 1;
    }
    return low;
}

int ebb_e2b_result_fit(const ebb_value *result, ebb_value **texts, size_t n,
                       ebb_err *err)
{
    size_t bare, level, *lengths;
    int failed = 0;

    if (ebb_value_fits(result, EBB_E2B_RESULT_BYTES_MAX))
        return 0;
    bare = ebb_value_length(result);
    lengths = ebb_mem_alloc(n * sizeof *lengths);
    if (lengths == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "result");
    for (size_t i = 0; i < n; i++) {
        lengths[i] = ebb_value_length(ebb_value_find(texts[i], "text")) - 2;
        bare -= lengths[i];
    }
    if (bare > EBB_E2B_RESULT_BYTES_MAX)
        failed = ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                             "the result has %zu bytes of JSON without its "
                             "texts, at most %d are returned",
                             bare, EBB_E2B_RESULT_BYTES_MAX);
    level = level_of(lengths, n, EBB_E2B_RESULT_BYTES_MAX - bare);
    for (size_t i = 0; i < n && !failed; i++)
        if (cut(texts[i], level) != 0)
            failed = ebb_err_set(err, EBB_NO_MEMORY, "result");
    ebb_mem_free(lengths);
    return failed;
}
