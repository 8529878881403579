/* SPDX-License-Identifier: MIT */
#include "support/case.h"
#include "support/e2b_call.h"

#define CONNECT "/v2/sandboxes/i1/connect"
#define CODE    "e2b.runCode"
#define LINE    "POST /execute"
#define COUNT                                                                  \
    "{\"type\":\"number_of_executions\","                                      \
    "\"execution_count\":7}\n"
#define END         "{\"type\":\"end_of_execution\"}\n"
#define OUT(text)   "{\"type\":\"stdout\",\"text\":\"" text "\"}\n"
#define ERR(text)   "{\"type\":\"stderr\",\"text\":\"" text "\"}\n"
#define TEXT(text)  "{\"type\":\"result\",\"text\":\"" text "\"}\n"
#define PNG(base64) "{\"type\":\"result\",\"png\":\"" base64 "\"}\n"
#define RAISED                                                                 \
    "{\"type\":\"error\",\"name\":\"ValueError\",\"value\":\"v\","             \
    "\"traceback\":\"line 1\\nline 2\"}\n"
#define IN(rest) "{\"sandboxId\":\"i1\",\"code\":\"1\"" rest "}"

static rig *open_code(rig_rule rule)
{
    rig *r = rig_open();

    rig_on(r, "POST", CONNECT, 200,
           "{\"sandboxID\":\"i1\",\"envdAccessToken\":\"tok\","
           "\"trafficAccessToken\":\"tra\"}");
    rule.method = "POST";
    rule.path = "/execute";
    if (rule.status == 0)
        rule.status = 200;
    rig_add(r, rule);
    return r;
}

static void everything_the_code_shows_comes_back(void **state)
{
    rig *r = open_code((rig_rule){
        .body = COUNT OUT("a\\n") "{\"type\":\"keepalive\"}\n" ERR("w")
            TEXT("t1") PNG("iVBO\\nRw==") OUT(
                "b") "{\"type\":\"result\",\"text\":\"t2\",\"jpeg\":\"AP8=\","
                     "\"extra\":{\"x\":[1]},\"is_main_result\":true}\n"
                     "{\"type\":\"new_kind\"}\n" END });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, CODE, IN(""));
    assert_code(call, EBB_OK);
    assert_int_equal(rig_int(call->result, "executionCount"), 7);
    assert_string_equal(rig_text(call->result, "stdout.text"), "a\nb");
    assert_string_equal(rig_text(call->result, "stderr.text"), "w");
    assert_string_equal(rig_text(call->result, "textResults.0.text"), "t1");
    assert_string_equal(rig_text(call->result, "textResults.1.text"), "t2");
    assert_int_equal(rig_int(call->result, "textResults.0.maxBytes"), 131072);
    assert_string_equal(rig_text(call->result, "artifacts.0.content.base64"),
                        "iVBORw==");
    assert_int_equal(rig_int(call->result, "artifacts.0.content.byteCount"), 4);
    assert_string_equal(
        rig_text(call->result, "artifacts.0.content.contentType"), "image/png");
    assert_int_equal(rig_int(call->result, "artifacts.1.index"), 1);
    assert_string_equal(
        rig_text(call->result, "artifacts.1.content.contentType"),
        "image/jpeg");
    assert_int_equal(ebb_value_type(rig_at(call->result, "error")), EBB_NULL);
    rig_call_free(call);
    rig_close(r);
}

static void an_exception_is_a_result(void **state)
{
    rig *r = open_code((rig_rule){ .body = COUNT RAISED END });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, CODE, IN(",\"maxOutputBytes\":8"));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "error.name"), "ValueError");
    assert_string_equal(rig_text(call->result, "error.value"), "v");
    assert_string_equal(rig_text(call->result, "error.traceback.text"),
                        "line 1\nl");
    assert_true(rig_bool(call->result, "error.traceback.truncated"));
    rig_call_free(call);
    rig_close(r);
}

static void the_request_goes_to_the_interpreter_s_port(void **state)
{
    rig *r = open_code((rig_rule){ .body = END });
    rig_request *request;
    rig_call *call;

    (void)state;
    call = rig_call_task(r, CODE,
                         IN(",\"language\":\"r\",\"envs\":{\"A\":\"1\"}"));
    assert_code(call, EBB_OK);
    assert_int_equal(ebb_value_type(rig_at(call->result, "executionCount")),
                     EBB_NULL);
    request = rig_get(r, LINE, 0);
    assert_string_equal(request->body.bytes,
                        "{\"code\":\"1\",\"language\":\"r\",\"env_vars\":"
                        "{\"A\":\"1\"}}");
    assert_non_null(strstr(request->headers, "e2b-sandbox-port: 49999\n"));
    assert_non_null(strstr(request->headers, "x-access-token: tok\n"));
    assert_non_null(
        strstr(request->headers, "e2b-traffic-access-token: tra\n"));
    assert_null(strstr(request->headers, "x-api-key"));
    assert_int_equal(call->effects, 1);
    rig_call_free(call);
    rig_close(r);
}

static void all_text_results_share_one_budget(void **state)
{
    rig *r = open_code((rig_rule){ .body = TEXT("abcdef") TEXT("xy")
                                       TEXT("\\u20ac\\u20ac") END });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, CODE, IN(",\"maxResultBytes\":10"));
    assert_string_equal(rig_text(call->result, "textResults.0.text"), "abc");
    assert_int_equal(rig_int(call->result, "textResults.0.byteCount"), 6);
    assert_true(rig_bool(call->result, "textResults.0.truncated"));
    assert_string_equal(rig_text(call->result, "textResults.1.text"), "xy");
    assert_false(rig_bool(call->result, "textResults.1.truncated"));
    assert_string_equal(rig_text(call->result, "textResults.2.text"),
                        "\xE2\x82\xAC");
    rig_call_free(call);
    /* One byte each while there is any, then nothing. */
    call = rig_call_task(r, CODE, IN(",\"maxResultBytes\":2"));
    assert_string_equal(rig_text(call->result, "textResults.0.text"), "a");
    assert_string_equal(rig_text(call->result, "textResults.1.text"), "x");
    assert_string_equal(rig_text(call->result, "textResults.2.text"), "");
    assert_int_equal(rig_int(call->result, "textResults.2.maxBytes"), 0);
    assert_int_equal(rig_int(call->result, "textResults.2.byteCount"), 6);
    assert_true(rig_bool(call->result, "textResults.2.truncated"));
    rig_call_free(call);
    rig_close(r);
}

static void an_artifact_is_whole_or_an_error(void **state)
{
    rig *r = open_code(
        (rig_rule){ .body = OUT("seen") PNG("AAAAAAAA") PNG("AP8=") END });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, CODE, IN(",\"maxArtifactBytes\":5"));
    assert_code(call, EBB_LIMIT_EXCEEDED);
    assert_non_null(strstr(call->err.msg, "e2b.readFile"));
    assert_string_equal(rig_text(call->details, "stdout.text"), "seen");
    rig_call_free(call);
    call = rig_call_task(r, CODE, IN(",\"maxArtifactBytes\":6"));
    assert_code(call, EBB_OK);
    rig_call_free(call);
    rig_close(r);
}

static void what_may_have_run_is_unknown_and_sent_once(void **state)
{
    static const struct {
        const char *name;
        rig_rule rule;
        const char *out;
    } cases[] = {
        { "no answer", { .how = RIG_DROP }, "" },
        { "cut", { .how = RIG_CUT, .body = OUT("a") }, "a" },
        { "cut after the end", { .how = RIG_CUT, .body = OUT("a") END }, "a" },
        { "ended without end", { .body = OUT("a") }, "a" },
        { "empty", { .body = "" }, "" },
        { "half a line", { .body = OUT("a") "{\"type\":" }, "a" },
        { "garbage", { .body = OUT("a") "what\n" END }, "a" },
        { "no type", { .body = OUT("a") "{}\n" END }, "a" },
        { "not base64", { .body = OUT("a") PNG("!") END }, "a" },
        { "500", { .status = 500, .body = "kernel died" }, "" },
        { "502 of a router",
          { .status = 502, .body = "Failed to route request to sandbox" },
          "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_code(cases[i].rule);
        rig_call *call = rig_call_task(r, CODE, IN(""));
        if (call->err.code != EBB_OUTCOME_UNKNOWN)
            fail_msg("%s: %s %s", cases[i].name, ebb_code_name(call->err.code),
                     call->err.msg);
        if (strcmp(rig_text(call->details, "stdout.text"), cases[i].out) != 0)
            fail_msg("%s: %s", cases[i].name,
                     rig_text(call->details, "stdout.text"));
        assert_int_equal(rig_count(r, LINE), 1);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_refused_request_is_sent_once_more(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "POST", CONNECT, 200, "{\"sandboxID\":\"i1\"}");
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/execute",
                           .status = 502,
                           .body = "{\"message\":\"The sandbox is running "
                                   "but port is not open\"}",
                           .times = 1 });
    rig_on(r, "POST", "/execute", 200, END);
    call = rig_call_task(r, CODE, IN(""));
    assert_code(call, EBB_OK);
    assert_int_equal(rig_count(r, LINE), 2);
    assert_int_equal(rig_count(r, "POST " CONNECT), 2);
    rig_call_free(call);
    rig_close(r);
}

static void a_blank_line_and_a_last_one_without_end_are_read(void **state)
{
    rig *r = open_code((rig_rule){
        .body = "\n" OUT("a") "\n{\"type\":\"end_of_execution\"}" });
    rig_call *call;

    (void)state;
    call = rig_call_task(r, CODE, IN(""));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "stdout.text"), "a");
    rig_call_free(call);
    rig_close(r);
}

static void the_time_limit_closes_the_connection(void **state)
{
    rig *r = open_code((rig_rule){ .how = RIG_HOLD, .body = OUT("a") });
    int64_t began = ebb_clock_steady_ms(ebb_clock_real()), took;
    rig_call *call;

    (void)state;
    call = rig_call_task(r, CODE, IN(",\"timeoutMs\":100"));
    took = ebb_clock_steady_ms(ebb_clock_real()) - began;
    assert_code(call, EBB_TIMEOUT);
    assert_in_range(took, 95, 700);
    assert_string_equal(rig_text(call->details, "stdout.text"), "a");
    assert_true(rig_bool(call->details, "mayStillRun"));
    rig_turn(r, 50);
    assert_null(rig_get(r, LINE, 0)->held); /* the server saw it close */
    rig_call_free(call);
    rig_close(r);
}

static void a_cancel_closes_the_connection(void **state)
{
    rig *r = open_code((rig_rule){ .how = RIG_HOLD, .body = OUT("a") });
    rig_call *call;

    (void)state;
    call = rig_start(r, CODE, IN(""));
    rig_turn(r, 60);
    call->attempt.cancel(&call->attempt);
    assert_true(call->ended);
    assert_code(call, EBB_CANCELLED);
    assert_true(rig_bool(call->details, "mayStillRun"));
    rig_turn(r, 50);
    assert_null(rig_get(r, LINE, 0)->held);
    rig_call_free(call);
    rig_close(r);
}

/* n times text between what begins and ends a line. */
static void add_line(ebb_buf *out, const char *begin, const char *text,
                     size_t n)
{
    ebb_buf_add_text(out, begin);
    for (size_t i = 0; i < n; i++)
        ebb_buf_add_text(out, text);
    ebb_buf_add_text(out, "\"}\n");
}

static void the_cap_cuts_the_longest_texts_first(void **state)
{
    ebb_buf body;
    rig *r;
    rig_call *call;
    size_t n;

    (void)state;
    ebb_buf_init(&body, 0);
    add_line(&body, "{\"type\":\"stdout\",\"text\":\"", "\\u0001", 1000000);
    add_line(&body, "{\"type\":\"stderr\",\"text\":\"", "e", 500000);
    add_line(&body, "{\"type\":\"result\",\"text\":\"", "r", 1000);
    ebb_buf_add_text(&body, END);
    r = open_code((rig_rule){ .body = body.bytes, .n = body.n });
    call = rig_call_task(r, CODE,
                         IN(",\"maxOutputBytes\":1048576,"
                            "\"maxResultBytes\":1048576"));
    assert_code(call, EBB_OK);
    n = ebb_value_length(call->result);
    assert_in_range(n, 3999000, 4000000);
    assert_true(rig_bool(call->result, "stdout.truncated"));
    assert_int_equal(rig_int(call->result, "stdout.byteCount"), 1000000);
    assert_false(rig_bool(call->result, "stderr.truncated"));
    assert_false(rig_bool(call->result, "textResults.0.truncated"));
    rig_call_free(call);
    rig_close(r);
    ebb_buf_clear(&body);
}

static void long_texts_are_cut_to_one_length(void **state)
{
    ebb_buf body;
    rig *r;
    rig_call *call;

    (void)state;
    ebb_buf_init(&body, 0);
    add_line(&body, "{\"type\":\"stdout\",\"text\":\"", "\\u0001", 1000000);
    add_line(&body, "{\"type\":\"stderr\",\"text\":\"", "\\u0001", 900000);
    add_line(&body, "{\"type\":\"result\",\"text\":\"", "\xE2\x82\xAC", 1000);
    ebb_buf_add_text(&body, END);
    r = open_code((rig_rule){ .body = body.bytes, .n = body.n });
    call = rig_call_task(r, CODE, IN(",\"maxOutputBytes\":1048576"));
    assert_code(call, EBB_OK);
    assert_in_range(ebb_value_length(call->result), 3999900, 4000000);
    assert_int_equal(rig_int(call->result, "stdout.returnedBytes"),
                     rig_int(call->result, "stderr.returnedBytes"));
    assert_int_equal(rig_int(call->result, "stdout.byteCount"), 1000000);
    assert_int_equal(rig_int(call->result, "stderr.byteCount"), 900000);
    assert_false(rig_bool(call->result, "textResults.0.truncated"));
    rig_call_free(call);
    rig_close(r);
    ebb_buf_clear(&body);
}

static void artifacts_without_room_leave_the_rest_in_details(void **state)
{
    ebb_buf body;
    rig *r;
    rig_call *call;

    (void)state;
    ebb_buf_init(&body, 0);
    ebb_buf_add_text(&body, OUT("kept"));
    for (int i = 0; i < 2; i++)
        add_line(&body, "{\"type\":\"result\",\"png\":\"", "AAAA", 600000);
    ebb_buf_add_text(&body, END);
    r = open_code((rig_rule){ .body = body.bytes, .n = body.n });
    call = rig_call_task(r, CODE, IN(",\"maxArtifactBytes\":2097152"));
    assert_code(call, EBB_LIMIT_EXCEEDED);
    assert_string_equal(rig_text(call->details, "stdout.text"), "kept");
    assert_null(rig_at(call->details, "artifacts"));
    rig_call_free(call);
    rig_close(r);
    ebb_buf_clear(&body);
}

/* 100,000 bytes are more than a line that is parsed whole may have. */
static void a_line_of_any_length_is_counted_and_cut(void **state)
{
    ebb_buf body;
    rig *r;
    rig_call *call;

    (void)state;
    ebb_buf_init(&body, 0);
    add_line(&body, "{\"type\":\"stdout\",\"text\":\"", "\\u00e9", 100000);
    add_line(&body, "{\"type\":\"result\",\"chart\":{\"a\":[1]},\"text\":\"",
             "r", 100000);
    add_line(&body,
             "{\"type\":\"error\",\"name\":\"E\",\"traceback\":\"t\","
             "\"value\":\"",
             "v", 100000);
    add_line(&body, "{\"type\":\"result\",\"text\":\"\",\"png\":\"", "AAAA",
             50000);
    ebb_buf_add_text(&body, END);
    r = open_code((rig_rule){ .body = body.bytes, .n = body.n });
    call = rig_call_task(r, CODE,
                         IN(",\"maxOutputBytes\":5,\"maxResultBytes\":8"));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "stdout.text"),
                        "\xC3\xA9\xC3\xA9");
    assert_int_equal(rig_int(call->result, "stdout.byteCount"), 200000);
    assert_string_equal(rig_text(call->result, "textResults.0.text"), "rrrr");
    assert_int_equal(rig_int(call->result, "textResults.0.byteCount"), 100000);
    assert_int_equal(ebb_value_size(rig_at(call->result, "textResults")), 2);
    assert_string_equal(rig_text(call->result, "error.name"), "E");
    assert_int_equal(strlen(rig_text(call->result, "error.value")), 65536);
    assert_int_equal(rig_int(call->result, "artifacts.0.content.byteCount"),
                     150000);
    rig_call_free(call);
    call = rig_call_task(r, CODE, IN(",\"maxArtifactBytes\":149999"));
    assert_code(call, EBB_LIMIT_EXCEEDED);
    assert_non_null(strstr(call->err.msg, "150000 bytes"));
    rig_call_free(call);
    rig_close(r);
    ebb_buf_clear(&body);
}

static void a_long_line_must_say_first_what_it_is(void **state)
{
    ebb_buf body;
    rig *r;
    rig_call *call;

    (void)state;
    ebb_buf_init(&body, 0);
    add_line(&body, "{\"text\":\"", "x", 100000);
    ebb_buf_add_text(&body, END);
    r = open_code((rig_rule){ .body = body.bytes, .n = body.n });
    call = rig_call_task(r, CODE, IN(""));
    assert_code(call, EBB_OUTCOME_UNKNOWN);
    rig_call_free(call);
    rig_close(r);
    ebb_buf_clear(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_the_code_shows_comes_back),
        cmocka_unit_test(an_exception_is_a_result),
        cmocka_unit_test(the_request_goes_to_the_interpreter_s_port),
        CASE(all_text_results_share_one_budget, "B13"),
        CASE(an_artifact_is_whole_or_an_error, "B13"),
        cmocka_unit_test(what_may_have_run_is_unknown_and_sent_once),
        cmocka_unit_test(a_refused_request_is_sent_once_more),
        cmocka_unit_test(a_blank_line_and_a_last_one_without_end_are_read),
        cmocka_unit_test(the_time_limit_closes_the_connection),
        cmocka_unit_test(a_cancel_closes_the_connection),
        CASE(the_cap_cuts_the_longest_texts_first, "B13"),
        CASE(long_texts_are_cut_to_one_length, "B13"),
        CASE(artifacts_without_room_leave_the_rest_in_details, "B13"),
        CASE(a_line_of_any_length_is_counted_and_cut, "B12, C04"),
        cmocka_unit_test(a_long_line_must_say_first_what_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
