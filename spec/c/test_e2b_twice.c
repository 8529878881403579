/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/tasks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "e2b/tasks/fields.h"

static void add_file(ebb_value *files, const char *path)
{
    ebb_value *file = ebb_value_object();

    ebb_value_set(file, "path", ebb_value_text(path));
    ebb_value_set(file, "encoding", ebb_value_text("utf8"));
    ebb_value_set(file, "content", ebb_value_text(""));
    assert_int_equal(ebb_value_add(files, file), 0);
}

/* As many as there may be, the last as the twice-th is, otherwise written. */
static int check(int twice, ebb_err *err)
{
    ebb_value *input = ebb_value_object(), *files = ebb_value_array();
    char path[32];
    int result;

    for (int i = 0; i < EBB_E2B_WRITE_MAX - 1; i++) {
        snprintf(path, sizeof path, "/home/user/f%d", i);
        add_file(files, path);
    }
    snprintf(path, sizeof path, "/home//./user/f%d/", twice);
    add_file(files, path);
    assert_int_equal(ebb_value_set(input, "files", files), 0);
    result = ebb_e2b_check_write(input, err);
    ebb_value_free(input);
    return result;
}

static void a_path_is_found_among_as_many_as_there_may_be(void **state)
{
    ebb_err err = { 0 };
    char wanted[96];

    (void)state;
    assert_int_equal(check(EBB_E2B_WRITE_MAX, &err), 0);
    for (int i = 0; i < EBB_E2B_WRITE_MAX - 1; i++) {
        assert_int_equal(check(i, &err), -1);
        assert_int_equal(err.code, EBB_INVALID_INPUT);
        snprintf(wanted, sizeof wanted,
                 "e2b.writeFiles: files[%d].path: the same as files[%d].path",
                 EBB_E2B_WRITE_MAX, i + 1);
        assert_string_equal(err.msg, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_found_among_as_many_as_there_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
