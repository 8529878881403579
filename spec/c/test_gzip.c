/* SPDX-License-Identifier: MIT */
#include "net/gzip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES 300000

static int keep(void *context, const char *bytes, size_t n)
{
    return ebb_buf_add(context, bytes, n);
}

static int refuse(void *context, const char *bytes, size_t n)
{
    (void)bytes;
    (void)n;
    return ++*(int *)context > 1 ? -1 : 0;
}

/* Something that compresses to about half. */
static char *sample(void)
{
    char *bytes = malloc(BYTES);
    unsigned x = 1;

    for (int i = 0; i < BYTES; i++) {
        x = x * 1103515245u + 12345u;
        bytes[i] = (char)('a' + (x >> 16) % 16);
    }
    return bytes;
}

static int decode(const ebb_buf *packed, size_t n, size_t chunk,
                  size_t bytes_max, ebb_buf *out, ebb_err *err)
{
    ebb_gunzip *gunzip = ebb_gunzip_new(bytes_max, err);
    int status = 0;

    for (size_t i = 0; i < n && status == 0; i += chunk)
        status = ebb_gunzip_add(gunzip, packed->bytes + i,
                                n - i < chunk ? n - i : chunk, keep, out,
                                err);
    if (status == 0)
        status = ebb_gunzip_finish(gunzip, err);
    ebb_gunzip_free(gunzip);
    return status;
}

static void what_was_encoded_is_decoded_in_any_pieces(void **state)
{
    static const size_t chunks[] = { 1, 7, 4096, 1 << 20 };
    char *bytes = sample();
    ebb_buf packed = { 0 };
    ebb_err err = { 0 };

    (void)state;
    assert_int_equal(ebb_gzip(bytes, BYTES, &packed, &err), 0);
    assert_true(packed.n < BYTES * 2 / 3);
    for (int i = 0; i < 4; i++) {
        ebb_buf out = { 0 };

        assert_int_equal(decode(&packed, packed.n, chunks[i], BYTES, &out,
                                &err), 0);
        assert_int_equal(out.n, BYTES);
        assert_memory_equal(out.bytes, bytes, BYTES);
        ebb_buf_clear(&out);
    }
    ebb_buf_clear(&packed);
    free(bytes);
}

static void nothing_and_several_members_are_fine(void **state)
{
    ebb_buf packed = { 0 }, out = { 0 };
    ebb_err err = { 0 };

    (void)state;
    assert_int_equal(ebb_gzip("", 0, &packed, &err), 0);
    assert_int_equal(decode(&packed, packed.n, 1, 1, &out, &err), 0);
    assert_int_equal(out.n, 0);
    ebb_gzip("one", 3, &packed, &err);
    ebb_gzip("two", 3, &packed, &err);
    assert_int_equal(decode(&packed, packed.n, 1000, 0, &out, &err), 0);
    assert_string_equal(out.bytes, "onetwo");
    ebb_buf_clear(&packed);
    ebb_buf_clear(&out);
}

static void the_bound_is_kept_to_the_byte(void **state)
{
    char *zeros = calloc(1, 50 << 20);
    ebb_buf packed = { 0 }, out = { 0 };
    ebb_err err = { 0 };

    (void)state;
    ebb_gzip(zeros, 50 << 20, &packed, &err);
    assert_int_equal(decode(&packed, packed.n, 1 << 20, (50 << 20) - 1, &out,
                            &err), -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    assert_true(out.n < 50 << 20);
    ebb_buf_clear(&out);
    assert_int_equal(decode(&packed, packed.n, 1 << 20, 50 << 20, &out, &err),
                     0);
    assert_int_equal(out.n, 50 << 20);
    ebb_buf_clear(&packed);
    ebb_buf_clear(&out);
    free(zeros);
}

static void what_is_not_whole_gzip_is_an_error(void **state)
{
    ebb_buf packed = { 0 }, out = { 0 }, plain = { 0 };
    ebb_err err = { 0 };

    (void)state;
    ebb_gzip("some text, long enough", 22, &packed, &err);
    for (size_t n = 0; n < packed.n; n++) {
        err.code = EBB_OK;
        assert_int_equal(decode(&packed, n, 5, 0, &out, &err), -1);
        assert_int_equal(err.code, EBB_PROTOCOL);
    }
    packed.bytes[packed.n - 6] ^= 1; /* the checksum */
    assert_int_equal(decode(&packed, packed.n, 99, 0, &out, &err), -1);
    assert_int_equal(err.code, EBB_PROTOCOL);
    ebb_buf_add_text(&plain, "plain text");
    assert_int_equal(decode(&plain, plain.n, 99, 0, &out, &err), -1);
    assert_int_equal(err.code, EBB_PROTOCOL);
    ebb_buf_clear(&packed);
    ebb_buf_clear(&plain);
    ebb_buf_clear(&out);
}

static void a_sink_may_stop_it(void **state)
{
    char *bytes = sample();
    ebb_buf packed = { 0 };
    ebb_err err = { 0 };
    int calls = 0;
    ebb_gunzip *gunzip = ebb_gunzip_new(0, &err);

    (void)state;
    ebb_gzip(bytes, BYTES, &packed, &err);
    assert_int_equal(ebb_gunzip_add(gunzip, packed.bytes, packed.n, refuse,
                                    &calls, &err), -1);
    assert_int_equal(calls, 2);
    assert_int_equal(err.code, EBB_OK); /* the sink's own business */
    assert_int_equal(ebb_gunzip_finish(gunzip, &err), -1);
    ebb_gunzip_free(gunzip);
    ebb_gunzip_free(NULL);
    ebb_buf_clear(&packed);
    free(bytes);
}

static void an_output_without_room_is_an_error(void **state)
{
    ebb_buf out;
    ebb_err err = { 0 };

    (void)state;
    ebb_buf_init(&out, 10);
    assert_int_equal(ebb_gzip("text", 4, &out, &err), -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    ebb_buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_encoded_is_decoded_in_any_pieces),
        cmocka_unit_test(nothing_and_several_members_are_fine),
        cmocka_unit_test(the_bound_is_kept_to_the_byte),
        cmocka_unit_test(what_is_not_whole_gzip_is_an_error),
        cmocka_unit_test(a_sink_may_stop_it),
        cmocka_unit_test(an_output_without_room_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
