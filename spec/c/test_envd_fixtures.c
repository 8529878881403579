/* SPDX-License-Identifier: MIT */

/*
 * Every recorded exchange with a real envd whose bytes are envd's messages:
 * cut at every byte, decoded by both codecs, and compared with what Google's
 * protobuf makes of it (spec/fixtures/envd/decoded.tsv).
 */

#include "wire/connect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/envd_rows.h"

/* Compares value with the row's JSON and frees it. */
static void assert_decoded(const envd_row *r, ebb_value *value,
                           const ebb_err *err)
{
    ebb_err why;
    ebb_value *wanted = ebb_value_parse(r->json, strlen(r->json), 0, &why);
    char *text;

    assert_non_null(wanted);
    if (value == NULL)
        fail_msg("%s: %s", r->name, err->msg);
    if (!ebb_value_equal(value, wanted)) {
        text = ebb_value_write(value, EBB_WRITE_SORTED, NULL);
        fail_msg("%s: got %s, wanted %s", r->name, text, r->json);
    }
    ebb_value_free(value);
    ebb_value_free(wanted);
}

/* Decodes all rows of a kind; returns how many there were. */
static int check_kind(const char *kind, bool request)
{
    int count = 0;

    for (size_t i = 0; i < envd_rows_count; i++) {
        const envd_row *r = &envd_rows[i];
        ebb_err err = { 0 };
        recorded rec;

        if (strcmp(r->kind, kind) != 0)
            continue;
        rec = envd_load(r, request ? "req" : "res");
        assert_decoded(r, envd_decode_body(r, request, &rec, &err), &err);
        recorded_clear(&rec);
        count++;
    }
    return count;
}

static void every_streaming_answer_decodes_to_the_recorded_events(void **s)
{
    (void)s;
    assert_int_equal(check_kind("stream", false), 107);
}

static void every_unary_answer_decodes_to_the_recorded_message(void **state)
{
    (void)state;
    assert_int_equal(check_kind("unary", false), 79);
}

static void every_request_of_the_sdks_decodes(void **state)
{
    (void)state;
    assert_int_equal(check_kind("request", true), 233);
}

static void what_envd_refuses_is_refused(void **state)
{
    int count = 0;

    (void)state;
    for (size_t i = 0; i < envd_rows_count; i++) {
        const envd_row *r = &envd_rows[i];
        ebb_err err = { 0 };
        ebb_value *value;
        recorded rec;

        if (strcmp(r->kind, "refused") != 0 && strcmp(r->kind, "cut") != 0)
            continue;
        rec = envd_load(r, "req");
        value = envd_decode_body(r, true, &rec, &err);
        if (value != NULL)
            fail_msg("%s: accepted", r->name);
        if (err.code != EBB_PROTOCOL && err.code != EBB_LIMIT_EXCEEDED)
            fail_msg("%s: %s", r->name, err.msg);
        recorded_clear(&rec);
        count++;
    }
    assert_int_equal(count, 19);
}

static void every_error_has_a_code_that_gives_its_status(void **state)
{
    int count = 0;

    (void)state;
    for (size_t i = 0; i < envd_rows_count; i++) {
        const envd_row *r = &envd_rows[i];
        ebb_err err = { 0 };
        ebb_connect_code code;
        ebb_value *value;
        recorded rec;

        if (strcmp(r->kind, "error") != 0)
            continue;
        rec = envd_load(r, "res");
        value = ebb_value_parse(rec.body.bytes, rec.body.n, 0, &err);
        code = ebb_connect_code_find(ebb_value_find_string(value, "code"));
        if (ebb_connect_code_status(code) != recorded_status(&rec))
            fail_msg("%s: %d", r->name, recorded_status(&rec));
        ebb_value_set(value, "status", ebb_value_int(recorded_status(&rec)));
        assert_decoded(r, value, &err);
        recorded_clear(&rec);
        count++;
    }
    assert_int_equal(count, 58);
}

static int add_bytes(void *context, unsigned flags, const char *payload,
                     size_t n, ebb_err *err)
{
    (void)err;
    return ebb_connect_write(context, flags, payload, n);
}

/* Reads a body cut in two, writes its envelopes again: the same bytes. */
static void read_cut_at(const envd_row *r, const ebb_buf *body, size_t cut)
{
    ebb_connect_reader reader;
    ebb_buf out = { 0 };
    ebb_err err = { 0 };
    int result;

    ebb_connect_reader_init(&reader, ENVD_PAYLOAD_MAX, add_bytes, &out);
    result = ebb_connect_add(&reader, body->bytes, cut, &err);
    if (result == 0)
        result =
            ebb_connect_add(&reader, body->bytes + cut, body->n - cut, &err);
    if (result == 0)
        result = ebb_connect_finish(&reader, &err);
    if (result < 0 || out.n != body->n ||
        memcmp(out.bytes, body->bytes, out.n) != 0)
        fail_msg("%s cut at %zu: %s", r->name, cut, err.msg);
    ebb_connect_reader_clear(&reader);
    ebb_buf_clear(&out);
}

static void streams_may_be_cut_at_every_byte(void **state)
{
    size_t cuts = 0;

    (void)state;
    for (size_t i = 0; i < envd_rows_count; i++) {
        recorded rec;

        if (strcmp(envd_rows[i].kind, "stream") != 0)
            continue;
        rec = envd_load(&envd_rows[i], "res");
        for (size_t cut = 0; cut <= rec.body.n; cut++, cuts++)
            read_cut_at(&envd_rows[i], &rec.body, cut);
        recorded_clear(&rec);
    }
    assert_in_range(cuts, 20000, 1000000);
}

/* What differs between two runs of the same call. */
static void mask(ebb_value *value)
{
    static const char *const loose[] = { "pid", "modifiedTime", "watcherId" };
    void *place = NULL;
    ebb_value *member;
    const char *key;

    for (size_t i = 0; i < ebb_value_size(value); i++)
        mask(ebb_value_at(value, i));
    for (size_t i = 0; i < sizeof loose / sizeof *loose; i++)
        ebb_value_del(value, loose[i]);
    if (ebb_value_type(value) == EBB_OBJECT)
        while (ebb_value_next(value, &place, &key, &member))
            mask(member);
}

/* The row of the same call in binary, or NULL. */
static const envd_row *twin_of(const envd_row *r)
{
    size_t n = strlen(r->name);

    if (n < 9 || strcmp(r->name + n - 5, "-json") != 0)
        return NULL;
    for (size_t i = 0; i < envd_rows_count; i++)
        if (strcmp(envd_rows[i].kind, r->kind) == 0 &&
            strncmp(envd_rows[i].name + 4, r->name + 4, n - 9) == 0 &&
            strcmp(envd_rows[i].name + n - 5, "-proto") == 0)
            return &envd_rows[i];
    return NULL;
}

static ebb_value *decode_masked(const envd_row *r)
{
    ebb_err err = { 0 };
    recorded rec = envd_load(r, "res");
    ebb_value *value = envd_decode_body(r, false, &rec, &err);

    if (value == NULL)
        fail_msg("%s: %s", r->name, err.msg);
    mask(value);
    recorded_clear(&rec);
    return value;
}

/* The twins whose calls differ on purpose, or whose output was cut apart. */
static bool differs(const envd_row *r)
{
    static const char *const names[] = {
        "081", "099", "131", "137", "150", "160", "257", "264",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(r->name, names[i], 3) == 0)
            return true;
    return false;
}

static void both_codecs_tell_the_same(void **state)
{
    int count = 0;

    (void)state;
    for (size_t i = 0; i < envd_rows_count; i++) {
        const envd_row *r = &envd_rows[i], *twin = twin_of(r);
        ebb_value *a, *b;

        if (twin == NULL || differs(r) ||
            (strcmp(r->kind, "stream") != 0 && strcmp(r->kind, "unary") != 0))
            continue;
        a = decode_masked(r);
        b = decode_masked(twin);
        if (!ebb_value_equal(a, b))
            fail_msg("%s and %s differ", r->name, twin->name);
        ebb_value_free(a);
        ebb_value_free(b);
        count++;
    }
    assert_in_range(count, 25, 60);
}

/*
 * What a client reads off a stream, as the recordings' notes say it: the pid,
 * the bytes of output, the exit code, the error code.
 */
typedef struct run {
    const char *name, *output;
    int64_t exit_code;
    bool started, exited, ended;
    const char *error;
} run;

static const run runs[] = {
    { "008-start-echo-json", "aGkK", 0, true, true, true, NULL },
    { "009-start-echo-proto", "aGkK", 0, true, true, true, NULL },
    { "010-start-exit3-json", NULL, 3, true, true, true, NULL },
    { "011-start-exit3-proto", NULL, 3, true, true, true, NULL },
    { "018-start-self-signal-json", NULL, -1, true, false, true, NULL },
    { "019-start-cwd-missing-json", NULL, 0, false, false, false,
      "invalid_argument" },
    { "022-start-unknown-user-json", NULL, 0, false, false, false,
      "unauthenticated" },
    { "033-start-timeout300-proto", NULL, 0, true, false, false,
      "deadline_exceeded" },
    { "050-start-killed-sigkill-proto", NULL, -1, true, false, true, NULL },
    { "073-connect-unknown-pid-proto", NULL, 0, false, false, false,
      "not_found" },
    { "331-start-invalid-utf8-output-json", "/wAK", 0, true, true, true, NULL },
    { "344-start-client-half-close-json", NULL, 0, true, false, false,
      "canceled" },
};

/* The first member of that name among the events of a stream, or NULL. */
static const ebb_value *find_event(const ebb_value *frames, const char *name)
{
    const ebb_value *found = NULL;

    for (size_t i = 0; found == NULL && i < ebb_value_size(frames); i++) {
        const ebb_value *message =
            ebb_value_find(ebb_value_at(frames, i), "message");

        found = ebb_value_find(ebb_value_find(message, "event"), name);
    }
    return found;
}

static void assert_run(const run *wanted, const ebb_value *frames)
{
    const ebb_value *start = find_event(frames, "start");
    const ebb_value *data = find_event(frames, "data");
    const ebb_value *end = find_event(frames, "end");
    const ebb_value *last = ebb_value_at(frames, ebb_value_size(frames) - 1);
    const ebb_value *error =
        ebb_value_find(ebb_value_find(last, "end"), "error");

    assert_int_equal(ebb_value_find_int(start, "pid", 0) > 0, wanted->started);
    assert_int_equal(end != NULL, wanted->ended);
    assert_int_equal(ebb_value_find_int(end, "exitCode", 0), wanted->exit_code);
    assert_int_equal(ebb_value_find_bool(end, "exited", false), wanted->exited);
    if (wanted->output != NULL)
        assert_string_equal(ebb_value_find_string(data, "stdout"),
                            wanted->output);
    if (wanted->error == NULL)
        assert_null(error);
    else
        assert_string_equal(ebb_value_find_string(error, "code"),
                            wanted->error);
}

static void the_reference_runs_say_what_their_notes_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        envd_row r = { .name = runs[i].name,
                       .method = "process.Process/Start" };
        ebb_err err = { 0 };
        ebb_value *frames;
        recorded rec;

        r.codec = strstr(r.name, "-proto") != NULL ? "proto" : "json";
        rec = envd_load(&r, "res");
        frames = envd_decode_stream(&r, false, &rec.body, &err);
        assert_non_null(frames);
        assert_run(&runs[i], frames);
        ebb_value_free(frames);
        recorded_clear(&rec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_streaming_answer_decodes_to_the_recorded_events),
        cmocka_unit_test(every_unary_answer_decodes_to_the_recorded_message),
        cmocka_unit_test(every_request_of_the_sdks_decodes),
        cmocka_unit_test(what_envd_refuses_is_refused),
        cmocka_unit_test(every_error_has_a_code_that_gives_its_status),
        cmocka_unit_test(streams_may_be_cut_at_every_byte),
        cmocka_unit_test(both_codecs_tell_the_same),
        cmocka_unit_test(the_reference_runs_say_what_their_notes_say),
    };

    return cmocka_run_group_tests(tests, envd_read_table, envd_clear_table);
}
