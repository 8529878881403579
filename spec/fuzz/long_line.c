/* SPDX-License-Identifier: MIT */
/* What is an object to the JSON parser gives the same strings piece by piece.
 */
#include "targets.h"

#include <string.h>

#include "base/buf.h"
#include "base/value.h"
#include "e2b/long_line.h"

typedef struct heard {
    ebb_buf said;
    char name[EBB_E2B_NAME_BYTES]; /* of the last piece */
} heard;

static int on_piece(void *context, const char *name, const char *bytes,
                    size_t n, ebb_err *err)
{
    heard *h = context;

    if (h->said.n == 0 || strcmp(name, h->name) != 0) {
        snprintf(h->name, sizeof h->name, "%s", name);
        ebb_buf_printf(&h->said, "\n%s ", name);
    }
    ebb_buf_add(&h->said, bytes, n);
    return ebb_buf_check(&h->said, "what was told", err);
}

static int hear(heard *h, const char *bytes, size_t n, size_t step)
{
    ebb_e2b_long_line line;
    ebb_err err = { 0 };
    int failed = 0;

    ebb_e2b_long_line_init(&line, on_piece, h);
    for (size_t at = 0; at < n && !failed; at += step)
        failed = ebb_e2b_long_line_add(&line, bytes + at,
                                       n - at < step ? n - at : step, &err);
    return failed ? failed : ebb_e2b_long_line_finish(&line, &err);
}

/* The same from the whole value; a name that is too long is none. */
static void tell(heard *h, const ebb_value *object)
{
    void *place = NULL;
    const char *key;
    ebb_value *member;
    ebb_err err = { 0 };

    while (ebb_value_next(object, &place, &key, &member)) {
        size_t n;
        const char *text = ebb_value_get_string(member, &n);

        if (text != NULL)
            on_piece(h, strlen(key) < EBB_E2B_NAME_BYTES ? key : "", text, n,
                     &err);
    }
}

static bool same(const heard *a, const heard *b)
{
    return a->said.n == b->said.n &&
           (a->said.n == 0 ||
            memcmp(a->said.bytes, b->said.bytes, a->said.n) == 0);
}

void ebb_fuzz_long_line(const uint8_t *bytes, size_t n)
{
    const char *text = (const char *)bytes;
    heard whole = { 0 }, cut = { 0 }, parsed = { 0 };
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse(text, n, 0, &err);
    int failed = hear(&whole, text, n, n + 1);

    ebb_fuzz_hold(hear(&cut, text, n, ebb_fuzz_step(bytes, n)) == failed &&
                      same(&whole, &cut),
                  "the same strings however it is cut");
    /* A line has no line feed; to the parser one is white space. */
    if (ebb_value_type(value) == EBB_OBJECT && memchr(text, '\n', n) == NULL) {
        tell(&parsed, value);
        ebb_fuzz_hold(!failed, "an object is an object");
        ebb_fuzz_hold(same(&whole, &parsed), "the strings of the parser");
    }
    ebb_value_free(value);
    ebb_buf_clear(&whole.said);
    ebb_buf_clear(&cut.said);
    ebb_buf_clear(&parsed.said);
}
