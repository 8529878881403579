/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/multipart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

#define TYPE "multipart/form-data; boundary=B"

/* What was told, as text: "name|filename:bytes;" a part. */
struct heard {
    ebb_buf text;
    ebb_multipart *multipart; /* paused at each part, if set */
    bool refuse;
};

static int on_part(void *context, const char *name, const char *filename,
                   ebb_err *err)
{
    struct heard *heard = context;

    ebb_buf_printf(&heard->text, "%s|%s:", name ? name : "-",
                   filename ? filename : "-");
    if (heard->multipart)
        ebb_multipart_pause(heard->multipart);
    return heard->refuse ? ebb_err_set(err, EBB_CONFLICT, "no") : 0;
}

static int on_bytes(void *context, const char *bytes, size_t n, ebb_err *err)
{
    struct heard *heard = context;

    (void)err;
    assert_true(n > 0);
    return ebb_buf_add(&heard->text, bytes, n);
}

static int on_part_end(void *context, ebb_err *err)
{
    struct heard *heard = context;

    (void)err;
    return ebb_buf_add_byte(&heard->text, ';');
}

static const ebb_multipart_sink sink = { on_part, on_bytes, on_part_end };

/* Feeds body in pieces of step bytes; returns how it ended. */
static int feed(struct heard *heard, const char *body, size_t n, size_t step,
                ebb_err *err)
{
    ebb_multipart *m = ebb_multipart_new(TYPE, &sink, heard, err);
    bool pausing = heard->multipart != NULL;
    size_t at;
    int rc = 0;

    assert_non_null(m);
    if (pausing)
        heard->multipart = m;
    for (at = 0; rc == 0 && at < n; at += step) {
        rc =
            ebb_multipart_add(m, body + at, n - at < step ? n - at : step, err);
        /* Each resume may come to the next part and pause again. */
        for (int i = 0; rc == 0 && pausing && i < 4; i++)
            rc = ebb_multipart_resume(m, err);
    }
    if (rc == 0)
        rc = ebb_multipart_finish(m, err);
    ebb_multipart_free(m);
    return rc;
}

/* The body read whole and cut at every step gives the same. */
static void check(const char *body, size_t n, const char *expected)
{
    size_t step;

    for (step = n; step > 0; step--) {
        for (int pausing = 0; pausing < 2; pausing++) {
            struct heard heard = { 0 };
            ebb_err err = { 0 };

            heard.multipart = pausing ? (ebb_multipart *)&heard : NULL;
            if (feed(&heard, body, n, step, &err) != 0)
                fail_msg("step %zu: %s", step, err.msg);
            if (strcmp(heard.text.bytes ? heard.text.bytes : "", expected) != 0)
                fail_msg("step %zu: %s", step, heard.text.bytes);
            ebb_buf_clear(&heard.text);
        }
    }
}

static void check_text(const char *body, const char *expected)
{
    check(body, strlen(body), expected);
}

static void check_error(const char *body, ebb_code code)
{
    struct heard heard = { 0 };
    ebb_err err;

    assert_int_equal(feed(&heard, body, strlen(body), strlen(body) + 1, &err),
                     -1);
    assert_int_equal(err.code, code);
    ebb_buf_clear(&heard.text);
}

static void reads_parts_cut_anywhere(void **state)
{
    (void)state;
    check_text("--B\r\nContent-Disposition: form-data; name=\"file\"; "
               "filename=\"/a b\"\r\nContent-Type: text/plain\r\n\r\n"
               "one\r\n\r\ntwo\r\n--B\r\n"
               "content-disposition:form-data;name=file;filename=c\r\n\r\n"
               "x--B--not-yet\r\n--Bx\r\n--\r\r\n--B--\r\nepilogue\r\n--B\r\n",
               "file|/a b:one\r\n\r\ntwo;"
               "file|c:x--B--not-yet\r\n--Bx\r\n--\r;");
}

static void reads_empty_bodies_and_heads(void **state)
{
    (void)state;
    check_text("--B--", "");
    check_text("preamble\r\n--B\r\n\r\nx\r\n--B--\r\n", "-|-:x;");
    check_text("--B\r\n\r\n\r\n--B--", "-|-:;");
    check_text("--B\r\nContent-Disposition: form-data; name=\"file\"; "
               "filename=\"\"\r\n\r\n--B--",
               "file|:;");
}

static void keeps_every_byte(void **state)
{
    char body[600];
    char expected[600];
    size_t n, e;
    int i;

    (void)state;
    n = (size_t)sprintf(body, "--B\r\nContent-Disposition: form-data; "
                              "name=\"f\"\r\n\r\n");
    e = (size_t)sprintf(expected, "f|-:");
    for (i = 0; i < 255; i++) /* but NUL, which ends the expectation */
        body[n++] = expected[e++] = (char)(255 - i);
    n += (size_t)sprintf(body + n, "\r\n--B--");
    strcpy(expected + e, ";");
    check(body, n, expected);
}

/* As Go's mime package reads parameters. */
static void unescapes_file_names_as_envd_does(void **state)
{
    (void)state;
    check_text("--B\r\nContent-Disposition: form-data; name=\"file\"; "
               "filename=\"a\\\"b\\\\c\\d%22;e\"\r\n\r\n\r\n--B--",
               "file|a\"b\\c\\d%22;e:;");
}

static void a_body_that_stops_early_is_no_upload(void **state)
{
    static const char whole[] =
        "--B\r\nContent-Disposition: form-data; name=\"file\"; "
        "filename=\"a\"\r\n\r\nabc\r\n--B--";
    size_t n;

    (void)state;
    check_text(whole, "file|a:abc;");
    for (n = 0; n < sizeof whole - 1; n++) {
        struct heard heard = { 0 };
        ebb_err err;

        assert_int_equal(feed(&heard, whole, n, 7, &err), -1);
        assert_int_equal(err.code, EBB_PROTOCOL);
        ebb_buf_clear(&heard.text);
    }
}

static void needs_a_boundary(void **state)
{
    static const char *const bad[] = {
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"unclosed",
        "multipart/form-data; boundary="
        "0123456789012345678901234567890123456789"
        "0123456789012345678901234567890",
    };
    struct heard heard = { 0 };
    ebb_multipart *m;
    ebb_err err;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null(ebb_multipart_new(bad[i], &sink, &heard, &err));
        assert_int_equal(err.code, EBB_INVALID_INPUT);
    }
    m = ebb_multipart_new("Multipart/Form-Data; charset=x; BOUNDARY=\"a b\"",
                          &sink, &heard, &err);
    assert_non_null(m);
    assert_int_equal(ebb_multipart_add(m, "--a b--", 7, &err), 0);
    assert_int_equal(ebb_multipart_finish(m, &err), 0);
    ebb_multipart_free(m);
    ebb_multipart_free(NULL);
}

static void bounds_heads_and_parts(void **state)
{
    ebb_buf body;
    int i;

    (void)state;
    ebb_buf_init(&body, 0);
    ebb_buf_add_text(&body, "--B\r\nX: ");
    for (i = 0; i < (int)EBB_MULTIPART_HEAD_BYTES_MAX; i++)
        ebb_buf_add_byte(&body, 'x');
    check_error(body.bytes, EBB_LIMIT_EXCEEDED); /* and no end yet */
    ebb_buf_add_text(&body, "\r\n\r\n\r\n--B--");
    check_error(body.bytes, EBB_LIMIT_EXCEEDED);
    ebb_buf_reset(&body);
    for (i = 0; i < (int)EBB_MULTIPART_PARTS_MAX; i++)
        ebb_buf_add_text(&body, "--B\r\n\r\n\r\n");
    check_error(body.bytes, EBB_PROTOCOL); /* so many are fine */
    ebb_buf_add_text(&body, "--B\r\n\r\n\r\n--B--");
    check_error(body.bytes, EBB_LIMIT_EXCEEDED);
    ebb_buf_clear(&body);
}

static void bounds_what_waits_while_paused(void **state)
{
    static const char begin[] = "--B\r\n\r\n";
    struct heard heard = { 0 };
    size_t n = 1024u * 1024u, fed = 0;
    char *bytes = ebb_mem_zero(n);
    ebb_multipart *m;
    ebb_err err;

    (void)state;
    assert_non_null(bytes);
    m = ebb_multipart_new(TYPE, &sink, &heard, &err);
    heard.multipart = m;
    assert_int_equal(ebb_multipart_add(m, begin, sizeof begin - 1, &err), 0);
    while (fed <= EBB_MULTIPART_HELD_BYTES_MAX &&
           ebb_multipart_add(m, bytes, n, &err) == 0)
        fed += n;
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    assert_true(fed <= EBB_MULTIPART_HELD_BYTES_MAX);
    assert_string_equal(heard.text.bytes, "-|-:");
    ebb_multipart_free(m);
    ebb_mem_free(bytes);
    ebb_buf_clear(&heard.text);
}

static void what_the_sink_refuses_ends_the_reading(void **state)
{
    struct heard heard = { .refuse = true };
    ebb_err err;

    (void)state;
    assert_int_equal(feed(&heard, "--B\r\n\r\nx\r\n--B--", 16, 16, &err), -1);
    assert_int_equal(err.code, EBB_CONFLICT);
    assert_string_equal(heard.text.bytes, "-|-:");
    ebb_buf_clear(&heard.text);
}

static void nul_in_a_head_is_refused(void **state)
{
    static const char body[] = "--B\r\nX: \0y\r\n\r\n\r\n--B--";
    struct heard heard = { 0 };
    ebb_err err;

    (void)state;
    assert_int_equal(feed(&heard, body, sizeof body - 1, 64, &err), -1);
    assert_int_equal(err.code, EBB_PROTOCOL);
    ebb_buf_clear(&heard.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_parts_cut_anywhere),
        cmocka_unit_test(reads_empty_bodies_and_heads),
        cmocka_unit_test(keeps_every_byte),
        cmocka_unit_test(unescapes_file_names_as_envd_does),
        cmocka_unit_test(a_body_that_stops_early_is_no_upload),
        cmocka_unit_test(needs_a_boundary),
        cmocka_unit_test(bounds_heads_and_parts),
        cmocka_unit_test(bounds_what_waits_while_paused),
        cmocka_unit_test(what_the_sink_refuses_ends_the_reading),
        cmocka_unit_test(nul_in_a_head_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
