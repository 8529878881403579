/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void an_identifier_has_the_asked_length_and_alphabet(void **state)
{
    static const char all[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char id[200];
    ebb_err err;

    (void)state;
    for (size_t n = 1; n <= sizeof id; n++) {
        memset(id, '!', sizeof id);
        assert_int_equal(ebb_id_random(id, n, &err), 0);
        assert_int_equal(strlen(id), n - 1);
        assert_int_equal(strspn(id, all), n - 1);
        if (n < sizeof id)
            assert_int_equal(id[n], '!');
        assert_int_equal(ebb_id_hex(id, n, &err), 0);
        assert_int_equal(strlen(id), n - 1);
        assert_int_equal(strspn(id, "0123456789abcdef"), n - 1);
    }
}

static void every_character_is_as_likely(void **state)
{
    static char id[72001];
    size_t seen[256] = { 0 };
    ebb_err err;

    (void)state;
    assert_int_equal(ebb_id_random(id, sizeof id, &err), 0);
    for (size_t i = 0; i + 1 < sizeof id; i++)
        seen[(unsigned char)id[i]]++;
    for (const char *c = "0123456789abcdefghijklmnopqrstuvwxyz"; *c; c++)
        assert_in_range(seen[(unsigned char)*c], 1700, 2300); /* of 2000 */
}

static void two_identifiers_differ(void **state)
{
    char a[21], b[21];
    ebb_err err;

    (void)state;
    ebb_id_random(a, sizeof a, &err);
    ebb_id_random(b, sizeof b, &err);
    assert_string_not_equal(a, b);
}

/* RFC 9562, 5.4: version 4 and variant 10 over whatever bytes there are. */
static void a_uuid_keeps_the_bytes_but_version_and_variant(void **state)
{
    unsigned char bytes[16];
    char uuid[EBB_ID_UUID_BYTES];

    (void)state;
    for (int i = 0; i < 16; i++)
        bytes[i] = (unsigned char)(i * 17);
    ebb_id_uuid(bytes, uuid);
    assert_string_equal(uuid, "00112233-4455-4677-8899-aabbccddeeff");
    memset(bytes, 0xFF, sizeof bytes);
    ebb_id_uuid(bytes, uuid);
    assert_string_equal(uuid, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    memset(bytes, 0, sizeof bytes);
    ebb_id_uuid(bytes, uuid);
    assert_string_equal(uuid, "00000000-0000-4000-8000-000000000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_identifier_has_the_asked_length_and_alphabet),
        cmocka_unit_test(every_character_is_as_likely),
        cmocka_unit_test(two_identifiers_differ),
        cmocka_unit_test(a_uuid_keeps_the_bytes_but_version_and_variant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
