/* SPDX-License-Identifier: MIT */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/starving.h"

static char root[64];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/ebb-fs-XXXXXX");
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_root(void **state)
{
    ebb_err err;

    (void)state;
    return ebb_fs_remove_tree(root, &err);
}

/* The path of name under the test's directory; valid until the next call. */
static const char *at(const char *name)
{
    static char paths[4][200];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static void put(const char *name, const char *text)
{
    ebb_err err = { 0 };

    if (ebb_fs_replace(at(name), text, strlen(text), 0600, &err) < 0)
        fail_msg("%s", err.msg);
}

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

static void a_file_is_replaced_whole_with_its_mode(void **state)
{
    ebb_buf out = { 0 };
    struct stat st;
    ebb_err err;

    (void)state;
    put("f", "first, and longer");
    assert_int_equal(ebb_fs_replace(at("f"), "two", 3, 0640, &err), 0);
    assert_int_equal(ebb_fs_read(at("f"), 100, &out, &err), 0);
    assert_string_equal(out.bytes, "two");
    assert_int_equal(stat(at("f"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(entries(root), 1); /* nothing left aside */
    ebb_buf_clear(&out);
}

static void an_unsynced_replacement_is_whole_all_the_same(void **state)
{
    ebb_buf out = { 0 };
    struct stat st;
    ebb_err err;

    (void)state;
    put("f", "first, and longer");
    assert_int_equal(ebb_fs_replace_unsynced(at("f"), "two", 3, 0640, &err), 0);
    assert_int_equal(ebb_fs_read(at("f"), 100, &out, &err), 0);
    assert_string_equal(out.bytes, "two");
    assert_int_equal(stat(at("f"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(entries(root), 1);
    assert_int_equal(ebb_fs_replace_unsynced(at("none/f"), "x", 1, 0600, &err),
                     -1);
    assert_int_equal(err.code, EBB_FILE_NOT_FOUND);
    ebb_buf_clear(&out);
}

static void a_failed_replacement_keeps_the_old_and_leaves_nothing(void **state)
{
    ebb_err err;

    (void)state;
    assert_int_equal(mkdir(at("dir"), 0700), 0);
    assert_int_equal(ebb_fs_replace(at("dir"), "x", 1, 0600, &err), -1);
    assert_int_equal(err.status, EISDIR);
    assert_int_equal(entries(root), 1);
    assert_int_equal(ebb_fs_replace(at("none/f"), "x", 1, 0600, &err), -1);
    assert_int_equal(err.code, EBB_FILE_NOT_FOUND);
}

static void reading_is_bounded_to_the_byte(void **state)
{
    ebb_buf out = { 0 };
    ebb_err err;

    (void)state;
    put("f", "12345");
    assert_int_equal(ebb_fs_read(at("f"), 5, &out, &err), 0);
    assert_string_equal(out.bytes, "12345");
    ebb_buf_reset(&out);
    assert_int_equal(ebb_fs_read(at("f"), 4, &out, &err), -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    assert_int_equal(ebb_fs_read("/dev/zero", 100000, &out, &err), -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    ebb_buf_reset(&out);
    assert_int_equal(ebb_fs_read("/proc/self/stat", 10000, &out, &err), 0);
    assert_true(out.n > 10); /* its size is said to be 0 */
    ebb_buf_clear(&out);
}

static void a_missing_file_is_named(void **state)
{
    ebb_buf out = { 0 };
    ebb_err err;

    (void)state;
    assert_int_equal(ebb_fs_read(at("none"), 5, &out, &err), -1);
    assert_int_equal(err.code, EBB_FILE_NOT_FOUND);
    assert_non_null(strstr(err.msg, "/none: No such file"));
}

static void directories_are_made_with_their_parents(void **state)
{
    struct stat st;
    ebb_err err;

    (void)state;
    assert_int_equal(ebb_fs_make_dirs(at("a//b/c/"), 0700, &err), 0);
    assert_int_equal(stat(at("a/b/c"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(ebb_fs_make_dirs(at("a/b/c"), 0700, &err), 0);
    put("file", "");
    assert_int_equal(ebb_fs_make_dirs(at("file/x"), 0700, &err), -1);
    assert_int_equal(ebb_fs_make_dirs(at("file"), 0700, &err), -1);
    assert_int_equal(err.status, ENOTDIR);
    assert_int_equal(ebb_fs_make_dirs("", 0700, &err), -1);
}

static void removing_a_tree_follows_no_link(void **state)
{
    ebb_err err;

    (void)state;
    ebb_fs_make_dirs(at("keep"), 0700, &err);
    put("keep/f", "x");
    ebb_fs_make_dirs(at("tree/sub/deep"), 0700, &err);
    put("tree/sub/f", "x");
    assert_int_equal(symlink(at("keep"), at("tree/link")), 0);
    assert_int_equal(symlink(at("keep"), at("tree/sub/link")), 0);
    assert_int_equal(mkfifo(at("tree/fifo"), 0600), 0);
    assert_int_equal(ebb_fs_remove_tree(at("tree"), &err), 0);
    assert_int_equal(access(at("tree"), F_OK), -1);
    assert_int_equal(access(at("keep/f"), F_OK), 0);

    assert_int_equal(symlink(at("keep"), at("link")), 0);
    assert_int_equal(ebb_fs_remove_tree(at("link"), &err), 0);
    assert_int_equal(access(at("keep/f"), F_OK), 0);
    assert_int_equal(ebb_fs_remove_tree(at("none"), &err), 0);
    assert_int_equal(ebb_fs_remove_tree(at("keep/f"), &err), 0);
}

/* Deeper than PATH_MAX and than descriptors reach. */
static void a_very_deep_tree_is_removed(void **state)
{
    int dir = open(root, O_RDONLY | O_DIRECTORY);
    ebb_err err = { 0 };

    (void)state;
    for (int i = 0; i < 6000; i++) {
        int next;

        assert_int_equal(mkdirat(dir, "ddddddddd", 0700), 0);
        close(openat(dir, "file", O_CREAT | O_WRONLY, 0600));
        next = openat(dir, "ddddddddd", O_RDONLY | O_DIRECTORY);
        close(dir);
        dir = next;
    }
    close(dir);
    assert_int_equal(ebb_fs_remove_tree(at("ddddddddd"), &err), 0);
    assert_int_equal(entries(root), 1);
}

static void directories_without_rights_are_removed(void **state)
{
    ebb_err err;

    (void)state;
    ebb_fs_make_dirs(at("t/a/b"), 0700, &err);
    put("t/a/b/f", "x");
    assert_int_equal(chmod(at("t/a/b"), 0), 0);
    assert_int_equal(chmod(at("t/a"), 0500), 0);
    assert_int_equal(chmod(at("t"), 0), 0);
    assert_int_equal(ebb_fs_remove_tree(at("t"), &err), 0);
    assert_int_equal(entries(root), 0);
}

static void names_that_removal_uses_itself_do_not_confuse_it(void **state)
{
    ebb_err err;

    (void)state;
    ebb_fs_make_dirs(at("t/.ebb-0/x/y"), 0700, &err);
    ebb_fs_make_dirs(at("t/a/b/.ebb-1/c"), 0700, &err);
    put("t/.ebb-2", "x");
    assert_int_equal(ebb_fs_remove_tree(at("t"), &err), 0);
    assert_int_equal(entries(root), 0);
}

static void only_a_directory_of_ones_own_is_trusted(void **state)
{
    ebb_err err;

    (void)state;
    assert_int_equal(ebb_fs_check_own_dir(root, &err), 0);
    assert_int_equal(chmod(root, 0770), 0);
    assert_int_equal(ebb_fs_check_own_dir(root, &err), -1);
    assert_non_null(strstr(err.msg, "chmod go-w"));
    assert_int_equal(chmod(root, 0702), 0);
    assert_int_equal(ebb_fs_check_own_dir(root, &err), -1);
    assert_int_equal(chmod(root, 0711), 0);
    assert_int_equal(ebb_fs_check_own_dir(root, &err), 0);

    put("f", "x");
    assert_int_equal(ebb_fs_check_own_dir(at("f"), &err), -1);
    assert_int_equal(symlink(root, at("link")), 0);
    assert_int_equal(ebb_fs_check_own_dir(at("link"), &err), -1);
    assert_int_equal(err.code, EBB_FORBIDDEN);
    assert_int_equal(ebb_fs_check_own_dir(at("none"), &err), -1);
    assert_int_equal(err.code, EBB_FILE_NOT_FOUND);
    if (geteuid() == 0) {
        assert_int_equal(chown(root, 12345, 12345), 0);
        assert_int_equal(ebb_fs_check_own_dir(root, &err), -1);
        assert_non_null(strstr(err.msg, "12345"));
    }
}

static void joining_puts_one_slash_between(void **state)
{
    static const char *const cases[][3] = {
        { "a", "b", "a/b" },  { "a/", "b", "a/b" }, { "/", "b", "/b" },
        { "a", "/b", "a/b" }, { "", "b", "/b" },    { "a//", "//b", "a/b" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *joined = ebb_fs_join(cases[i][0], cases[i][1]);

        assert_string_equal(joined, cases[i][2]);
        ebb_mem_free(joined);
    }
}

#define IN_ROOT(test)                                                          \
    cmocka_unit_test_setup_teardown(test, make_root, remove_root)

static void no_memory_is_told_and_nothing_is_left(void **state)
{
    ebb_buf out = { 0 };
    starving s;
    ebb_err err;

    (void)state;
    put("f", "text");
    for (int left = 0; left < 2; left++) {
        starving_start(&s, left);
        assert_int_equal(ebb_fs_replace(at("f"), "x", 1, 0600, &err), -1);
        assert_int_equal(err.code, EBB_NO_MEMORY);
        assert_int_equal(s.blocks, 0);
    }
    starving_start(&s, 0);
    assert_int_equal(ebb_fs_make_dirs(at("d"), 0700, &err), -1);
    assert_int_equal(ebb_fs_read(at("f"), 100, &out, &err), -1);
    assert_int_equal(err.code, EBB_NO_MEMORY);
    assert_null(ebb_fs_join("a", "b"));
    ebb_buf_clear(&out);
    starving_stop();
    assert_int_equal(entries(root), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(a_file_is_replaced_whole_with_its_mode),
        IN_ROOT(an_unsynced_replacement_is_whole_all_the_same),
        IN_ROOT(a_failed_replacement_keeps_the_old_and_leaves_nothing),
        IN_ROOT(reading_is_bounded_to_the_byte),
        IN_ROOT(a_missing_file_is_named),
        IN_ROOT(directories_are_made_with_their_parents),
        IN_ROOT(removing_a_tree_follows_no_link),
        IN_ROOT(a_very_deep_tree_is_removed),
        IN_ROOT(directories_without_rights_are_removed),
        IN_ROOT(names_that_removal_uses_itself_do_not_confuse_it),
        IN_ROOT(only_a_directory_of_ones_own_is_trusted),
        cmocka_unit_test(joining_puts_one_slash_between),
        IN_ROOT(no_memory_is_told_and_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
