/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "support/case.h"

#define REPLACEMENT "\xEF\xBF\xBD"

static void collect(void *context, const char *text, size_t n)
{
    assert_true(n > 0);
    assert_true(ebb_utf8_valid(text, n));
    assert_int_equal(ebb_buf_add(context, text, n), 0);
}

/* Decodes bytes in two chunks, cut at `cut`. */
static void decode(ebb_buf *out, const char *bytes, size_t n, size_t cut)
{
    ebb_utf8 decoder;

    ebb_buf_reset(out);
    ebb_utf8_init(&decoder);
    ebb_utf8_add(&decoder, bytes, cut, collect, out);
    ebb_utf8_add(&decoder, bytes + cut, n - cut, collect, out);
    ebb_utf8_finish(&decoder, collect, out);
}

static void ill_formed_parts_are_replaced_wherever_the_cut_is(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "plain", "plain" },
        { "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
          "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80" },
        { "a\xFF"
          "b",
          "a" REPLACEMENT "b" },
        { "\x80\x81", REPLACEMENT REPLACEMENT },
        { "\xC0\xAF", REPLACEMENT REPLACEMENT },
        { "\xE0\x9F\xBF", REPLACEMENT REPLACEMENT REPLACEMENT },
        { "\xED\xA0\x80", REPLACEMENT REPLACEMENT REPLACEMENT },
        { "\xF0\x8F\xBF\xBF", REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT },
        { "\xF4\x90\x80\x80", REPLACEMENT REPLACEMENT REPLACEMENT REPLACEMENT },
        { "\xE2\x82"
          "a",
          REPLACEMENT "a" },
        { "\xF0\x9F\x98\xC3\xA9", REPLACEMENT "\xC3\xA9" },
        { "\xE2\x82\xE2\x82\xAC", REPLACEMENT "\xE2\x82\xAC" },
        { "\xF0\x9F\x98", REPLACEMENT },
        { "x\xC3", "x" REPLACEMENT },
    };
    ebb_buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].in);

        for (size_t cut = 0; cut <= n; cut++) {
            decode(&out, cases[i].in, n, cut);
            assert_string_equal(out.bytes, cases[i].out);
        }
    }
    ebb_buf_clear(&out);
}

static size_t encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

static void every_character_is_valid_and_no_surrogate_is(void **state)
{
    char text[4];

    (void)state;
    for (uint32_t c = 0; c < 0x200000; c++) {
        size_t n = encode(c, text);
        bool good = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);

        if (ebb_utf8_valid(text, n) != good)
            fail_msg("U+%04X", (unsigned)c);
        if (n > 1 && ebb_utf8_valid(text, n - 1))
            fail_msg("U+%04X cut", (unsigned)c);
    }
}

/* All strings of three bytes: as many are valid as can be counted by hand. */
static void exactly_the_well_formed_strings_are_valid(void **state)
{
    const long ascii = 128, two = 1920, three = 63488 - 2048;
    long count = 0;

    (void)state;
    for (uint32_t bits = 0; bits < 0x1000000; bits++) {
        char text[3] = { (char)(bits >> 16), (char)(bits >> 8), (char)bits };

        count += ebb_utf8_valid(text, 3);
    }
    assert_int_equal(count, ascii * ascii * ascii + 2 * ascii * two + three);
}

/* Random bytes, mostly near the borders of the encoding. */
static void chunks_never_change_the_text(void **state)
{
    static const unsigned char edges[] = { 0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F,
                                           0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0,
                                           0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xF5 };
    ebb_buf whole = { 0 }, parts = { 0 };
    uint32_t seed = 12345;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        char bytes[24];

        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (char)edges[(seed >> 16) % sizeof edges];
        }
        decode(&whole, bytes, sizeof bytes, 0);
        for (size_t cut = 1; cut < sizeof bytes; cut++) {
            decode(&parts, bytes, sizeof bytes, cut);
            assert_int_equal(parts.n, whole.n);
            assert_memory_equal(parts.bytes, whole.bytes, whole.n);
        }
        assert_int_equal(ebb_utf8_valid(bytes, sizeof bytes),
                         whole.n == sizeof bytes &&
                             memcmp(whole.bytes, bytes, whole.n) == 0);
    }
    ebb_buf_clear(&whole);
    ebb_buf_clear(&parts);
}

/*
 * One byte that is not like the others, at every place of texts of every
 * length around those that are looked at as a whole: eight bytes and
 * sixty-four.
 */
static void one_byte_is_found_wherever_it_is(void **state)
{
    static const unsigned char odd[] = { 0x00, 0x01, 0x7F, 0x80, 0xC3, 0xFF };

    (void)state;
    for (size_t n = 1; n <= 150; n++) {
        char *text = malloc(n);

        memset(text, 'a', n);
        assert_true(ebb_utf8_valid(text, n));
        assert_true(ebb_utf8_is_plain(text, n));
        for (size_t i = 0; i < n * sizeof odd; i++) {
            unsigned char byte = odd[i % sizeof odd];

            text[i / sizeof odd] = (char)byte;
            assert_int_equal(ebb_utf8_valid(text, n), byte < 0x80);
            assert_int_equal(ebb_utf8_is_plain(text, n),
                             byte > 0 && byte < 0x80);
            text[i / sizeof odd] = 'a';
        }
        free(text);
    }
}

static void every_two_bytes_together_are_plain_or_not(void **state)
{
    char text[8];

    (void)state;
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        unsigned a = pair >> 8, b = pair & 0xFF;
        bool plain = a > 0 && a < 0x80 && b > 0 && b < 0x80;

        for (size_t at = 0; at < sizeof text - 1; at++) {
            memset(text, '~', sizeof text);
            text[at] = (char)a;
            text[at + 1] = (char)b;
            if (ebb_utf8_is_plain(text, sizeof text) != plain)
                fail_msg("%02x %02x at %zu", a, b, at);
        }
    }
}

static void characters_are_valid_wherever_the_words_end(void **state)
{
    static const char *const chars[] = { "\xC3\xA9", "\xE2\x82\xAC",
                                         "\xF0\x9F\x98\x80" };

    (void)state;
    for (size_t i = 0; i < sizeof chars / sizeof *chars; i++) {
        size_t length = strlen(chars[i]);

        for (size_t n = length; n <= 150; n++) {
            char *text = malloc(n);

            for (size_t at = 0; at + length <= n; at++) {
                memset(text, 'a', n);
                memcpy(text + at, chars[i], length);
                assert_true(ebb_utf8_valid(text, n));
                assert_false(ebb_utf8_is_plain(text, n));
                text[at + length - 1] = 'a';
                assert_false(ebb_utf8_valid(text, n));
            }
            free(text);
        }
    }
}

static void count_calls(void *context, const char *text, size_t n)
{
    (void)text;
    (void)n;
    ++*(int *)context;
}

static void a_valid_run_comes_in_one_piece(void **state)
{
    static const char text[] = "na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x98\x80 end";
    ebb_utf8 decoder;
    int calls = 0;

    (void)state;
    ebb_utf8_init(&decoder);
    ebb_utf8_add(&decoder, text, strlen(text), count_calls, &calls);
    ebb_utf8_finish(&decoder, count_calls, &calls);
    assert_int_equal(calls, 1);
}

static void nothing_is_valid(void **state)
{
    (void)state;
    assert_true(ebb_utf8_valid("", 0));
    assert_true(ebb_utf8_valid("a\0b", 3));
    assert_true(ebb_utf8_is_plain("", 0));
}

static void a_copy_is_valid_whatever_it_was(void **state)
{
    static const struct {
        const char *bytes, *text;
    } rows[] = {
        { "", "" },
        { "a\xC3\xA9", "a\xC3\xA9" },
        { "a\xFF\xE2\x82 b", "a\xEF\xBF\xBD\xEF\xBF\xBD b" },
        { "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "x\xF0\x9F", "x\xEF\xBF\xBD" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *copy = ebb_utf8_dup(rows[i].bytes, strlen(rows[i].bytes));

        assert_string_equal(copy, rows[i].text);
        ebb_mem_free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ill_formed_parts_are_replaced_wherever_the_cut_is, "B07"),
        CASE(every_character_is_valid_and_no_surrogate_is, "B04"),
        cmocka_unit_test(exactly_the_well_formed_strings_are_valid),
        cmocka_unit_test(chunks_never_change_the_text),
        cmocka_unit_test(one_byte_is_found_wherever_it_is),
        cmocka_unit_test(every_two_bytes_together_are_plain_or_not),
        cmocka_unit_test(characters_are_valid_wherever_the_words_end),
        cmocka_unit_test(a_valid_run_comes_in_one_piece),
        cmocka_unit_test(nothing_is_valid),
        CASE(a_copy_is_valid_whatever_it_was, "B04"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
