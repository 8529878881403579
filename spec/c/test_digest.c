/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* FIPS 180-2, appendix B, and the empty string. */
static void the_known_digests_come_out(void **state)
{
    char hex[EBB_SHA256_HEX];
    char *million = malloc(1000000);

    (void)state;
    ebb_digest_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb924"
                             "27ae41e4649b934ca495991b7852b855");
    ebb_digest_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223"
                             "b00361a396177a9cb410ff61f20015ad");
    memset(million, 'a', 1000000);
    ebb_digest_hex(million, 1000000, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67"
                             "f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void a_nul_is_a_byte_like_any_other(void **state)
{
    unsigned char a[EBB_SHA256_BYTES], b[EBB_SHA256_BYTES];

    (void)state;
    ebb_digest_sha256("a\0b", 3, a);
    ebb_digest_sha256("a\0c", 3, b);
    assert_memory_not_equal(a, b, sizeof a);
}

static void equal_means_the_same_text(void **state)
{
    (void)state;
    assert_true(ebb_digest_equal("", ""));
    assert_true(ebb_digest_equal("token", "token"));
    assert_false(ebb_digest_equal("token", "tokeN"));
    assert_false(ebb_digest_equal("token", "toke"));
    assert_false(ebb_digest_equal("", "x"));
}

static void random_bytes_fill_the_whole_buffer(void **state)
{
    static unsigned char bytes[100000]; /* more than one getrandom gives */
    size_t seen[256] = { 0 };
    ebb_err err;

    (void)state;
    assert_int_equal(ebb_digest_random(bytes, sizeof bytes, &err), 0);
    assert_int_equal(ebb_digest_random(NULL, 0, &err), 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        seen[bytes[i]]++;
    for (size_t i = 0; i < 256; i++)
        assert_in_range(seen[i], 200, 600); /* 390 expected */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_known_digests_come_out),
        cmocka_unit_test(a_nul_is_a_byte_like_any_other),
        cmocka_unit_test(equal_means_the_same_text),
        cmocka_unit_test(random_bytes_fill_the_whole_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
