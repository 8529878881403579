/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "sandbox/service/box/box_parts.h"

static char root[64];

static int setup(void **state)
{
    char etc[80];
    (void)state;
    snprintf(root, sizeof root, "/tmp/ebb-etc.XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(etc, sizeof etc, "%s/etc", root);
    return mkdir(etc, 0755);
}

static int teardown(void **state)
{
    ebb_err err;
    (void)state;
    return ebb_fs_remove_tree(root, &err);
}

/* Every tree the host has is there, and nothing made aside is left. */
static void check_complete(void)
{
    static const char *const patterns[] = { "/etc/java-*-openjdk", "/etc/R",
                                            "/etc/fonts" };
    char path[512];
    size_t expected = 0;
    glob_t found;
    for (size_t i = 0; i < 3; i++) {
        int none = glob(patterns[i], 0, NULL, &found);
        for (size_t j = 0; none == 0 && j < found.gl_pathc; j++) {
            struct stat st;
            snprintf(path, sizeof path, "%s%s", root, found.gl_pathv[j]);
            assert_int_equal(lstat(path, &st), 0);
            assert_true(S_ISDIR(st.st_mode));
            assert_int_equal(st.st_mode & 0777, 0755);
            expected++;
        }
        globfree(&found);
    }
    snprintf(path, sizeof path, "%s/etc/*", root);
    int none = glob(path, 0, NULL, &found);
    assert_int_equal(none == 0 ? found.gl_pathc : 0, expected);
    globfree(&found);
}

static void copies_what_the_host_has_and_again_changes_nothing(void **state)
{
    (void)state;
    ebb_box_etc_add(root);
    check_complete();
    ebb_box_etc_add(root);
    check_complete();
}

static void goes_on_where_a_copy_cannot_be_made(void **state)
{
    (void)state;
    ebb_box_etc_add("/nonexistent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            copies_what_the_host_has_and_again_changes_nothing, setup,
            teardown),
        cmocka_unit_test(goes_on_where_a_copy_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
