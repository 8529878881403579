/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "support/box_run.h"
#include "support/case.h"

/* The calls of files, each waited for. They return the error's code. */

static ebb_code wait_done(rig *r)
{
    assert_false(r->done);
    rig_wait(r, &r->done);
    return r->err.code;
}

static ebb_code stat_of(rig *r, const char *path)
{
    r->done = false;
    ebb_box_stat(r->box, path, rig_on_stat, r);
    return wait_done(r);
}

static ebb_code list_of(rig *r, const char *path, unsigned depth, size_t max)
{
    r->done = false;
    r->entries = 0;
    ebb_buf_reset(&r->names);
    ebb_box_list(r->box, path, depth, max, rig_on_entry, rig_on_done, r);
    return wait_done(r);
}

static ebb_code open_of(rig *r, const char *path, unsigned how)
{
    rig_close_fd(&r->fd);
    r->done = false;
    ebb_box_open(r->box, path, how, rig_on_opened, r);
    return wait_done(r);
}

static ebb_code make_dir(rig *r, const char *path)
{
    r->done = false;
    ebb_box_make_dir(r->box, path, rig_on_done, r);
    return wait_done(r);
}

static ebb_code move(rig *r, const char *from, const char *to)
{
    r->done = false;
    ebb_box_move(r->box, from, to, rig_on_done, r);
    return wait_done(r);
}

static ebb_code remove_path(rig *r, const char *path)
{
    r->done = false;
    ebb_box_remove(r->box, path, rig_on_done, r);
    return wait_done(r);
}

static ebb_code set_metadata(rig *r, const char *path, const char *pairs,
                             size_t n)
{
    r->done = false;
    ebb_box_set_metadata(r->box, path, pairs, n, rig_on_done, r);
    return wait_done(r);
}

static void write_text(rig *r, const char *path, const char *text)
{
    assert_int_equal(open_of(r, path, EBB_BOX_WRITE), EBB_OK);
    assert_int_equal(write(r->fd, text, strlen(text)), strlen(text));
    rig_close_fd(&r->fd);
}

static const char *read_text(rig *r, const char *path)
{
    static char text[4096];
    ssize_t n;

    assert_int_equal(open_of(r, path, EBB_BOX_READ), EBB_OK);
    n = pread(r->fd, text, sizeof text - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

/* ---- stat ---- */

static void stat_tells_kind_size_owner_and_time(void **state)
{
    rig *r = *state;

    rig_run(r, "cd /tmp; printf 12345 > f; chmod 640 f; mkdir d; "
               "touch -d @1700000000.5 f");
    assert_int_equal(stat_of(r, "/tmp/f"), EBB_OK);
    assert_string_equal(r->path, "/tmp/f");
    assert_int_equal(r->entry.size, 5);
    assert_int_equal(r->entry.mode, S_IFREG | 0640);
    assert_int_equal(r->entry.target_mode, r->entry.mode);
    assert_string_equal(r->owner, "user:user");
    assert_int_equal(r->entry.mtime_s, 1700000000);
    assert_int_equal(r->entry.mtime_ns, 500000000);
    assert_string_equal(r->target, "");
    assert_int_equal(stat_of(r, "/tmp/d"), EBB_OK);
    assert_true(S_ISDIR(r->entry.mode));
    assert_int_equal(stat_of(r, "/usr/bin/env"), EBB_OK);
    assert_string_equal(r->owner, "nobody:nogroup");
}

static void stat_follows_links_for_their_target_only(void **state)
{
    rig *r = *state;

    rig_run(r, "cd /tmp; printf 1 > f; mkdir d; ln -s f to-f; ln -s d to-d; "
               "ln -s nowhere dangling; ln -s a b; ln -s b a; "
               "mkfifo fifo");
    assert_int_equal(stat_of(r, "/tmp/to-f"), EBB_OK);
    assert_true(S_ISLNK(r->entry.mode));
    assert_true(S_ISREG(r->entry.target_mode));
    assert_string_equal(r->target, "/tmp/f");
    assert_int_equal(stat_of(r, "/tmp/to-d"), EBB_OK);
    assert_true(S_ISDIR(r->entry.target_mode));
    assert_int_equal(stat_of(r, "/tmp/dangling"), EBB_OK);
    assert_int_equal(r->entry.target_mode, 0);
    assert_string_equal(r->target, "/tmp/dangling");
    assert_int_equal(stat_of(r, "/tmp/a"), EBB_OK);
    assert_string_equal(r->target, "/tmp/a");
    assert_int_equal(stat_of(r, "/tmp/fifo"), EBB_OK);
    assert_true(S_ISFIFO(r->entry.mode));
}

static void stat_fails_with_the_errno(void **state)
{
    rig *r = *state;

    rig_run(r, "cd /tmp; touch f; ln -s a b; ln -s b a");
    assert_int_equal(stat_of(r, "/tmp/none"), EBB_FILE_NOT_FOUND);
    assert_int_equal(r->err.status, ENOENT);
    assert_int_equal(stat_of(r, "/tmp/f/x"), EBB_INVALID_INPUT);
    assert_int_equal(r->err.status, ENOTDIR);
    assert_int_equal(stat_of(r, "/tmp/a/x"), EBB_INVALID_INPUT);
    assert_int_equal(r->err.status, ELOOP);
    assert_int_equal(stat_of(r, "relative"), EBB_INVALID_INPUT);
}

/* ---- list ---- */

static void list_goes_to_its_depth_in_byte_order(void **state)
{
    rig *r = *state;

    rig_run(r, "mkdir -p /tmp/l/b/c/d /tmp/l/B; touch /tmp/l/a /tmp/l/b/x "
               "/tmp/l/b/c/d/deep; ln -s b /tmp/l/link");
    assert_int_equal(list_of(r, "/tmp/l", 1, 100), EBB_OK);
    assert_string_equal(r->names.bytes, "/tmp/l/B\n/tmp/l/a\n/tmp/l/b\n"
                                        "/tmp/l/link\n");
    assert_int_equal(list_of(r, "/tmp/l", 2, 100), EBB_OK);
    assert_string_equal(r->names.bytes,
                        "/tmp/l/B\n/tmp/l/a\n/tmp/l/b\n/tmp/l/b/c\n"
                        "/tmp/l/b/x\n/tmp/l/link\n");
    assert_int_equal(list_of(r, "/tmp/l", 99, 100), EBB_OK);
    assert_int_equal(r->entries, 8);
    assert_int_equal(list_of(r, "/", 1, 100), EBB_OK);
    assert_non_null(strstr(r->names.bytes, "/usr\n"));
    assert_null(strstr(r->names.bytes, "//"));
}

static void list_of_thousands_comes_whole_and_has_a_bound(void **state)
{
    rig *r = *state;

    rig_run(r, "mkdir /tmp/many; cd /tmp/many; seq -w 20000 | xargs touch");
    assert_int_equal(list_of(r, "/tmp/many", 1, 20000), EBB_OK);
    assert_int_equal(r->entries, 20000);
    assert_int_equal(list_of(r, "/tmp/many", 1, 19999), EBB_LIMIT_EXCEEDED);
    assert_true(r->entries <= 19999);
}

static void list_fails_for_what_is_no_directory(void **state)
{
    rig *r = *state;

    rig_run(r, "touch /tmp/f; mkdir -m 0 /tmp/shut");
    assert_int_equal(list_of(r, "/tmp/f", 1, 10), EBB_INVALID_INPUT);
    assert_int_equal(r->err.status, ENOTDIR);
    assert_int_equal(list_of(r, "/tmp/none", 1, 10), EBB_FILE_NOT_FOUND);
    assert_int_equal(list_of(r, "/tmp/shut", 1, 10), EBB_SERVER);
    assert_int_equal(r->err.status, EACCES);
    /* Inside a listing it is an entry like others. */
    assert_int_equal(list_of(r, "/tmp", 3, 10), EBB_OK);
    assert_int_equal(r->entries, 2);
}

static void names_that_are_not_utf8_and_long_paths_are_kept(void **state)
{
    rig *r = *state;

    /* 60 × 201 bytes: three times what the kernel takes as one path. */
    assert_int_equal(
        rig_run(r, "mkdir /tmp/l; cd /tmp/l; touch $'\\xff\\n'; "
                   "n=$(printf 'd%.0s' $(seq 200)); "
                   "for i in $(seq 60); do mkdir $n; cd -P $n 2>/dev/null "
                   "|| cd $n; done; echo x > bottom"),
        0);
    assert_int_equal(list_of(r, "/tmp/l", 500, 1000), EBB_OK);
    assert_int_equal(r->entries, 62);
    assert_non_null(strstr(r->names.bytes, "/tmp/l/\xff\n\n"));
    assert_non_null(strstr(r->names.bytes, "d/bottom\n"));
    assert_int_equal(remove_path(r, "/tmp/l"), EBB_OK);
    assert_int_equal(stat_of(r, "/tmp/l"), EBB_FILE_NOT_FOUND);
}

/* ---- open ---- */

static void what_is_written_is_read_again(void **state)
{
    rig *r = *state;

    write_text(r, "/home/user/new/dir/file", "some text");
    assert_string_equal(read_text(r, "/home/user/new/dir/file"),
                        "some text");
    write_text(r, "/home/user/new/dir/file", "less");
    assert_string_equal(read_text(r, "/home/user/new/dir/file"), "less");
    rig_run(r, "stat -c '%a %U' new new/dir/file");
    assert_string_equal(rig_out(r), "755 user\n644 user\n");
}

static void open_fails_with_the_errno(void **state)
{
    rig *r = *state;
    static const struct {
        const char *path;
        unsigned how;
        ebb_code code;
    } cases[] = {
        { "/tmp/none", EBB_BOX_READ, EBB_FILE_NOT_FOUND },
        { "/tmp", EBB_BOX_READ, EBB_INVALID_INPUT },
        { "/tmp", EBB_BOX_WRITE, EBB_INVALID_INPUT },
        { "/usr/x", EBB_BOX_WRITE, EBB_SERVER },
        { "/etc/passwd", EBB_BOX_WRITE, EBB_SERVER },
        { "/etc/passwd/x", EBB_BOX_WRITE, EBB_INVALID_INPUT },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(open_of(r, cases[i].path, cases[i].how),
                         cases[i].code);
        assert_int_equal(r->fd, -1);
    }
}

static void what_is_no_plain_file_is_refused_at_once(void **state)
{
    rig *r = *state;
    static const char *const paths[] = { "/tmp/fifo", "/dev/zero",
                                         "/dev/tty", "/tmp/socket" };
    static const char *const kernel[] = { "/proc/self/status",
                                          "/proc/meminfo",
                                          "/proc/sys/kernel/hostname" };
    double start;

    rig_run(r, "mkfifo /tmp/fifo; python3 -c \"import socket; "
               "socket.socket(socket.AF_UNIX).bind('/tmp/socket')\"");
    start = rig_ms();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(open_of(r, paths[i], EBB_BOX_READ),
                         EBB_INVALID_INPUT);
        assert_int_equal(open_of(r, paths[i], EBB_BOX_WRITE),
                         EBB_INVALID_INPUT);
    }
    for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++)
        assert_int_equal(open_of(r, kernel[i], EBB_BOX_READ),
                         EBB_UNSUPPORTED);
    assert_true(rig_ms() - start < 2000);
}

static void no_link_leads_out_of_the_sandbox(void **state)
{
    rig *r = *state;
    static const char *const paths[] = {
        "/tmp/abs", "/tmp/up", "/tmp/dots/../../../../../tmp/abs",
        "/proc/self/root/etc/shadow", "/tmp/parent/shadow",
    };

    rig_run(r, "cd /tmp; ln -s /etc/shadow abs; mkdir dots; "
               "ln -s ../../../../../../etc/shadow up; ln -s /etc parent");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_int_equal(open_of(r, paths[i], EBB_BOX_READ),
                         EBB_FILE_NOT_FOUND);
    /* The same name inside is the sandbox's own file. */
    rig_run(r, "ln -s /etc/passwd /tmp/passwd");
    assert_non_null(strstr(read_text(r, "/tmp/passwd"), "user:x:1000"));
    assert_int_equal(open_of(r, "/tmp/up", EBB_BOX_WRITE), EBB_SERVER);
}

static void a_link_swapped_during_the_calls_leads_nowhere_else(void **state)
{
    rig *r = *state;
    struct stat st;

    rig_spawn(r, "mkdir -p /tmp/real; echo inside > /tmp/real/f; cd /tmp; "
                 "while :; do ln -sfn /tmp/real swap; ln -sfn /etc swap; "
                 "ln -sfn / swap; done");
    for (int i = 0; i < 3000; i++) {
        if (open_of(r, "/tmp/swap/f", EBB_BOX_READ) == EBB_OK) {
            char text[16] = "";

            assert_int_equal(pread(r->fd, text, 15, 0), 7);
            assert_string_equal(text, "inside\n");
        }
        if (open_of(r, "/tmp/swap/new", EBB_BOX_WRITE) == EBB_OK) {
            assert_int_equal(fstat(r->fd, &st), 0);
            assert_int_equal(st.st_uid, r->config.uid);
        }
    }
    rig_signal(r, SIGKILL, true);
    assert_int_equal(access("/new", F_OK), -1);
    assert_int_equal(access("/etc/new", F_OK), -1);
}

/* ---- directories, moves, removals ---- */

static void directories_are_made_with_their_parents(void **state)
{
    rig *r = *state;

    assert_int_equal(make_dir(r, "/home/user/a/b/c"), EBB_OK);
    assert_int_equal(make_dir(r, "/home/user/a/b/c"), EBB_CONFLICT);
    assert_int_equal(make_dir(r, "/home/user/a"), EBB_CONFLICT);
    rig_run(r, "touch a/f");
    assert_int_equal(make_dir(r, "/home/user/a/f"), EBB_INVALID_INPUT);
    assert_int_equal(make_dir(r, "/home/user/a/f/x"), EBB_INVALID_INPUT);
    assert_int_equal(make_dir(r, "/usr/x/y"), EBB_SERVER);
    assert_int_equal(r->err.status, EROFS);
}

static void moves_make_the_parents_of_their_goal(void **state)
{
    rig *r = *state;

    write_text(r, "/home/user/f", "text");
    assert_int_equal(move(r, "/home/user/f", "/home/user/x/y/g"), EBB_OK);
    assert_string_equal(read_text(r, "/home/user/x/y/g"), "text");
    assert_int_equal(move(r, "/home/user/f", "/home/user/q/g"),
                     EBB_FILE_NOT_FOUND);
    assert_int_equal(stat_of(r, "/home/user/q"), EBB_FILE_NOT_FOUND);
    assert_int_equal(move(r, "/home/user/x", "/home/user/x/y/z"),
                     EBB_INVALID_INPUT);
    assert_int_equal(move(r, "/home/user/x", "relative"), EBB_INVALID_INPUT);
    /* From one file system to another, as rename(2) cannot. */
    assert_int_equal(move(r, "/home/user/x", "/tmp/x"), EBB_OK);
    assert_string_equal(read_text(r, "/tmp/x/y/g"), "text");
    assert_int_equal(stat_of(r, "/home/user/x"), EBB_FILE_NOT_FOUND);
}

static void removals_take_trees_and_never_follow_links(void **state)
{
    rig *r = *state;

    rig_run(r, "mkdir -p t/a/b keep; touch t/a/b/f keep/me; "
               "ln -s ../../keep t/a/link; ln -s keep l");
    assert_int_equal(remove_path(r, "/home/user/t"), EBB_OK);
    assert_int_equal(remove_path(r, "/home/user/l"), EBB_OK);
    assert_int_equal(remove_path(r, "/home/user/none"), EBB_OK);
    rig_run(r, "ls -R .");
    assert_string_equal(rig_out(r), ".:\nkeep\n\n./keep:\nme\n");
    assert_int_equal(remove_path(r, "/etc/passwd"), EBB_SERVER);
    assert_int_equal(r->err.status, EROFS);
}

static void metadata_is_replaced_as_a_whole(void **state)
{
    rig *r = *state;
    static const char first[] = "a\0one\0b\0two";
    static const char second[] = "c\0three";

    write_text(r, "/home/user/f", "text");
    if (set_metadata(r, "/home/user/f", first, sizeof first) ==
        EBB_UNSUPPORTED)
        skip(); /* a file system without attributes */
    assert_int_equal(r->err.code, EBB_OK);
    assert_int_equal(stat_of(r, "/home/user/f"), EBB_OK);
    assert_memory_equal(r->metadata, "a\0one\0b\0two\0", 13);
    assert_int_equal(set_metadata(r, "/home/user/f", second, sizeof second),
                     EBB_OK);
    assert_int_equal(stat_of(r, "/home/user/f"), EBB_OK);
    assert_memory_equal(r->metadata, "c\0three\0", 9);
    assert_int_equal(set_metadata(r, "/home/user/f", NULL, 0), EBB_OK);
    assert_int_equal(stat_of(r, "/home/user/f"), EBB_OK);
    assert_string_equal(r->metadata, "");
    assert_int_equal(set_metadata(r, "/home/user/none", first,
                                  sizeof first),
                     EBB_FILE_NOT_FOUND);
    assert_int_equal(set_metadata(r, "/home/user/f", "odd", 4),
                     EBB_INVALID_INPUT);
    assert_int_equal(set_metadata(r, "/home/user/f", "cut", 3),
                     EBB_INVALID_INPUT);
}

int main(void)
{
#define BOX(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define BOX_CASE(name, names) CASE_WITH(name, names, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        BOX(stat_tells_kind_size_owner_and_time),
        BOX(stat_follows_links_for_their_target_only),
        BOX(stat_fails_with_the_errno),
        BOX(list_goes_to_its_depth_in_byte_order),
        BOX(list_of_thousands_comes_whole_and_has_a_bound),
        BOX(list_fails_for_what_is_no_directory),
        BOX(names_that_are_not_utf8_and_long_paths_are_kept),
        BOX(what_is_written_is_read_again),
        BOX(open_fails_with_the_errno),
        BOX_CASE(what_is_no_plain_file_is_refused_at_once, "A09"),
        BOX_CASE(no_link_leads_out_of_the_sandbox, "A09"),
        BOX_CASE(a_link_swapped_during_the_calls_leads_nowhere_else, "A09"),
        BOX(directories_are_made_with_their_parents),
        BOX(moves_make_the_parents_of_their_goal),
        BOX_CASE(removals_take_trees_and_never_follow_links, "A09"),
        BOX(metadata_is_replaced_as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
