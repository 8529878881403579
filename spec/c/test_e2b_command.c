/* SPDX-License-Identifier: MIT */
#include "support/case.h"
#include "support/e2b_frames.h"

static void the_output_and_the_exit_code_come_back(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_REPLY, START OUT_HI KEEP ERR_NO OUT_HI EXIT_3 FINISH);
    call = rig_call_task(r, RUN, IN(""));
    assert_code(call, EBB_OK);
    assert_int_equal(rig_int(call->result, "exitCode"), 3);
    assert_string_equal(rig_text(call->result, "stdout.text"), "hi\nhi\n");
    assert_string_equal(rig_text(call->result, "stderr.text"), "no\n");
    assert_null(rig_at(call->result, "signal"));
    rig_call_free(call);
    rig_close(r);
}

static void the_request_is_what_envd_wants(void **state)
{
    static const char message[] =
        "\0\0\0\0\x2e\x0a\x2a\x0a\x09/bin/bash\x12\x02-l\x12\x02-c\x12\x07"
        "echo hi\x1a\x06\x0a\x01K\x12\x01V\x22\x04/tmp\x20\0";
    rig *r = open_connected();
    rig_request *request;
    rig_call *call;

    (void)state;
    ON_START(r, RIG_REPLY, START EXIT_3 FINISH);
    call = rig_call_task(r, RUN,
                         IN(",\"envs\":{\"K\":\"V\"},\"cwd\":\"/tmp\","
                            "\"user\":\"root\",\"timeoutMs\":1500"));
    assert_code(call, EBB_OK);
    request = rig_get(r, START_LINE, 0);
    assert_int_equal(request->body.n, 5 + 46);
    assert_memory_equal(request->body.bytes, message, 5 + 46);
    assert_non_null(strstr(request->headers, "e2b-sandbox-id: i1\n"));
    assert_non_null(strstr(request->headers, "e2b-sandbox-port: 49983\n"));
    assert_non_null(strstr(request->headers, "x-access-token: tok\n"));
    assert_non_null(strstr(request->headers, "connect-timeout-ms: 1500\n"));
    assert_non_null(strstr(request->headers, "keepalive-ping-interval: 50\n"));
    assert_non_null(
        strstr(request->headers, "content-type: application/connect+proto\n"));
    assert_non_null(strstr(request->headers, "authorization: Basic cm9vdDo="));
    assert_null(strstr(request->headers, "x-api-key"));
    assert_null(strstr(request->headers, "traffic"));
    rig_call_free(call);
    rig_close(r);
}

static void no_limit_is_no_header(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_REPLY, START EXIT_3 FINISH);
    call = rig_call_task(r, RUN, IN(",\"timeoutMs\":0"));
    assert_code(call, EBB_OK);
    assert_null(
        strstr(rig_get(r, START_LINE, 0)->headers, "connect-timeout-ms"));
    rig_call_free(call);
    rig_close(r);
}

static void a_signal_is_named(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_REPLY, START KILLED FINISH);
    call = rig_call_task(r, RUN, IN(""));
    assert_code(call, EBB_OK);
    assert_int_equal(rig_int(call->result, "exitCode"), -1);
    assert_string_equal(rig_text(call->result, "signal"), "SIGKILL");
    rig_call_free(call);
    rig_close(r);
}

static void output_is_counted_past_its_bound(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_REPLY, START OUT_HI OUT_HI OUT_HI EXIT_3 FINISH);
    call = rig_call_task(r, RUN, IN(",\"maxOutputBytes\":4"));
    assert_string_equal(rig_text(call->result, "stdout.text"), "hi\nh");
    assert_int_equal(rig_int(call->result, "stdout.byteCount"), 9);
    assert_int_equal(rig_int(call->result, "stdout.returnedBytes"), 4);
    assert_true(rig_bool(call->result, "stdout.truncated"));
    assert_false(rig_bool(call->result, "stderr.truncated"));
    rig_call_free(call);
    rig_close(r);
}

static void stdin_is_fed_and_closed(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_HOLD, START);
    rig_on(r, "POST", "/process.Process/SendInput", 200, "");
    rig_on(r, "POST", "/process.Process/CloseStdin", 200, "");
    call = rig_start(r, RUN, IN(",\"stdin\":\"abc\""));
    rig_turn(r, 60);
    assert_memory_equal(
        rig_get(r, "POST /process.Process/SendInput", 0)->body.bytes,
        "\x0a\x03\x08\xd2\x09\x12\x05\x0a\x03"
        "abc",
        12);
    assert_int_equal(rig_count(r, "POST /process.Process/CloseStdin"), 1);
    assert_memory_equal(rig_get(r, START_LINE, 0)->body.bytes + 5 + 32 - 2,
                        "\x20\x01", 2);
    ebb_exchange *held = rig_get(r, START_LINE, 0)->held;
    ebb_exchange_write(held, EXIT_3 FINISH, sizeof(EXIT_3 FINISH) - 1);
    ebb_exchange_end(held);
    rig_run(r, &call->ended);
    assert_code(call, EBB_OK);
    rig_call_free(call);
    rig_close(r);
}

static void a_recent_connect_is_used_again(void **state)
{
    rig *r = open_connected();

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = START_PATH,
                           .status = 200,
                           BODY(START EXIT_3 FINISH) });
    for (int i = 0; i < 3; i++)
        rig_call_free(rig_call_task(r, RUN, IN("")));
    assert_int_equal(rig_count(r, "POST " CONNECT), 1);
    assert_string_equal(rig_get(r, "POST " CONNECT, 0)->body.bytes,
                        "{\"timeout\":300}");
    assert_int_equal(rig_count(r, START_LINE), 3);
    /* It promised 300 s, which does not cover this one. */
    rig_call_free(rig_call_task(r, RUN, IN(",\"timeoutMs\":600000")));
    assert_string_equal(rig_get(r, "POST " CONNECT, 1)->body.bytes,
                        "{\"timeout\":630}");
    rig_close(r);
}

static void a_life_that_is_too_long_is_asked_for_shorter(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = CONNECT,
                           .status = 400,
                           .body = "{\"message\":\"Timeout cannot be "
                                   "greater than 1 hours\"}",
                           .times = 1 });
    rig_on(r, "POST", CONNECT, 200, CONNECTED);
    ON_START(r, RIG_REPLY, START EXIT_3 FINISH);
    call = rig_call_task(r, RUN, IN(",\"timeoutMs\":86400000"));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_get(r, "POST " CONNECT, 1)->body.bytes,
                        "{\"timeout\":300}");
    rig_call_free(call);
    rig_close(r);
}

static void an_error_without_a_start_ran_nothing(void **state)
{
    static const struct {
        const char *code, *message;
        ebb_code wanted;
        const char *part;
    } cases[] = {
        { "invalid_argument", "cwd '/x' does not exist", EBB_INVALID_INPUT,
          "cwd \"/x\"" },
        { "invalid_argument", "error starting process 'x': not a directory",
          EBB_INVALID_INPUT, "cwd \"/x\"" },
        { "invalid_argument", "failed to expand path '~u'", EBB_INVALID_INPUT,
          "cwd \"/x\"" },
        { "unauthenticated", "invalid username: 'u'", EBB_INVALID_INPUT,
          "user: " },
        { "resource_exhausted", "full", EBB_LIMIT_EXCEEDED, "full" },
        { "permission_denied", "no", EBB_FORBIDDEN, "no" },
        { "internal", "oops", EBB_OUTCOME_UNKNOWN, "oops" },
        { "unavailable", "later", EBB_OUTCOME_UNKNOWN, "later" },
        { "nonsense", "what", EBB_OUTCOME_UNKNOWN, "what" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char frame[256] = "\x02\0\0\0";
        int n = snprintf(frame + 5, sizeof frame - 5,
                         "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}",
                         cases[i].code, cases[i].message);
        rig *r = open_connected();
        frame[4] = (char)n;
        on_start(r, RIG_REPLY, frame, (size_t)n + 5);
        rig_call *call = rig_call_task(r, RUN, IN(",\"cwd\":\"/x\""));
        assert_code(call, cases[i].wanted);
        assert_non_null(strstr(call->err.msg, cases[i].part));
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_limit_that_the_protocol_cannot_say_is_ours(void **state)
{
    static const struct {
        const char *in;
        bool said;
    } cases[] = {
        { IN(",\"timeoutMs\":9999999999"), true },
        { IN(",\"timeoutMs\":9999999998.5"), true },
        { IN(",\"timeoutMs\":10000000000"), false },
        { IN(",\"timeoutMs\":1e12"), false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_connected();
        ON_START(r, RIG_REPLY, START EXIT_3 FINISH);
        rig_call *call = rig_call_task(r, RUN, cases[i].in);
        assert_code(call, EBB_OK);
        assert_int_equal(strstr(rig_get(r, START_LINE, 0)->headers,
                                "connect-timeout-ms: 9999999999\n") != NULL,
                         cases[i].said);
        rig_call_free(call);
        rig_close(r);
    }
}

static void what_is_too_long_is_not_sent(void **state)
{
    size_t n = 1100000;
    char *json = malloc(n + 100);
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    strcpy(json, "{\"sandboxId\":\"i1\",\"command\":\"");
    memset(json + strlen(json), 'a', 131072);
    strcpy(json + 29 + 131072, "\"}");
    call = rig_call_task(r, RUN, json);
    assert_code(call, EBB_LIMIT_EXCEEDED);
    assert_non_null(strstr(call->err.msg, "e2b.writeFiles"));
    rig_call_free(call);

    n = (size_t)sprintf(json, "{\"sandboxId\":\"i1\",\"command\":\"\","
                              "\"envs\":{\"A\":\"");
    memset(json + n, 'a', 1048576);
    strcpy(json + n + 1048576, "\"}}");
    call = rig_call_task(r, RUN, json);
    assert_code(call, EBB_LIMIT_EXCEEDED);
    rig_call_free(call);

    call = rig_call_task(r, RUN, IN(",\"envs\":{\"A=B\":\"1\"}"));
    assert_code(call, EBB_INVALID_INPUT);
    rig_call_free(call);
    call = rig_call_task(r, RUN, IN(",\"user\":\"a:b\""));
    assert_code(call, EBB_INVALID_INPUT);
    rig_call_free(call);
    assert_int_equal(r->requests_n, 0);
    rig_close(r);
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_and_the_exit_code_come_back),
        cmocka_unit_test(the_request_is_what_envd_wants),
        CASE(no_limit_is_no_header, "B18"),
        cmocka_unit_test(a_signal_is_named),
        CASE(output_is_counted_past_its_bound, "B12"),
        cmocka_unit_test(stdin_is_fed_and_closed),
        cmocka_unit_test(a_recent_connect_is_used_again),
        cmocka_unit_test(a_life_that_is_too_long_is_asked_for_shorter),
        cmocka_unit_test(an_error_without_a_start_ran_nothing),
        cmocka_unit_test(a_limit_that_the_protocol_cannot_say_is_ours),
        cmocka_unit_test(what_is_too_long_is_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
