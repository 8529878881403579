/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/starving.h"

static void writes_add_up_and_end_in_nul(void **state)
{
    ebb_buf buf;
    ebb_err err;

    (void)state;
    ebb_buf_init(&buf, 0);
    assert_int_equal(ebb_buf_add(&buf, "ab\0", 3), 0);
    assert_int_equal(ebb_buf_add_text(&buf, "cd"), 0);
    assert_int_equal(ebb_buf_add_byte(&buf, 'e'), 0);
    assert_int_equal(ebb_buf_printf(&buf, "%03d", 7), 0);
    assert_int_equal(buf.n, 9);
    assert_memory_equal(buf.bytes, "ab\0cde007", 10);
    assert_int_equal(ebb_buf_check(&buf, "it", &err), 0);
    ebb_buf_clear(&buf);
    assert_null(buf.bytes);
}

static void adding_nothing_works_on_an_empty_buffer(void **state)
{
    ebb_buf buf = { 0 };

    (void)state;
    assert_int_equal(ebb_buf_add(&buf, NULL, 0), 0);
    assert_int_equal(ebb_buf_add_text(&buf, ""), 0);
    ebb_buf_drop(&buf, 0);
    ebb_buf_reset(&buf);
    assert_int_equal(buf.n, 0);
    ebb_buf_clear(&buf);
    ebb_buf_clear(&buf);
}

/* Every pair of a maximum and a size: exactly what fits is taken. */
static void the_maximum_is_exact(void **state)
{
    char bytes[200];

    (void)state;
    memset(bytes, 'x', sizeof bytes);
    for (size_t max = 1; max < 150; max++)
        for (size_t n = 0; n < 160; n += 3) {
            ebb_buf buf;

            ebb_buf_init(&buf, max);
            assert_int_equal(ebb_buf_add(&buf, bytes, n), n <= max ? 0 : -1);
            assert_int_equal(buf.n, n <= max ? n : 0);
            assert_true(buf.room <= max);
            ebb_buf_clear(&buf);
        }
}

static void a_write_that_does_not_fit_fails_whole_and_for_good(void **state)
{
    ebb_buf buf;
    ebb_err err;

    (void)state;
    ebb_buf_init(&buf, 5);
    ebb_buf_add_text(&buf, "abc");
    assert_int_equal(ebb_buf_printf(&buf, "%s", "xyz"), -1);
    assert_string_equal(buf.bytes, "abc");
    assert_int_equal(ebb_buf_add_byte(&buf, 'd'), -1);
    assert_null(ebb_buf_reserve(&buf, 1));
    assert_null(ebb_buf_take(&buf));
    assert_int_equal(ebb_buf_check(&buf, "answer", &err), -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    assert_string_equal(err.msg, "answer is longer than 5 bytes");

    ebb_buf_reset(&buf);
    assert_int_equal(ebb_buf_check(&buf, "answer", &err), 0);
    assert_int_equal(ebb_buf_add_text(&buf, "fresh"), 0);
    assert_string_equal(buf.bytes, "fresh");
    ebb_buf_clear(&buf);
}

static void a_length_that_overflows_is_refused(void **state)
{
    ebb_buf buf = { 0 };

    (void)state;
    ebb_buf_add_text(&buf, "abc");
    assert_null(ebb_buf_reserve(&buf, SIZE_MAX - 2));
    assert_string_equal(buf.bytes, "abc");
    ebb_buf_clear(&buf);
}

static void no_memory_is_told_from_the_limit(void **state)
{
    ebb_buf buf;
    ebb_err err;
    starving s;

    (void)state;
    starving_start(&s, 0);
    ebb_buf_init(&buf, 100);
    assert_int_equal(ebb_buf_add_text(&buf, "x"), -1);
    assert_int_equal(ebb_buf_check(&buf, "it", &err), -1);
    assert_int_equal(err.code, EBB_NO_MEMORY);
    ebb_buf_clear(&buf);
    starving_stop();
}

static void reserved_room_can_be_written_directly(void **state)
{
    ebb_buf buf = { 0 };
    char *room = ebb_buf_reserve(&buf, 1000);

    (void)state;
    memcpy(room, "direct", 6);
    ebb_buf_grew(&buf, 6);
    assert_string_equal(buf.bytes, "direct");
    ebb_buf_clear(&buf);
}

static void dropping_moves_the_rest_to_the_front(void **state)
{
    ebb_buf buf = { 0 };

    (void)state;
    ebb_buf_add_text(&buf, "abcdef");
    ebb_buf_drop(&buf, 2);
    assert_string_equal(buf.bytes, "cdef");
    ebb_buf_drop(&buf, 4);
    assert_string_equal(buf.bytes, "");
    assert_int_equal(buf.n, 0);
    ebb_buf_clear(&buf);
}

static void taken_bytes_are_the_callers(void **state)
{
    ebb_buf buf;
    char *bytes;

    (void)state;
    ebb_buf_init(&buf, 10);
    ebb_buf_add_text(&buf, "abc");
    bytes = ebb_buf_take(&buf);
    assert_string_equal(bytes, "abc");
    assert_null(buf.bytes);
    assert_int_equal(buf.bytes_max, 10);
    ebb_mem_free(bytes);

    bytes = ebb_buf_take(&buf); /* nothing written is an empty string */
    assert_string_equal(bytes, "");
    ebb_mem_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_add_up_and_end_in_nul),
        cmocka_unit_test(adding_nothing_works_on_an_empty_buffer),
        cmocka_unit_test(the_maximum_is_exact),
        cmocka_unit_test(a_write_that_does_not_fit_fails_whole_and_for_good),
        cmocka_unit_test(a_length_that_overflows_is_refused),
        cmocka_unit_test(no_memory_is_told_from_the_limit),
        cmocka_unit_test(reserved_room_can_be_written_directly),
        cmocka_unit_test(dropping_moves_the_rest_to_the_front),
        cmocka_unit_test(taken_bytes_are_the_callers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
