/* SPDX-License-Identifier: MIT */
#include "support/case.h"
#include "support/e2b_entries.h"

#include "e2b/files.h"

#define READ     "e2b.readFile"
#define IN(rest) "{\"sandboxId\":\"i1\",\"path\":\"/a\"" rest "}"

static rig *open_file(rig_rule stat, rig_rule get)
{
    rig *r = open_with("0.6.13");

    stat.method = "POST";
    stat.path = STAT;
    get.method = "GET";
    get.path = "/files";
    rig_add(r, stat);
    rig_add(r, get);
    return r;
}

static void a_file_comes_back_whole(void **state)
{
    static const char all[] = "\x00\x01\xff\xfe\x89PNG";
    rig *r = open_file((rig_rule){ .status = 200, BODY(FILE_OF("\x08")) },
                       (rig_rule){ .status = 200, BODY(all) });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, READ, IN(",\"encoding\":\"base64\""));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "content"), "AAH//olQTkc=");
    assert_int_equal(rig_int(call->result, "byteCount"), 8);
    assert_string_equal(rig_get(r, "GET /files", 0)->query, "path=/a");
    assert_non_null(
        strstr(rig_get(r, "GET /files", 0)->headers, "x-access-token: tok\n"));
    rig_call_free(call);
    call = rig_call_task(r, READ, IN(""));
    assert_code(call, EBB_NOT_UTF8);
    assert_null(call->result);
    rig_call_free(call);
    rig_close(r);
}

static void what_cannot_be_read_is_refused_by_its_stat(void **state)
{
    static const struct {
        const char *name;
        rig_rule stat;
        ebb_code code;
    } cases[] = {
        { "too large",
          { .status = 200, BODY(FILE_OF("\x09")) },
          EBB_LIMIT_EXCEEDED },
        { "directory", { .status = 200, BODY(DIRECTORY) }, EBB_INVALID_INPUT },
        { "fifo", { .status = 200, BODY(FIFO) }, EBB_INVALID_INPUT },
        { "link to /proc",
          { .status = 200, BODY(LINK_TO_PROC) },
          EBB_UNSUPPORTED },
        { "missing", { .status = 404, .body = NOT_FOUND }, EBB_FILE_NOT_FOUND },
        { "through a file",
          { .status = 500,
            .body = "{\"code\":\"internal\",\"message\":\"lstat /a/b: not a "
                    "directory\"}" },
          EBB_FILE_NOT_FOUND },
        { "forbidden",
          { .status = 403, .body = "{\"code\":\"permission_denied\"}" },
          EBB_FORBIDDEN },
        { "broken",
          { .status = 500, .body = "{\"code\":\"internal\"}" },
          EBB_SERVER },
        { "no entry", { .status = 200, .body = "" }, EBB_PROTOCOL },
        { "garbage", { .status = 200, .body = "\xff\xff" }, EBB_PROTOCOL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_file(cases[i].stat, (rig_rule){ .status = 200 });
        rig_call *call = rig_call_task(r, READ, IN(",\"maxBytes\":8"));
        if (call->err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].name, call->err.msg);
        assert_int_equal(rig_count(r, "GET /files"), 0);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_file_that_grows_is_stopped(void **state)
{
    rig *r = open_file((rig_rule){ .status = 200, BODY(FILE_OF("\x02")) },
                       (rig_rule){ .status = 200, .body = "123456789" });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, READ, IN(",\"maxBytes\":8"));
    assert_code(call, EBB_LIMIT_EXCEEDED);
    rig_call_free(call);
    rig_close(r);
}

/* A gateway's page, which says that another attempt may do better. */
static void a_long_page_of_an_error_is_that_error(void **state)
{
    char *page = calloc(1, 200001);
    rig_rule stat = { .status = 200, BODY(FILE_OF("\x02")) };
    rig_rule bad = { .status = 503 };

    (void)state;
    memset(page, '<', 200000);
    bad.body = page;
    for (int i = 0; i < 2; i++) {
        rig *r = open_file(i == 0 ? bad : stat, bad);
        rig_call *call = rig_call_task(r, READ, IN(""));

        assert_code(call, EBB_SERVER);
        assert_int_equal(call->err.status, 503);
        assert_int_equal(rig_count(r, "GET /files"), i);
        rig_call_free(call);
        rig_close(r);
    }
    free(page);
}

static void a_cut_transfer_is_no_result(void **state)
{
    rig *r =
        open_file((rig_rule){ .status = 200, BODY(FILE_OF("\x08")) },
                  (rig_rule){ .status = 200, .body = "1234", .how = RIG_CUT });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, READ, IN(""));
    assert_code(call, EBB_NETWORK);
    assert_null(call->result);
    rig_call_free(call);
    rig_close(r);
}

static void the_size_of_a_link_says_nothing(void **state)
{
    rig *r = open_file((rig_rule){ .status = 200, BODY(LINK_TO_FILE) },
                       (rig_rule){ .status = 200, .body = "four" });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, READ, IN(""));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "content"), "four");
    rig_call_free(call);
    rig_close(r);
}

static void a_refused_read_connects_again(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = STAT,
                           .status = 502,
                           .body = "{\"message\":\"The sandbox was not "
                                   "found\",\"code\":502}",
                           .times = 1 });
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = STAT,
                           .status = 200,
                           BODY(FILE_OF("\x02")) });
    rig_on(r, "GET", "/files", 200, "hi");
    call = rig_call_task(r, READ, IN(""));
    assert_code(call, EBB_OK);
    assert_int_equal(rig_count(r, "POST " CONNECT), 2);
    rig_call_free(call);
    rig_close(r);
}

static void limits_and_virtual_paths_are_checked_before_anything(void **state)
{
    static const char *const paths[] = {
        "/proc/cpuinfo",  "//proc//1",          "/./sys/x",
        "/tmp/../proc/1", "../../../../proc/1", "/proc",
    };
    rig *r = open_with("0.6.13");

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char json[96];
        snprintf(json, sizeof json, "{\"sandboxId\":\"i1\",\"path\":\"%s\"}",
                 paths[i]);
        rig_call *call = rig_call_task(r, READ, json);
        assert_code(call, EBB_UNSUPPORTED);
        rig_call_free(call);
    }
    rig_call *call = rig_call_task(r, READ, IN(",\"maxBytes\":1048577"));
    assert_code(call, EBB_INVALID_INPUT);
    rig_call_free(call);
    assert_int_equal(r->requests_n, 0);
    rig_close(r);
}

static void ordinary_paths_are_not_virtual(void **state)
{
    static const char *const paths[] = { "/procs/x",     "proc/x", "/home/proc",
                                         "/proc/../etc", "/",      "",
                                         "sys" };

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_false(ebb_e2b_files_is_virtual(paths[i]));
}

static void paths_are_one_only_when_that_is_certain(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        { "a", "a", true },
        { "a", "./a", true },
        { "a", "~/a", true },
        { "~/./a", ".//a/", true },
        { "~", ".", true },
        { "/a/b", "//a/./b/", true },
        { "/", "/.", true },
        { "a", "b", false },
        { "a", "/a", false },
        { "a", "a/b", false },
        { "~a", "a", false },
        { "./~/a", "a", false },
        { "a/..", ".", false },
        { "a/../b", "b", false },
        { "/home/user/a", "a", false },
        { "..", "...", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (ebb_e2b_files_same(cases[i].a, cases[i].b) != cases[i].same ||
            (ebb_e2b_files_mark(cases[i].a) ==
             ebb_e2b_files_mark(cases[i].b)) != cases[i].same ||
            ebb_e2b_files_same(cases[i].b, cases[i].a) != cases[i].same)
            fail_msg("%s, %s", cases[i].a, cases[i].b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_one_only_when_that_is_certain),
        CASE(a_file_comes_back_whole, "A08"),
        cmocka_unit_test(what_cannot_be_read_is_refused_by_its_stat),
        CASE(a_file_that_grows_is_stopped, "B11"),
        cmocka_unit_test(a_long_page_of_an_error_is_that_error),
        CASE(a_cut_transfer_is_no_result, "B11"),
        cmocka_unit_test(the_size_of_a_link_says_nothing),
        cmocka_unit_test(a_refused_read_connects_again),
        cmocka_unit_test(limits_and_virtual_paths_are_checked_before_anything),
        cmocka_unit_test(ordinary_paths_are_not_virtual),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
