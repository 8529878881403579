/* SPDX-License-Identifier: MIT */
/* Small readers of text: each by the one property that its users rely on. */
#include "targets.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "net/http_client.h"
#include "sandbox/service/envd/envd_path.h"
#include "sandbox/service/envd/files_head.h"
#include "sandbox/service/unescape.h"
#include "task/retry.h"

#define DAY_MS  86400000
#define WALL_MS 1796000000000 /* 2026-11-29 */
#define SIZE    1000000u

static void check_escape(const char *text)
{
    char *escaped = ebb_http_escape(text, strlen(text));

    ebb_fuzz_hold(ebb_unescape(escaped) && strcmp(escaped, text) == 0,
                  "what is escaped is read back");
    ebb_mem_free(escaped);
    escaped = ebb_mem_dup(text);
    if (ebb_unescape(escaped))
        ebb_fuzz_hold(strlen(escaped) <= strlen(text), "nothing grows");
    ebb_mem_free(escaped);
}

static void check_path(const char *text)
{
    ebb_err err = { 0 };
    char *path = ebb_envd_path_expand(text, &err);
    size_t n;

    if (path == NULL)
        return;
    ebb_fuzz_hold(path[0] == '/', "a path is absolute");
    ebb_envd_path_base(path, &n);
    ebb_mem_free(path);
}

static void check_head(const char *text)
{
    uint64_t offset = 0, length = 0;
    int64_t wait = ebb_retry_after_parse(text, WALL_MS);

    ebb_fuzz_hold(wait >= 0 && wait <= DAY_MS, "a wait is within a day");
    if (ebb_files_parse_range(text, SIZE, &offset, &length) == EBB_FILES_PART)
        ebb_fuzz_hold(offset < SIZE && length <= SIZE - offset,
                      "a part is within the file");
    ebb_files_takes_identity(text);
}

static void check_base64(const char *bytes, size_t n)
{
    ebb_buf text, back;

    ebb_buf_init(&text, 0);
    ebb_buf_init(&back, 0);
    ebb_base64_write(&text, bytes, n);
    ebb_fuzz_hold(n == 0 ||
                      (ebb_base64_parse(&back, text.bytes, text.n, true) == 0 &&
                       back.n == n && memcmp(back.bytes, bytes, n) == 0),
                  "base64 is read back");
    ebb_buf_reset(&back);
    if (ebb_base64_parse(&back, bytes, n, true) == 0) {
        ebb_fuzz_hold(ebb_base64_length(bytes, n) == (long long)back.n,
                      "the length is told before");
        ebb_buf_reset(&text);
        ebb_base64_write(&text, back.bytes ? back.bytes : "", back.n);
        ebb_fuzz_hold(text.n == n &&
                          (n == 0 || memcmp(text.bytes, bytes, n) == 0),
                      "there is one strict form");
    }
    ebb_buf_clear(&text);
    ebb_buf_clear(&back);
}

static void add(void *context, const char *text, size_t n)
{
    ebb_buf_add(context, text, n);
}

static void check_utf8(const char *bytes, size_t n, size_t step)
{
    ebb_utf8 decoder;
    ebb_buf text;

    ebb_buf_init(&text, 0);
    ebb_utf8_init(&decoder);
    for (size_t at = 0; at < n; at += step)
        ebb_utf8_add(&decoder, bytes + at, n - at < step ? n - at : step, add,
                     &text);
    ebb_utf8_finish(&decoder, add, &text);
    ebb_fuzz_hold(text.n == 0 || ebb_utf8_valid(text.bytes, text.n),
                  "what is decoded is UTF-8");
    if (ebb_utf8_valid(bytes, n))
        ebb_fuzz_hold(text.n == n &&
                          (n == 0 || memcmp(text.bytes, bytes, n) == 0),
                      "UTF-8 stays as it is");
    ebb_buf_clear(&text);
}

void ebb_fuzz_text(const uint8_t *bytes, size_t n)
{
    char *text = ebb_mem_dup_n((const char *)bytes, n);

    check_escape(text);
    check_path(text);
    check_head(text);
    check_base64(text, n);
    check_utf8(text, n, ebb_fuzz_step(bytes, n));
    ebb_mem_free(text);
}
