/* SPDX-License-Identifier: MIT */
#include "e2b/long_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

/* What comes out, as "name=bytes;" for each string. */
typedef struct seen {
    ebb_buf all;
    char name[EBB_E2B_NAME_BYTES];
    bool open;
} seen;

static int take(void *context, const char *name, const char *bytes, size_t n,
                ebb_err *err)
{
    seen *s = context;

    (void)err;
    if (!s->open) {
        ebb_buf_printf(&s->all, "%s=", name);
        snprintf(s->name, sizeof s->name, "%s", name);
        s->open = true;
    }
    assert_string_equal(s->name, name);
    ebb_buf_add(&s->all, bytes, n);
    if (n == 0) {
        ebb_buf_add_text(&s->all, ";");
        s->open = false;
    }
    return 0;
}

/* Reads json in pieces; the result of the first failure, else of finish. */
static int read_line(const char *json, size_t piece, seen *s, ebb_err *err)
{
    size_t n = strlen(json);
    ebb_e2b_long_line line;

    *s = (seen){ 0 };
    ebb_buf_init(&s->all, 0);
    ebb_e2b_long_line_init(&line, take, s);
    for (size_t i = 0; i < n; i += piece)
        if (ebb_e2b_long_line_add(&line, json + i,
                                  n - i < piece ? n - i : piece, err) != 0)
            return -1;
    return ebb_e2b_long_line_finish(&line, err);
}

static void strings_come_out_decoded_whatever_way_they_are_cut(void **state)
{
    static const struct {
        const char *json, *out;
    } cases[] = {
        { "{}", "" },
        { " { \"a\" : \"b\" } ", "a=b;" },
        { "{\"a\":\"\",\"b\":\"x\"}", "a=;b=x;" },
        { "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "a=\"\\/\b\f\n\r\t;" },
        { "{\"a\":\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00z\"}",
          "a=A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z;" },
        { "{\"a\":\"\xC3\xA9\"}", "a=\xC3\xA9;" },
        { "{\"a\":\"\\ud83dx\\ude00\\ud83d\"}",
          "a=\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD;" },
        { "{\"a\":\"\\ud83d\\n\"}", "a=\xEF\xBF\xBD\n;" },
        { "{\"n\":-1.5e3,\"t\":true,\"z\":null,\"a\":\"x\",\"m\":7}", "a=x;" },
        { "{\"o\":{\"a\":\"in\",\"]\":[\"}\",\"\\\"]\"]},\"l\":[[],{}],"
          "\"a\":\"x\"}",
          "a=x;" },
        { "{\"a name that is longer than anybody asks for\":\"x\"}", "=x;" },
        { "{\"\\u0061\":\"x\"}", "a=x;" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece <= strlen(cases[i].json); piece++) {
            ebb_err err = { 0 };
            seen s;
            if (read_line(cases[i].json, piece, &s, &err) != 0)
                fail_msg("%s: %s", cases[i].json, err.msg);
            assert_string_equal(s.all.n > 0 ? s.all.bytes : "", cases[i].out);
            ebb_buf_clear(&s.all);
        }
}

static void what_is_no_object_is_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "[]",
        "\"a\"",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":\"b\"",
        "{\"a\":\"b",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u00g0\"}",
        "{\"a\":[1,2}",
        "{} {}",
        "{\"a\":\"b\" \"c\":\"d\"}",
        "{a:1}",
        "{\"a\":\"b\",",
        "{\"a\":1",
        "{\"a\":,}",
        "{\"a\":\"\\u12",
        "x{}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece <= strlen(cases[i]) + 1; piece++) {
            ebb_err err = { 0 };
            seen s;
            if (read_line(cases[i], piece, &s, &err) == 0)
                fail_msg("%s was taken", cases[i]);
            assert_int_equal(err.code, EBB_PROTOCOL);
            ebb_buf_clear(&s.all);
        }
}

static int refuse(void *context, const char *name, const char *bytes, size_t n,
                  ebb_err *err)
{
    (void)context;
    (void)name;
    (void)bytes;
    (void)n;
    return ebb_err_set(err, EBB_LIMIT_EXCEEDED, "enough");
}

static void who_takes_the_pieces_can_stop_it(void **state)
{
    static const char *const cases[] = { "{\"a\":\"b\"}", "{\"a\":\"\"}",
                                         "{\"a\":\"\\n\"}",
                                         "{\"a\":\"\\ud83d\"}" };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_e2b_long_line line;
        ebb_err err = { 0 };
        ebb_e2b_long_line_init(&line, refuse, NULL);
        assert_int_equal(
            ebb_e2b_long_line_add(&line, cases[i], strlen(cases[i]), &err), -1);
        assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_come_out_decoded_whatever_way_they_are_cut),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(who_takes_the_pieces_can_stop_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
