/* SPDX-License-Identifier: MIT */
#include "wire/connect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/starving.h"

/* Writes what it receives as "flags:payload;" and stops after `stop`. */
typedef struct log {
    ebb_buf text;
    int count;
    int stop; /* 0: never */
} log;

static int note(void *context, unsigned flags, const char *payload, size_t n,
                ebb_err *err)
{
    log *l = context;

    ebb_buf_printf(&l->text, "%u:", flags);
    ebb_buf_add(&l->text, payload, n);
    ebb_buf_add_byte(&l->text, ';');
    if (++l->count == l->stop)
        return ebb_err_set(err, EBB_CANCELLED, "enough");
    return 0;
}

/* The stream of five envelopes that the tests cut up. */
static const char stream[] = "\0\0\0\0\5hello"
                             "\0\0\0\0\0"
                             "\1\0\0\0\1z"
                             "\0\0\0\0\3a\0b"
                             "\2\0\0\0\2{}";
static const char seen[] = "0:hello;0:;1:z;0:a\0b;2:{};";

static void assert_seen(const log *l)
{
    assert_int_equal(l->text.n, sizeof seen - 1);
    assert_memory_equal(l->text.bytes, seen, sizeof seen - 1);
}

static void envelopes_are_whole_wherever_two_cuts_are(void **state)
{
    size_t n = sizeof stream - 1;

    (void)state;
    for (size_t a = 0; a <= n; a++)
        for (size_t b = a; b <= n; b++) {
            ebb_connect_reader reader;
            log l = { 0 };
            ebb_err err;

            ebb_connect_reader_init(&reader, 5, note, &l);
            assert_int_equal(ebb_connect_add(&reader, stream, a, &err), 0);
            assert_int_equal(ebb_connect_add(&reader, stream + a, b - a, &err),
                             0);
            assert_int_equal(ebb_connect_add(&reader, stream + b, n - b, &err),
                             0);
            assert_int_equal(ebb_connect_finish(&reader, &err), 0);
            assert_seen(&l);
            ebb_buf_clear(&l.text);
            ebb_connect_reader_clear(&reader);
        }
}

static void envelopes_are_whole_byte_by_byte(void **state)
{
    ebb_connect_reader reader;
    log l = { 0 };
    ebb_err err;

    (void)state;
    ebb_connect_reader_init(&reader, 5, note, &l);
    for (size_t i = 0; i + 1 < sizeof stream; i++) {
        /* The byte alone on the heap: a read past it is found. */
        char *byte = malloc(1);

        *byte = stream[i];
        assert_int_equal(ebb_connect_add(&reader, byte, 1, &err), 0);
        free(byte);
    }
    assert_seen(&l);
    ebb_buf_clear(&l.text);
    ebb_connect_reader_clear(&reader);
}

static void a_stream_cut_inside_an_envelope_is_told(void **state)
{
    (void)state;
    for (size_t n = 0; n < 10; n++) {
        ebb_connect_reader reader;
        log l = { 0 };
        ebb_err err;

        ebb_connect_reader_init(&reader, 5, note, &l);
        assert_int_equal(ebb_connect_add(&reader, stream, n, &err), 0);
        assert_int_equal(ebb_connect_finish(&reader, &err), n > 0 ? -1 : 0);
        if (n > 0)
            assert_int_equal(err.code, EBB_PROTOCOL);
        assert_int_equal(l.count, 0);
        ebb_connect_reader_clear(&reader);
    }
}

static void a_promise_beyond_the_maximum_is_refused_at_the_head(void **state)
{
    static const char *const heads[] = { "\0\0\0\0\6", "\0\0\1\0\0",
                                         "\0\x7F\xFF\xFF\xFF",
                                         "\0\xFF\xFF\xFF\xFF" };

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (size_t cut = 0; cut <= 5; cut++) {
            ebb_connect_reader reader;
            log l = { 0 };
            ebb_err err = { 0 };
            int result;

            ebb_connect_reader_init(&reader, 5, note, &l);
            result = ebb_connect_add(&reader, heads[i], cut, &err);
            if (cut < 5)
                result =
                    ebb_connect_add(&reader, heads[i] + cut, 5 - cut, &err);
            assert_int_equal(result, -1);
            assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
            ebb_connect_reader_clear(&reader);
        }
}

static void memory_follows_what_came_not_what_was_promised(void **state)
{
    ebb_connect_reader reader;
    log l = { 0 };
    ebb_err err;

    (void)state;
    ebb_connect_reader_init(&reader, 64u << 20, note, &l);
    assert_int_equal(ebb_connect_add(&reader, "\0\3\xFF\xFF\xFFxyz", 8, &err),
                     0);
    assert_true(reader.held.room < 4096);
    ebb_connect_reader_clear(&reader);
}

static void whole_payloads_are_not_copied(void **state)
{
    ebb_connect_reader reader;
    log l = { 0 };
    ebb_err err;

    (void)state;
    ebb_connect_reader_init(&reader, 5, note, &l);
    assert_int_equal(ebb_connect_add(&reader, stream, sizeof stream - 1, &err),
                     0);
    assert_null(reader.held.bytes);
    assert_seen(&l);
    ebb_buf_clear(&l.text);
    ebb_connect_reader_clear(&reader);
}

static void the_receiver_can_stop(void **state)
{
    (void)state;
    for (size_t chunk = 1; chunk < sizeof stream; chunk++) {
        ebb_connect_reader reader;
        log l = { .stop = 2 };
        ebb_err err = { 0 };
        int result = 0;

        ebb_connect_reader_init(&reader, 5, note, &l);
        for (size_t i = 0; result == 0 && i + chunk < sizeof stream; i += chunk)
            result = ebb_connect_add(&reader, stream + i, chunk, &err);
        assert_int_equal(result, -1);
        assert_int_equal(err.code, EBB_CANCELLED);
        assert_int_equal(l.count, 2);
        ebb_buf_clear(&l.text);
        ebb_connect_reader_clear(&reader);
        if (chunk * 2 >= sizeof stream - 1)
            break;
    }
}

static void what_is_written_is_read(void **state)
{
    ebb_connect_reader reader;
    ebb_buf out = { 0 };
    log l = { 0 };
    ebb_err err;

    (void)state;
    ebb_connect_write(&out, 0, "hello", 5);
    ebb_connect_write(&out, 0, NULL, 0);
    ebb_connect_write(&out, EBB_CONNECT_COMPRESSED, "z", 1);
    ebb_connect_write(&out, 0, "a\0b", 3);
    ebb_connect_write(&out, EBB_CONNECT_END, "{}", 2);
    assert_int_equal(out.n, sizeof stream - 1);
    assert_memory_equal(out.bytes, stream, sizeof stream - 1);
    ebb_connect_reader_init(&reader, 5, note, &l);
    assert_int_equal(ebb_connect_add(&reader, out.bytes, out.n, &err), 0);
    assert_seen(&l);
    ebb_buf_clear(&l.text);
    ebb_buf_clear(&out);
    ebb_connect_reader_clear(&reader);
}

static void the_length_is_big_endian(void **state)
{
    static char payload[0x10203];
    ebb_buf out = { 0 };

    (void)state;
    assert_int_equal(ebb_connect_write(&out, 3, payload, sizeof payload), 0);
    assert_memory_equal(out.bytes, "\3\0\1\2\3", 5);
    ebb_buf_clear(&out);
    ebb_buf_init(&out, 9);
    assert_int_equal(ebb_connect_write(&out, 0, "hello", 5), -1);
    assert_int_equal(out.n, 0);
    assert_true(out.failed);
    ebb_buf_clear(&out);
}

static void codes_have_names_and_statuses(void **state)
{
    (void)state;
    for (int code = EBB_CONNECT_CANCELED; code <= EBB_CONNECT_UNAUTHENTICATED;
         code++) {
        const char *name = ebb_connect_code_name((ebb_connect_code)code);

        assert_int_equal(ebb_connect_code_find(name), code);
        assert_in_range(ebb_connect_code_status((ebb_connect_code)code), 400,
                        504);
    }
    assert_int_equal(EBB_CONNECT_UNAUTHENTICATED, 16);
    assert_int_equal(ebb_connect_code_find("not_found"), EBB_CONNECT_NOT_FOUND);
    assert_int_equal(ebb_connect_code_status(EBB_CONNECT_NOT_FOUND), 404);
    assert_int_equal(ebb_connect_code_find("NOT_FOUND"), EBB_CONNECT_OK);
    assert_int_equal(ebb_connect_code_find("ok"), EBB_CONNECT_OK);
    assert_int_equal(ebb_connect_code_find(""), EBB_CONNECT_OK);
    assert_string_equal(ebb_connect_code_name((ebb_connect_code)99), "unknown");
}

static void no_memory_for_an_envelope_is_told(void **state)
{
    ebb_connect_reader reader;
    log l = { 0 };
    ebb_err err;
    starving s;

    (void)state;
    starving_start(&s, 0);
    ebb_connect_reader_init(&reader, 5, note, &l);
    assert_int_equal(ebb_connect_add(&reader, stream, 7, &err), -1);
    assert_int_equal(err.code, EBB_NO_MEMORY);
    ebb_connect_reader_clear(&reader);
    starving_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(envelopes_are_whole_wherever_two_cuts_are),
        cmocka_unit_test(envelopes_are_whole_byte_by_byte),
        cmocka_unit_test(a_stream_cut_inside_an_envelope_is_told),
        cmocka_unit_test(a_promise_beyond_the_maximum_is_refused_at_the_head),
        cmocka_unit_test(memory_follows_what_came_not_what_was_promised),
        cmocka_unit_test(whole_payloads_are_not_copied),
        cmocka_unit_test(the_receiver_can_stop),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_length_is_big_endian),
        cmocka_unit_test(codes_have_names_and_statuses),
        cmocka_unit_test(no_memory_for_an_envelope_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
