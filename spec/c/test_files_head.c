/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/files_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_type(const char *name, const char *bytes, const char *type)
{
    assert_string_equal(ebb_files_type(name, bytes, strlen(bytes)), type);
}

static void takes_the_type_from_the_extension_else_from_the_bytes(void **state)
{
    (void)state;
    check_type("t.txt", "\x01", "text/plain; charset=utf-8");
    check_type("j.JSON", "", "application/json");
    check_type("noext", "no ext\n", "text/plain; charset=utf-8");
    check_type("noext", "a\x01", "application/octet-stream");
    check_type("x.unknown", "%PDF-1.7", "application/pdf");
    check_type("x", "\x89PNG\r\n\x1a\n", "image/png");
    check_type("", "", "text/plain; charset=utf-8");
    assert_string_equal(ebb_files_type("zeros", "\0\0", 2),
                        "application/octet-stream");
}

static void check_disposition(const char *name, const char *expected)
{
    ebb_buf out = { 0 };

    ebb_files_write_disposition(name, &out);
    assert_string_equal(out.bytes, expected);
    ebb_buf_clear(&out);
}

static void names_the_file_as_go_does(void **state)
{
    (void)state;
    check_disposition("t.txt", "inline; filename=t.txt");
    check_disposition("a b.txt", "inline; filename=\"a b.txt\"");
    check_disposition("a\"\\", "inline; filename=\"a\\\"\\\\\"");
    check_disposition("\xc3\xbc.txt", "inline; filename*=utf-8''%C3%BC.txt");
    check_disposition("a\nb", "inline; filename*=utf-8''a%0Ab");
    check_disposition("", "inline; filename=\"\"");
}

static void writes_http_dates(void **state)
{
    char date[EBB_FILES_DATE_BYTES];

    (void)state;
    ebb_files_write_date(1767323045, date);
    assert_string_equal(date, "Fri, 02 Jan 2026 03:04:05 GMT");
}

static void check_range(const char *header, uint64_t size,
                        ebb_files_range expected, uint64_t offset,
                        uint64_t length)
{
    uint64_t o = 0, n = size;

    assert_int_equal(ebb_files_parse_range(header, size, &o, &n), expected);
    if (expected == EBB_FILES_PART) {
        assert_int_equal(o, offset);
        assert_int_equal(n, length);
    }
}

static void reads_one_range(void **state)
{
    (void)state;
    check_range("bytes=7-10", 12, EBB_FILES_PART, 7, 4);
    check_range("bytes=7-", 12, EBB_FILES_PART, 7, 5);
    check_range("bytes=0-99", 12, EBB_FILES_PART, 0, 12);
    check_range("bytes=-5", 12, EBB_FILES_PART, 7, 5);
    check_range("bytes=-50", 12, EBB_FILES_PART, 0, 12);
    check_range("bytes=11-18446744073709551615", 12, EBB_FILES_PART, 11, 1);
    check_range("bytes=12-", 12, EBB_FILES_UNSATISFIABLE, 0, 0);
    check_range("bytes=0-", 0, EBB_FILES_UNSATISFIABLE, 0, 0);
    check_range("bytes=-0", 12, EBB_FILES_UNSATISFIABLE, 0, 0);
}

static void ignores_what_is_no_single_range(void **state)
{
    static const char *const ignored[] = {
        "bytes=",     "bytes=a-b",    "bytes=1-0",
        "bytes=1",    "bytes=0-1,3-", "lines=1-2",
        "bytes=-",    "bytes=-1x",    "bytes=1-2x",
        "bytes= 1-2", "bytes=+1-2",   "bytes=99999999999999999999-",
    };
    size_t i;

    (void)state;
    check_range(NULL, 12, EBB_FILES_WHOLE, 0, 0);
    for (i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        check_range(ignored[i], 12, EBB_FILES_WHOLE, 0, 0);
}

static void knows_when_plain_bytes_are_refused(void **state)
{
    (void)state;
    assert_true(ebb_files_takes_identity(NULL));
    assert_true(ebb_files_takes_identity(""));
    assert_true(ebb_files_takes_identity("gzip, deflate, br"));
    assert_true(ebb_files_takes_identity("*"));
    assert_true(ebb_files_takes_identity("gzip;q=0"));
    assert_true(ebb_files_takes_identity("*;q=0, identity;q=0.5"));
    assert_true(ebb_files_takes_identity("identityx;q=0"));
    assert_false(ebb_files_takes_identity("gzip;q=0, identity;q=0"));
    assert_false(ebb_files_takes_identity("gzip, Identity ; q=0"));
    assert_false(ebb_files_takes_identity("gzip, *;q=0.0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_type_from_the_extension_else_from_the_bytes),
        cmocka_unit_test(names_the_file_as_go_does),
        cmocka_unit_test(writes_http_dates),
        cmocka_unit_test(reads_one_range),
        cmocka_unit_test(ignores_what_is_no_single_range),
        cmocka_unit_test(knows_when_plain_bytes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
