/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sandbox/service/envd/envd_entry.h"

static void check_expand(const char *path, const char *expected)
{
    ebb_err err;
    char *out = ebb_envd_path_expand(path, &err);

    assert_non_null(out);
    assert_string_equal(out, expected);
    ebb_mem_free(out);
}

static void absolute_paths_stay_and_others_start_at_home(void **state)
{
    (void)state;
    check_expand("/home/user/../user//p/", "/home/user/../user//p/");
    check_expand("", "/home/user");
    check_expand("~", "/home/user");
    check_expand("~/", "/home/user");
    check_expand("~/d/link", "/home/user/d/link");
    check_expand("t.txt", "/home/user/t.txt");
    check_expand(".", "/home/user");
    check_expand("a/./b//../c/", "/home/user/a/c");
    check_expand("../../../etc", "/etc");
    check_expand("a~b", "/home/user/a~b");
}

static void the_home_of_another_is_refused(void **state)
{
    ebb_err err;

    (void)state;
    assert_null(ebb_envd_path_expand("~root/x", &err));
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    assert_non_null(strstr(err.msg, "~root/x"));
}

static void check_clean(const char *path, const char *expected)
{
    char *out = ebb_envd_path_clean(path);

    assert_string_equal(out, expected);
    ebb_mem_free(out);
}

static void cleaning_leaves_names_only(void **state)
{
    (void)state;
    check_clean("/", "/");
    check_clean("//a///b/", "/a/b");
    check_clean("/a/../..", "/");
    check_clean("/..a/.../.b", "/..a/.../.b");
    check_clean("/a/./.", "/a");
}

static void check_base(const char *path, const char *expected)
{
    size_t n;
    const char *base = ebb_envd_path_base(path, &n);

    assert_int_equal(n, strlen(expected));
    assert_memory_equal(base, expected, n);
}

static void the_base_is_the_last_name(void **state)
{
    (void)state;
    check_base("/a/b", "b");
    check_base("/home/user/p/", "p");
    check_base("/p///", "p");
    check_base("/", "/");
    check_base("//", "/");
}

static void check_mode(uint32_t mode, const char *expected)
{
    char out[16];

    ebb_envd_permissions(mode, out);
    assert_string_equal(out, expected);
}

static void permissions_are_gos_letters(void **state)
{
    (void)state;
    check_mode(0100640, "-rw-r-----");
    check_mode(0041777, "dtrwxrwxrwx");
    check_mode(0120777, "Lrwxrwxrwx");
    check_mode(0010644, "prw-r--r--");
    check_mode(0104755, "urwxr-xr-x");
    check_mode(0102755, "grwxr-xr-x");
    check_mode(0020666, "Dcrw-rw-rw-");
    check_mode(0060660, "Drw-rw----");
    check_mode(0140755, "Srwxr-xr-x");
    check_mode(0047777, "dugtrwxrwxrwx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absolute_paths_stay_and_others_start_at_home),
        cmocka_unit_test(the_home_of_another_is_refused),
        cmocka_unit_test(cleaning_leaves_names_only),
        cmocka_unit_test(the_base_is_the_last_name),
        cmocka_unit_test(permissions_are_gos_letters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
