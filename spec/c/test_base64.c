/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* RFC 4648, section 10. */
static void the_vectors_of_the_rfc_hold(void **state)
{
    static const char *const vectors[][2] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
    };
    ebb_buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const char *plain = vectors[i][0], *coded = vectors[i][1];

        ebb_buf_reset(&out);
        ebb_buf_reserve(&out, 1);
        assert_int_equal(ebb_base64_write(&out, plain, strlen(plain)), 0);
        assert_string_equal(out.bytes, coded);
        ebb_buf_reset(&out);
        assert_int_equal(ebb_base64_parse(&out, coded, strlen(coded), true), 0);
        assert_string_equal(out.bytes, plain);
        assert_int_equal(ebb_base64_length(coded, strlen(coded)),
                         strlen(plain));
    }
    ebb_buf_clear(&out);
}

static void every_length_and_byte_comes_back(void **state)
{
    ebb_buf text = { 0 }, back = { 0 };
    unsigned char bytes[300];

    (void)state;
    for (size_t n = 0; n < sizeof bytes; n++) {
        for (size_t i = 0; i < n; i++)
            bytes[i] = (unsigned char)(i * 7 + n);
        ebb_buf_reset(&text);
        ebb_buf_reset(&back);
        assert_int_equal(ebb_base64_write(&text, bytes, n), 0);
        assert_int_equal(ebb_base64_parse(&back, text.bytes, text.n, true), 0);
        assert_int_equal(back.n, n);
        if (n > 0)
            assert_memory_equal(back.bytes, bytes, n);
        assert_int_equal(ebb_base64_length(text.bytes, text.n), n);
    }
    ebb_buf_clear(&text);
    ebb_buf_clear(&back);
}

static void strict_takes_canonical_text_only(void **state)
{
    static const char *const bad[] = {
        "Z",    "Zg",       "Zg=",   "Zg===",   "Zh==",   "Zm9=",
        "=",    "====",     "Z===",  "Zm8",     "Zm9v\n", "Zm 9v",
        "-_-_", "Zg==Zg==", "Zm9vZ", "Z\xFFm8", "=Zm9",   "Zm=v",
    };
    ebb_buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (ebb_base64_parse(&out, bad[i], strlen(bad[i]), true) == 0)
            fail_msg("accepted %s", bad[i]);
        assert_int_equal(ebb_base64_length(bad[i], strlen(bad[i])), -1);
        assert_int_equal(out.n, 0);
    }
    ebb_buf_clear(&out);
}

static void lenient_takes_the_url_alphabet_and_no_padding(void **state)
{
    static const char *const good[][2] = {
        { "Zg", "f" },
        { "Zg==", "f" },
        { "Zm8", "fo" },
        { "-_-_", "\xFB\xFF\xBF" },
        { "+/+/", "\xFB\xFF\xBF" },
        { "Zm9vYg", "foob" },
    };
    static const char *const bad[] = { "Z",     "Zm9vY",  "Zg=",  "=",
                                       "Zm8==", "Zm9v\n", "Z*8=", "Z===" };
    ebb_buf out = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ebb_buf_reset(&out);
        assert_int_equal(
            ebb_base64_parse(&out, good[i][0], strlen(good[i][0]), false), 0);
        assert_string_equal(out.bytes, good[i][1]);
    }
    ebb_buf_reset(&out);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (ebb_base64_parse(&out, bad[i], strlen(bad[i]), false) == 0)
            fail_msg("accepted %s", bad[i]);
    ebb_buf_clear(&out);
}

/* Which single characters decode: the alphabet and nothing else. */
static void only_the_alphabet_decodes(void **state)
{
    ebb_buf out = { 0 };
    int strict = 0, lenient = 0;

    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[4] = { 'A', (char)c, 'A', 'A' };

        strict += ebb_base64_parse(&out, text, 4, true) == 0;
        lenient += ebb_base64_parse(&out, text, 4, false) == 0;
    }
    assert_int_equal(strict, 64);
    assert_int_equal(lenient, 66);
    ebb_buf_clear(&out);
}

static void a_full_buffer_fails(void **state)
{
    ebb_buf out;

    (void)state;
    ebb_buf_init(&out, 7);
    assert_int_equal(ebb_base64_write(&out, "abcd", 4), -1);
    assert_int_equal(out.n, 0);
    assert_true(out.failed);
    ebb_buf_clear(&out);
    ebb_buf_init(&out, 2);
    assert_int_equal(ebb_base64_parse(&out, "Zm9v", 4, true), -1);
    assert_true(out.failed);
    ebb_buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_rfc_hold),
        cmocka_unit_test(every_length_and_byte_comes_back),
        cmocka_unit_test(strict_takes_canonical_text_only),
        cmocka_unit_test(lenient_takes_the_url_alphabet_and_no_padding),
        cmocka_unit_test(only_the_alphabet_decodes),
        cmocka_unit_test(a_full_buffer_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
