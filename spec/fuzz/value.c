/* SPDX-License-Identifier: MIT */
/* What is read as JSON is written in every form and read back the same. */
#include "targets.h"

#include <string.h>

#include "base/mem.h"
#include "base/value.h"

/* The same value from its text; the text is the caller's. */
static char *round_trip(const ebb_value *value, unsigned how, size_t *n)
{
    ebb_err err = { 0 };
    char *text = ebb_value_write(value, how, n);
    ebb_value *back;

    ebb_fuzz_hold(text != NULL, "what is read can be written");
    back = ebb_value_parse(text, *n, 0, &err);
    ebb_fuzz_hold(back != NULL, "what is written can be read");
    ebb_fuzz_hold(ebb_value_equal(value, back), "and is the same");
    ebb_value_free(back);
    return text;
}

static void check_sorted(const ebb_value *value)
{
    ebb_value *copy = ebb_value_copy(value);
    size_t n = 0, n2 = 0;
    char *a = round_trip(value, EBB_WRITE_SORTED, &n);
    char *b = round_trip(copy, EBB_WRITE_SORTED, &n2);

    ebb_fuzz_hold(n == n2 && memcmp(a, b, n) == 0, "one canonical form");
    ebb_value_free(copy);
    ebb_mem_free(a);
    ebb_mem_free(b);
}

void ebb_fuzz_value(const uint8_t *bytes, size_t n)
{
    static const unsigned forms[] = { EBB_WRITE_COMPACT, EBB_WRITE_PRETTY,
                                      EBB_WRITE_ASCII | EBB_WRITE_SORTED };
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse((const char *)bytes, n, 10000, &err);
    size_t written = 0;

    if (value == NULL)
        return;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        ebb_mem_free(round_trip(value, forms[i], &written));
        if (forms[i] == EBB_WRITE_COMPACT)
            ebb_fuzz_hold(ebb_value_length(value) == written,
                          "the length is that of the compact form");
    }
    check_sorted(value);
    ebb_value_free(value);
}
