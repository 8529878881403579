/* SPDX-License-Identifier: MIT */
#include "wire/proto_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/filesystem.pb-c.h"

#define ANY   &filesystem__remove_response__descriptor /* knows no field */
#define ENTRY &filesystem__entry_info__descriptor

static void each_field_comes_with_its_number_and_contents(void **state)
{
    static const char bytes[] = "\x08\x96\x01"             /* 1: 150 */
                                "\x12\x03" "abc"           /* 2: "abc" */
                                "\x1d\x01\x02\x00\x00"     /* 3: 513, fixed */
                                "\x21\xff\xff\xff\xff\xff\xff\xff\xff"
                                "\x7a\x00"                 /* 15: "" */
                                "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    ebb_proto_reader reader;
    ebb_proto_field field;
    ebb_err err = { 0 };

    (void)state;
    ebb_proto_reader_init(&reader, ANY, bytes, sizeof bytes - 1);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 1);
    assert_int_equal(field.number, 1);
    assert_int_equal(field.value, 150);
    assert_null(field.bytes);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 1);
    assert_int_equal(field.number, 2);
    assert_int_equal(field.n, 3);
    assert_memory_equal(field.bytes, "abc", 3);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 1);
    assert_int_equal(field.number, 3);
    assert_int_equal(field.value, 513);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 1);
    assert_true(field.value == UINT64_MAX);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 1);
    assert_int_equal(field.number, 15);
    assert_non_null(field.bytes);
    assert_int_equal(field.n, 0);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 1);
    assert_true((int64_t)field.value == -1);
    assert_ptr_equal(reader.at, reader.end);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 0);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 0);
    assert_int_equal(err.code, EBB_OK);
}

static void nothing_has_no_field(void **state)
{
    ebb_proto_reader reader;
    ebb_proto_field field;
    ebb_err err = { 0 };

    (void)state;
    ebb_proto_reader_init(&reader, ENTRY, NULL, 0);
    assert_int_equal(ebb_proto_next(&reader, &field, &err), 0);
}

/* Reads a copy on the heap, so that a read past its end is found. */
static int read_all(const ProtobufCMessageDescriptor *descriptor,
                    const char *bytes, size_t n, int *fields, ebb_err *err)
{
    char *copy = malloc(n);
    ebb_proto_reader reader;
    ebb_proto_field field;
    int more;

    memcpy(copy, bytes, n);
    ebb_proto_reader_init(&reader, descriptor, copy, n);
    *fields = 0;
    while ((more = ebb_proto_next(&reader, &field, err)) > 0)
        ++*fields;
    assert_true(reader.at <= reader.end);
    free(copy);
    return more;
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
        { "\x00\x01", 2 },                   /* number 0 */
        { "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
        { "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12 },
        { "\x80\x80\x80\x80\x10\x01", 6 }, /* a number above 29 bits */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_err err = { 0 };
        int fields;

        assert_int_equal(
            read_all(ANY, cases[i].bytes, cases[i].n, &fields, &err), -1);
        assert_int_equal(err.code, EBB_PROTOCOL);
        assert_non_null(strstr(err.msg, "RemoveResponse: the protobuf bytes"));
        assert_int_equal(fields, 0);
    }
}

/* What came before was given; the field itself is not, nor is its message. */
static void a_field_is_checked_before_it_is_given(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } cases[] = {
        { "\x20\x07\x08\x01", 4, "EntryInfo.name has another type" },
        { "\x20\x07\x12\x01\x01", 5, "EntryInfo.type has another type" },
        { "\x20\x07\x1d\1\2\3\4", 7, "EntryInfo.path has another type" },
        { "\x20\x07\x0a\x02\xc3(", 6, "EntryInfo.name is not UTF-8" },
        { "\x20\x07\x1a\x03/\0/", 7, "EntryInfo.path holds a NUL" },
        { "\x20\x07\x4a\x01\x08", 5, "Timestamp: the protobuf bytes" },
        { "\x20\x07\x5a\x03\x0a\x01\xff", 7, "MetadataEntry.key is not" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_err err = { 0 };
        int fields;

        assert_int_equal(
            read_all(ENTRY, cases[i].bytes, cases[i].n, &fields, &err), -1);
        assert_int_equal(err.code, EBB_PROTOCOL);
        if (strstr(err.msg, cases[i].why) == NULL)
            fail_msg("expected \"%s\" in \"%s\"", cases[i].why, err.msg);
        assert_int_equal(fields, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_comes_with_its_number_and_contents),
        cmocka_unit_test(nothing_has_no_field),
        cmocka_unit_test(what_is_cut_or_no_field_ends_the_reading),
        cmocka_unit_test(a_field_is_checked_before_it_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
