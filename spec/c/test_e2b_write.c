/* SPDX-License-Identifier: MIT */
#include "support/e2b_entries.h"

#define WRITE       "e2b.writeFiles"
#define OK_1        "[{\"path\":\"/a\",\"name\":\"a\",\"type\":\"file\"}]"
#define OK_2        "[{\"path\":\"/a\"},{\"path\":\"/b\"}]"
#define FILES(list) "{\"sandboxId\":\"i1\",\"files\":[" list "]}"

static void plain_files_go_out_as_one_request(void **state)
{
    rig *r = open_with("0.6.13");
    rig_request *request;
    char boundary[64], wanted[512];
    const char *at;
    rig_call *call;

    (void)state;
    rig_on(r, "POST", "/files", 200, OK_2);
    call = rig_call_task(
        r, WRITE,
        FILES("{\"path\":\"/a b\xC3\xA9\",\"content\":\"h\xC3\xA9\"},"
              "{\"path\":\"/b\",\"content\":\"AP8=\",\"encoding\":"
              "\"base64\"}"));
    assert_code(call, EBB_OK);
    request = rig_get(r, "POST /files", 0);
    at = strstr(request->headers, "boundary=");
    assert_non_null(at);
    snprintf(boundary, sizeof boundary, "%.32s", at + 9);
    int n = snprintf(
        wanted, sizeof wanted,
        "--%s\r\nContent-Disposition: form-data; name=\"file\"; "
        "filename=\"/a b\xC3\xA9\"\r\nContent-Type: "
        "application/octet-stream\r\n\r\nh\xC3\xA9\r\n--%s\r\n"
        "Content-Disposition: form-data; name=\"file\"; filename=\"/b\"\r\n"
        "Content-Type: application/octet-stream\r\n\r\n",
        boundary, boundary);
    assert_memory_equal(request->body.bytes, wanted, n);
    assert_memory_equal(request->body.bytes + n, "\x00\xff\r\n--", 6);
    assert_int_equal(rig_int(call->result, "files.0.byteCount"), 3);
    assert_int_equal(rig_int(call->result, "files.1.byteCount"), 2);
    assert_string_equal(rig_text(call->result, "files.1.path"), "/b");
    assert_int_equal(call->effects, 1);
    rig_call_free(call);
    rig_close(r);
}

static void odd_names_travel_in_the_query(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;

    (void)state;
    rig_on(r, "POST", "/files", 200, OK_1);
    call = rig_call_task(r, WRITE,
                         FILES("{\"path\":\"/a%41;\\\"b\\\\\",\"content\":"
                               "\"x\"},{\"path\":\"/c\",\"content\":\"y\"},"
                               "{\"path\":\"/e\",\"content\":\"\"}"));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_get(r, "POST /files", 0)->query,
                        "path=/a%41;\"b\\");
    assert_string_equal(rig_get(r, "POST /files", 0)->body.bytes, "x");
    assert_non_null(strstr(rig_get(r, "POST /files", 0)->headers,
                           "application/octet-stream"));
    assert_string_equal(rig_get(r, "POST /files", 1)->query, "path=/c");
    assert_string_equal(rig_get(r, "POST /files", 2)->query, "path=/e");
    assert_int_equal(rig_int(call->result, "files.2.byteCount"), 0);
    rig_call_free(call);
    rig_close(r);
}

static void an_old_envd_gets_multipart_only(void **state)
{
    static const struct {
        const char *version;
        bool bytes;
    } cases[] = {
        { "0.5.6", false }, { "0.5.7", true }, { "0.4.9", false },
        { "0.6.0", true },  { "1.0.0", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_with(cases[i].version);
        rig_on(r, "POST", "/files", 200, OK_1);
        rig_call *call = rig_call_task(
            r, WRITE, FILES("{\"path\":\"/a\",\"content\":\"x\"}"));
        assert_code(call, EBB_OK);
        assert_int_equal(strstr(rig_get(r, "POST /files", 0)->headers,
                                "octet-stream") != NULL,
                         cases[i].bytes);
        rig_call_free(call);
        rig_close(r);
    }
}

static void wrong_contents_are_named_before_anything_is_sent(void **state)
{
    static const struct {
        const char *in;
        ebb_code code;
        const char *part;
    } cases[] = {
        { FILES("{\"path\":\"/a\",\"content\":\"AP9=\",\"encoding\":"
                "\"base64\"}"),
          EBB_INVALID_INPUT, "files[1].content: not canonical" },
        { FILES("{\"path\":\"/a\",\"content\":\"AP8\",\"encoding\":"
                "\"base64\"}"),
          EBB_INVALID_INPUT, "files[1].content: not canonical" },
        { FILES("{\"path\":\"/a\",\"content\":\"\"},{\"path\":\"/a\","
                "\"content\":\"\"}"),
          EBB_INVALID_INPUT, "files[2].path: the same as files[1].path" },
        { FILES("{\"path\":\"a;\",\"content\":\"\"},{\"path\":\"./a;\","
                "\"content\":\"\"}"),
          EBB_INVALID_INPUT, "files[2].path: the same as files[1].path" },
        { "{\"sandboxId\":\"i1\",\"maxTotalBytes\":3,\"files\":[{\"path\":"
          "\"/a\",\"content\":\"ab\"},{\"path\":\"/b\",\"content\":\"ab\"}]}",
          EBB_LIMIT_EXCEEDED, "4 bytes in all" },
        { FILES(""), EBB_INVALID_INPUT, "1 to 100 entries" },
        { FILES("{\"path\":\"/a\"}"), EBB_INVALID_INPUT,
          "files[1].content: expected string, got nil" },
    };
    rig *r = open_with("0.6.13");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_call *call = rig_call_task(r, WRITE, cases[i].in);
        assert_code(call, cases[i].code);
        if (strstr(call->err.msg, cases[i].part) == NULL)
            fail_msg("%s", call->err.msg);
        rig_call_free(call);
    }
    assert_int_equal(r->requests_n, 0);
    rig_close(r);
}

static void a_failure_says_what_was_written(void **state)
{
    static const struct {
        rig_rule second;
        ebb_code code;
        size_t may; /* of the two files that are not known to be written */
    } cases[] = {
        { { .status = 400,
            .body = "{\"code\":400,\"message\":\"path is a "
                    "directory\"}" },
          EBB_INVALID_INPUT,
          0 },
        { { .status = 507, .body = "{\"message\":\"not enough disk\"}" },
          EBB_LIMIT_EXCEEDED,
          1 },
        { { .status = 500, .body = "{}" }, EBB_OUTCOME_UNKNOWN, 1 },
        { { .how = RIG_DROP }, EBB_OUTCOME_UNKNOWN, 1 },
        { { .status = 200, .body = "[]" }, EBB_OUTCOME_UNKNOWN, 1 },
        { { .status = 200, .body = "what" }, EBB_OUTCOME_UNKNOWN, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_with("0.6.13");
        rig_rule second = cases[i].second;
        rig_add(r, (rig_rule){ .method = "POST",
                               .path = "/files",
                               .status = 200,
                               .body = OK_1,
                               .times = 1 });
        second.method = "POST";
        second.path = "/files";
        rig_add(r, second);
        rig_call *call = rig_call_task(
            r, WRITE,
            FILES("{\"path\":\"/a;\",\"content\":\"x\"},{\"path\":\"/b\","
                  "\"content\":\"y\"},{\"path\":\"/c\",\"content\":\"z\"}"));
        assert_code(call, cases[i].code);
        assert_int_equal(rig_count(r, "POST /files"), 2);
        assert_int_equal(ebb_value_size(rig_at(call->details, "written")), 1);
        assert_string_equal(rig_text(call->details, "written.0.path"), "/a;");
        assert_int_equal(ebb_value_size(rig_at(call->details, "mayBeWritten")),
                         cases[i].may);
        if (cases[i].may > 0)
            assert_string_equal(rig_text(call->details, "mayBeWritten.0.path"),
                                "/b");
        rig_call_free(call);
        rig_close(r);
    }
}

#define THREE                                                                  \
    FILES("{\"path\":\"/a\",\"content\":\"x\"},{\"path\":\"/b\",\"content\":"  \
          "\"yy\"},{\"path\":\"c\",\"content\":\"z\"}")

/* What the details list, as "/a /b | c": written | may be written. */
static const char *lists(const rig_call *call, char out[128])
{
    static const char *const names[] = { "written", "mayBeWritten" };
    size_t n = 0;

    out[0] = '\0';
    if (call->details == NULL)
        return "none";
    for (size_t l = 0; l < 2; l++) {
        const ebb_value *list = ebb_value_find(call->details, names[l]);
        assert_int_equal(ebb_value_type(list), EBB_ARRAY);
        if (l == 1)
            n += (size_t)snprintf(out + n, 128 - n, "| ");
        for (size_t i = 0; i < ebb_value_size(list); i++)
            n += (size_t)snprintf(out + n, 128 - n, "%s ",
                                  rig_text(ebb_value_at(list, i), "path"));
    }
    return out;
}

static const struct {
    rig_rule rule;
    ebb_code code;
    const char *lists, *message;
} failures[] = {
    /* E2B's envd says why, not how far it came. */
    { { .status = 400, .body = "{\"message\":\"path is a directory: /b\"}" },
      EBB_INVALID_INPUT,
      "| /a /b c ",
      "sandbox i1: /b: path is a directory" },
    { { .status = 400, .body = "{\"message\":\"/a and /b\"}" },
      EBB_INVALID_INPUT,
      "| /a /b c ",
      "sandbox i1: one of 3 files: /a and /b" },
    { { .status = 500, .body = "{}" },
      EBB_OUTCOME_UNKNOWN,
      "| /a /b c ",
      "may have been written" },
    { { .how = RIG_DROP }, EBB_OUTCOME_UNKNOWN, "| /a /b c ", "" },
    /* Ours does. */
    { { .status = 400,
        .header = "Ebb-Files-Written: 1",
        .body = "{\"message\":\"path is a directory: /b\"}" },
      EBB_INVALID_INPUT,
      "/a | ",
      "sandbox i1: /b: path is a directory" },
    { { .status = 507,
        .header = "Ebb-Files-Written: 2",
        .body = "{\"message\":\"not enough disk space\"}" },
      EBB_LIMIT_EXCEEDED,
      "/a /b | c ",
      "sandbox i1: c: not enough" },
    { { .status = 500,
        .header = "Ebb-Files-Written: 0",
        .body = "{\"message\":\"error writing file\"}" },
      EBB_OUTCOME_UNKNOWN,
      "| /a ",
      "error writing file (HTTP 500)" },
    /* A report that cannot be true counts as none. */
    { { .status = 400, .header = "Ebb-Files-Written: 3", .body = "{}" },
      EBB_INVALID_INPUT,
      "| /a /b c ",
      "one of 3 files" },
    { { .status = 400, .header = "Ebb-Files-Written: 1x", .body = "{}" },
      EBB_INVALID_INPUT,
      "| /a /b c ",
      "one of 3 files" },
    /* An answer that confirms some of them. */
    { { .status = 200,
        .body = "[{\"path\":\"/b\"},{\"path\":\"/home/user/c\"}]" },
      EBB_OUTCOME_UNKNOWN,
      "/b c | /a ",
      "does not confirm every file" },
    { { .status = 200, .body = "[{\"path\":\"/x/cc\"},{}]" },
      EBB_OUTCOME_UNKNOWN,
      "| /a /b c ",
      "does not confirm every file" },
    /* Nothing was executed. */
    { { .status = 401, .body = "{\"message\":\"no\"}" },
      EBB_UNAUTHORIZED,
      "| ",
      "nothing was executed" },
};

static void one_request_that_fails_says_what_may_be_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        rig *r = open_with("0.6.13");
        rig_rule rule = failures[i].rule;
        rig_call *call;
        char got[128];
        rule.method = "POST";
        rule.path = "/files";
        rig_add(r, rule);
        call = rig_call_task(r, WRITE, THREE);
        assert_code(call, failures[i].code);
        assert_string_equal(lists(call, got), failures[i].lists);
        if (strstr(call->err.msg, failures[i].message) == NULL)
            fail_msg("%s", call->err.msg);
        rig_call_free(call);
        rig_close(r);
    }
}

static void one_file_of_unknown_fate_is_listed(void **state)
{
    static const struct {
        rig_rule rule;
        const char *lists;
    } cases[] = {
        { { .how = RIG_DROP }, "| /a " },
        { { .status = 507, .body = "{}" }, "| /a " },
        { { .status = 400, .body = "{}" }, "none" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_with("0.6.13");
        rig_rule rule = cases[i].rule;
        rig_call *call;
        char got[128];
        rule.method = "POST";
        rule.path = "/files";
        rig_add(r, rule);
        call = rig_call_task(r, WRITE,
                             FILES("{\"path\":\"/a\",\"content\":\"x\"}"));
        assert_string_equal(lists(call, got), cases[i].lists);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_cancel_says_what_may_be_written(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;
    char got[128];

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/files",
                           .status = 200,
                           .body = OK_1,
                           .times = 1 });
    rig_add(
        r, (rig_rule){ .method = "POST", .path = "/files", .how = RIG_SILENT });
    call = rig_start(r, WRITE,
                     FILES("{\"path\":\"/a;\",\"content\":\"x\"},{\"path\":"
                           "\"/b\",\"content\":\"y\"},{\"path\":\"/c\","
                           "\"content\":\"z\"}"));
    while (rig_count(r, "POST /files") < 2)
        rig_turn(r, 5);
    call->attempt.cancel(&call->attempt);
    rig_run(r, &call->ended);
    assert_code(call, EBB_OUTCOME_UNKNOWN);
    assert_string_equal(lists(call, got), "/a; | /b ");
    rig_call_free(call);
    rig_close(r);
}

static void a_refusal_between_two_requests_says_what_was_written(void **s)
{
    rig *r = open_with("0.6.13");
    rig_call *call;
    char got[128];

    (void)s;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/files",
                           .status = 200,
                           .body = OK_1,
                           .times = 1 });
    rig_on(r, "POST", "/files", 502,
           "{\"message\":\"The sandbox was not found\"}");
    call = rig_call_task(r, WRITE,
                         FILES("{\"path\":\"/a;\",\"content\":\"x\"},"
                               "{\"path\":\"/b\",\"content\":\"y\"}"));
    assert_code(call, EBB_SANDBOX_NOT_RUNNING);
    assert_string_equal(lists(call, got), "/a; | ");
    rig_call_free(call);
    rig_close(r);
}

/* The service goes away at its second upload: nobody listens any more. */
static void go_away(rig *r, rig_request *request)
{
    if (strcmp(request->line, "POST /files") == 0 &&
        rig_count(r, "POST /files") == 2)
        unlink(r->socket_path);
}

static void a_file_is_not_sent_again_when_the_service_is_lost(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;
    char got[128];

    (void)state;
    rig_go_local(r);
    r->on_request = go_away;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/files",
                           .status = 200,
                           .body = OK_1,
                           .times = 1 });
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/files",
                           .status = 502,
                           .header = "Connection: close",
                           .body = "{\"message\":\"The sandbox was not "
                                   "found\"}" });
    rig_on(r, "GET", "/sandboxes/i1", 200, "{}");
    /* Warm: the connect is another call's. */
    rig_on(r, "POST", "/filesystem.Filesystem/ListDir", 200, "");
    call = rig_call_task(r, "e2b.listFiles",
                         "{\"sandboxId\":\"i1\",\"path\":\"/\"}");
    rig_call_free(call);
    call = rig_call_task(r, WRITE,
                         FILES("{\"path\":\"/a;\",\"content\":\"x\"},"
                               "{\"path\":\"/b\",\"content\":\"y\"}"));
    assert_code(call, EBB_NETWORK);
    assert_int_equal(rig_count(r, "POST /files"), 2);
    assert_string_equal(lists(call, got), "/a; | ");
    rig_call_free(call);
    rig_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_files_go_out_as_one_request),
        cmocka_unit_test(odd_names_travel_in_the_query),
        cmocka_unit_test(an_old_envd_gets_multipart_only),
        cmocka_unit_test(wrong_contents_are_named_before_anything_is_sent),
        cmocka_unit_test(a_failure_says_what_was_written),
        cmocka_unit_test(one_request_that_fails_says_what_may_be_written),
        cmocka_unit_test(one_file_of_unknown_fate_is_listed),
        cmocka_unit_test(a_cancel_says_what_may_be_written),
        cmocka_unit_test(a_file_is_not_sent_again_when_the_service_is_lost),
        cmocka_unit_test(a_refusal_between_two_requests_says_what_was_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
