/* SPDX-License-Identifier: MIT */
/*
 * What a real envd 0.6.13 was recorded to answer, read by the client whatever
 * way the bytes are cut.
 */
#include "support/recorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "e2b/filesystem.h"
#include "e2b/process.h"
#include "support/case.h"
#include "task/bounded.h"

#define DIR "spec/fixtures/envd"

typedef struct run {
    ebb_e2b_process process;
    ebb_bounded out, err;
    int starts;
} run;

static void on_start(void *context)
{
    ((run *)context)->starts++;
}

static void on_output(void *context, int stream, const char *bytes, size_t n)
{
    run *r = context;

    ebb_bounded_add(stream == 2 ? &r->err : &r->out, bytes, n);
}

static void read_run(run *r, const ebb_buf *body, size_t piece)
{
    ebb_err err = { 0 };

    memset(r, 0, sizeof *r);
    ebb_bounded_init(&r->out, 65536, &err);
    ebb_bounded_init(&r->err, 65536, &err);
    ebb_e2b_process_init(&r->process, r);
    r->process.on_start = on_start;
    r->process.on_output = on_output;
    for (size_t i = 0; i < body->n; i += piece)
        assert_int_equal(ebb_e2b_process_add(
                             &r->process, body->bytes + i,
                             body->n - i < piece ? body->n - i : piece, &err),
                         0);
    assert_int_equal(ebb_connect_finish(&r->process.reader, &err), 0);
}

static void clear_run(run *r)
{
    ebb_e2b_process_clear(&r->process);
    ebb_bounded_clear(&r->out);
    ebb_bounded_clear(&r->err);
}

static void commands_end_as_they_were_recorded(void **state)
{
    static const struct {
        const char *name, *out, *err;
        bool ended;
        int exit_code;
        const char *signal;
        ebb_connect_code code;
    } cases[] = {
        { "009-start-echo-proto", "hi\n", "", true, 0, NULL, 0 },
        { "011-start-exit3-proto", "", "", true, 3, NULL, 0 },
        { "013-start-stderr-proto", "out\n", "err\n", true, 0, NULL, 0 },
        { "050-start-killed-sigkill-proto", "", "", true, -1, "SIGKILL", 0 },
        { "052-start-killed-sigterm-proto", "", "", true, -1, "SIGTERM", 0 },
        { "033-start-timeout300-proto", "", "", false, 0, NULL,
          EBB_CONNECT_DEADLINE_EXCEEDED },
        { "020-start-cwd-missing-proto", "", "", false, 0, NULL,
          EBB_CONNECT_INVALID_ARGUMENT },
        { "023-start-unknown-user-proto", "", "", false, 0, NULL,
          EBB_CONNECT_UNAUTHENTICATED },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        recorded answer;
        char signal[16] = "";
        assert_int_equal(recorded_read(&answer, DIR, cases[i].name, "res"), 0);
        for (size_t piece = 1; piece <= answer.body.n; piece++) {
            run r;
            read_run(&r, &answer.body, piece);
            assert_true(r.process.finished);
            assert_int_equal(r.process.ended, cases[i].ended);
            assert_int_equal(r.process.exit_code, cases[i].exit_code);
            assert_int_equal(r.process.code, cases[i].code);
            assert_string_equal(r.out.text, cases[i].out);
            assert_string_equal(r.err.text, cases[i].err);
            assert_int_equal(ebb_e2b_process_signal(&r.process, signal),
                             cases[i].signal != NULL);
            if (cases[i].signal != NULL)
                assert_string_equal(signal, cases[i].signal);
            clear_run(&r);
        }
        recorded_clear(&answer);
    }
}

static void a_long_output_is_whole(void **state)
{
    recorded answer;
    run r;

    (void)state;
    assert_int_equal(
        recorded_read(&answer, DIR, "363-start-3893-bytes-proto", "res"), 0);
    read_run(&r, &answer.body, 1000);
    assert_true(r.process.ended && r.process.finished);
    assert_int_equal(r.starts, 1);
    assert_int_equal(r.out.byte_count, 3893);
    clear_run(&r);
    recorded_clear(&answer);
}

static int take_entry(void *context, const ebb_e2b_entry *entry, ebb_err *err)
{
    ebb_buf *all = context;

    (void)err;
    return ebb_buf_printf(all, "%s %.*s %lld\n", entry->type,
                          (int)entry->path_n, entry->path,
                          (long long)entry->size);
}

static void entries_are_what_was_recorded(void **state)
{
    static const struct {
        const char *name, *entries;
    } cases[] = {
        { "105-stat-file-proto", "file /home/user/d/a.txt 6\n" },
        { "107-stat-dir-proto", "directory /home/user/d/sub 4096\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        recorded answer;
        ebb_err err = { 0 };
        ebb_buf all = { 0 };
        assert_int_equal(recorded_read(&answer, DIR, cases[i].name, "res"), 0);
        assert_int_equal(ebb_e2b_filesystem_parse_stat(answer.body.bytes,
                                                       answer.body.n,
                                                       take_entry, &all, &err),
                         0);
        assert_string_equal(all.bytes, cases[i].entries);
        ebb_buf_clear(&all);
        recorded_clear(&answer);
    }
}

static void a_listing_is_what_was_recorded(void **state)
{
    recorded answer;

    (void)state;
    assert_int_equal(recorded_read(&answer, DIR, "124-listdir-proto", "res"),
                     0);
    for (size_t piece = 1; piece <= answer.body.n; piece++) {
        ebb_e2b_listing listing;
        ebb_err err = { 0 };
        ebb_buf all = { 0 };
        ebb_e2b_listing_init(&listing, take_entry, &all);
        for (size_t i = 0; i < answer.body.n; i += piece)
            assert_int_equal(
                ebb_e2b_listing_add(
                    &listing, answer.body.bytes + i,
                    answer.body.n - i < piece ? answer.body.n - i : piece,
                    &err),
                0);
        assert_int_equal(ebb_e2b_listing_finish(&listing, &err), 0);
        assert_string_equal(all.bytes, "file /home/user/d/a.txt 6\n"
                                       "symlink /home/user/d/dangling 7\n"
                                       "symlink /home/user/d/dlink 3\n"
                                       "other /home/user/d/fifo 0\n"
                                       "symlink /home/user/d/link 5\n"
                                       "directory /home/user/d/sub 4096\n"
                                       "file /home/user/d/suid 10\n");
        ebb_e2b_listing_clear(&listing);
        ebb_buf_clear(&all);
    }
    recorded_clear(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(commands_end_as_they_were_recorded, "D05"),
        CASE(a_long_output_is_whole, "D05"),
        CASE(entries_are_what_was_recorded, "D05"),
        CASE(a_listing_is_what_was_recorded, "D05"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
