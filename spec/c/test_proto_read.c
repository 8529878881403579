/* SPDX-License-Identifier: MIT */
#include "wire/proto_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void each_field_comes_with_its_number_and_contents(void **state)
{
    static const char bytes[] = "\x08\x96\x01"             /* 1: 150 */
                                "\x12\x03" "abc"           /* 2: "abc" */
                                "\x1d\x01\x02\x00\x00"     /* 3: 513, fixed */
                                "\x21\xff\xff\xff\xff\xff\xff\xff\xff"
                                "\x7a\x00"                 /* 15: "" */
                                "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    const char *at = bytes, *end = bytes + sizeof bytes - 1;
    ebb_proto_field field;

    (void)state;
    assert_true(ebb_proto_next(&at, end, &field));
    assert_int_equal(field.number, 1);
    assert_int_equal(field.value, 150);
    assert_null(field.bytes);
    assert_true(ebb_proto_next(&at, end, &field));
    assert_int_equal(field.number, 2);
    assert_int_equal(field.n, 3);
    assert_memory_equal(field.bytes, "abc", 3);
    assert_true(ebb_proto_next(&at, end, &field));
    assert_int_equal(field.number, 3);
    assert_int_equal(field.value, 513);
    assert_true(ebb_proto_next(&at, end, &field));
    assert_true(field.value == UINT64_MAX);
    assert_true(ebb_proto_next(&at, end, &field));
    assert_int_equal(field.number, 15);
    assert_non_null(field.bytes);
    assert_int_equal(field.n, 0);
    assert_true(ebb_proto_next(&at, end, &field));
    assert_true((int64_t)field.value == -1);
    assert_ptr_equal(at, end);
    assert_false(ebb_proto_next(&at, end, &field));
}

static void what_is_cut_or_no_field_ends_the_reading(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        { "\x08", 1 },         { "\x08\x80", 2 }, { "\x12\x03" "ab", 4 },
        { "\x1d\x01\x02", 3 }, { "\x21\x01", 2 }, { "\x12", 1 },
        { "\x80", 1 },         { "\x0b", 1 }, /* a group */
        { "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
        { "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i].bytes;
        ebb_proto_field field;

        assert_false(ebb_proto_next(&at, at + cases[i].n, &field));
        assert_true(at <= cases[i].bytes + cases[i].n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_comes_with_its_number_and_contents),
        cmocka_unit_test(what_is_cut_or_no_field_ends_the_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
