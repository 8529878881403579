/* SPDX-License-Identifier: MIT */

/*
 * Bounded text against Python's decoder: spec/fixtures/utf8/cases.txt, see
 * record.py there. Every limit from 0 to 64, every place to split in two, and
 * every size of chunks.
 */

#include "task/bounded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/case.h"

#define CASES      "spec/fixtures/utf8/cases.txt"
#define TEXT_MAX   512
#define LIMITS     64
#define LINE_BYTES 4096

typedef struct oracle {
    char raw[TEXT_MAX], text[TEXT_MAX];
    unsigned char kept[LIMITS];
    size_t raw_n, text_n;
} oracle;

static size_t unhex(const char *hex, void *out)
{
    unsigned char *to = out;
    size_t n = 0;

    for (; hex[0] != '-' && hex[0] != '\0'; hex += 2) {
        unsigned byte;
        assert_int_equal(sscanf(hex, "%2x", &byte), 1);
        assert_true(n < TEXT_MAX);
        to[n++] = (unsigned char)byte;
    }
    return n;
}

static bool next(FILE *file, oracle *o)
{
    static char line[LINE_BYTES], raw[LINE_BYTES], text[LINE_BYTES],
        kept[LINE_BYTES];

    if (fgets(line, sizeof line, file) == NULL)
        return false;
    assert_int_equal(sscanf(line, "%4095s %4095s %4095s", raw, text, kept), 3);
    o->raw_n = unhex(raw, o->raw);
    o->text_n = unhex(text, o->text);
    assert_int_equal(unhex(kept, o->kept), LIMITS);
    return true;
}

static void check(const oracle *o, const ebb_bounded *b)
{
    assert_int_equal(b->byte_count, o->text_n);
    assert_int_equal(b->returned_bytes, o->kept[b->max_bytes - 1]);
    assert_memory_equal(b->text, o->text, b->returned_bytes);
    assert_int_equal(b->text[b->returned_bytes], '\0');
    assert_int_equal(ebb_bounded_truncated(b), o->text_n > b->max_bytes);
    assert_true(ebb_utf8_valid(b->text, b->returned_bytes));
}

/* In chunks of `chunk` bytes, the first of `first`. */
static void decode(const oracle *o, size_t limit, size_t first, size_t chunk)
{
    ebb_bounded b;
    size_t at = first < o->raw_n ? first : o->raw_n;

    assert_int_equal(ebb_bounded_init(&b, limit, NULL), 0);
    ebb_bounded_add(&b, o->raw, at);
    for (; at < o->raw_n; at += chunk)
        ebb_bounded_add(&b, o->raw + at,
                        o->raw_n - at < chunk ? o->raw_n - at : chunk);
    ebb_bounded_finish(&b);
    check(o, &b);
    ebb_bounded_clear(&b);
}

static void every_limit_and_every_split_is_as_python_decodes(void **state)
{
    FILE *file = fopen(CASES, "r");
    oracle o;
    int cases = 0;

    (void)state;
    assert_non_null(file);
    for (; next(file, &o); cases++)
        for (size_t limit = 1; limit <= LIMITS; limit++) {
            for (size_t split = 0; split <= o.raw_n; split++)
                decode(&o, limit, split, TEXT_MAX);
            for (size_t chunk = 1; chunk <= 5; chunk++)
                decode(&o, limit, chunk, chunk);
        }
    fclose(file);
    print_message("# %d texts, limits 1 to %d, every split\n", cases, LIMITS);
    assert_true(cases > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_limit_and_every_split_is_as_python_decodes, "B07"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
