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
    } cases[] = {
        { { .status = 400,
            .body = "{\"code\":400,\"message\":\"path is a "
                    "directory\"}" },
          EBB_INVALID_INPUT },
        { { .status = 507, .body = "{\"message\":\"not enough disk\"}" },
          EBB_LIMIT_EXCEEDED },
        { { .status = 500, .body = "{}" }, EBB_OUTCOME_UNKNOWN },
        { { .how = RIG_DROP }, EBB_OUTCOME_UNKNOWN },
        { { .status = 200, .body = "[]" }, EBB_OUTCOME_UNKNOWN },
        { { .status = 200, .body = "what" }, EBB_OUTCOME_UNKNOWN },
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
        rig_call_free(call);
        rig_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_files_go_out_as_one_request),
        cmocka_unit_test(odd_names_travel_in_the_query),
        cmocka_unit_test(an_old_envd_gets_multipart_only),
        cmocka_unit_test(wrong_contents_are_named_before_anything_is_sent),
        cmocka_unit_test(a_failure_says_what_was_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
