/* SPDX-License-Identifier: MIT */
#include "support/e2b_rig.h"

/* Frames of process.Process/Start in binary Connect. */
#define START  "\0\0\0\0\x07\x0a\x05\x0a\x03\x08\xd2\x09" /* pid 1234 */
#define OUT_HI "\0\0\0\0\x09\x0a\x07\x12\x05\x0a\x03hi\n"
#define ERR_NO "\0\0\0\0\x09\x0a\x07\x12\x05\x12\x03no\n"
#define KEEP   "\0\0\0\0\x04\x0a\x02\x22\0"
#define EXIT_3                                                                 \
    "\0\0\0\0\x17\x0a\x15\x1a\x13\x08\x06\x10\x01\x1a\x0d"                     \
    "exit status 3"
#define KILLED                                                                 \
    "\0\0\0\0\x16\x0a\x14\x1a\x12\x08\x01\x1a\x0e"                             \
    "signal: killed"
#define FINISH "\x02\0\0\0\x02{}"
#define DEADLINE                                                               \
    "\x02\0\0\0\x4c{\"error\":{\"code\":\"deadline_exceeded\",\"message\":"    \
    "\"context deadline exceeded\"}}"
#define BODY(text) .body = text, .n = sizeof(text) - 1

#define RUN        "e2b.runCommand"
#define START_PATH "/process.Process/Start"
#define START_LINE "POST " START_PATH
#define CONNECT    "/v2/sandboxes/i1/connect"
#define CONNECTED                                                              \
    "{\"sandboxID\":\"i1\",\"envdAccessToken\":\"tok\","                       \
    "\"trafficAccessToken\":\"tra\",\"domain\":null,"                          \
    "\"envdVersion\":\"0.6.13\"}"
#define GONE                                                                   \
    "{\"sandboxId\":\"i1\",\"message\":\"The sandbox was not found\","         \
    "\"code\":502}"
#define IN(rest) "{\"sandboxId\":\"i1\",\"command\":\"echo hi\"" rest "}"

static rig *open_connected(void)
{
    rig *r = rig_open();

    rig_on(r, "POST", CONNECT, 200, CONNECTED);
    return r;
}

/* What Start answers, once. */
static void on_start(rig *r, rig_how how, const char *body, size_t n)
{
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = START_PATH,
                           .status = 200,
                           .body = body,
                           .n = n,
                           .how = how,
                           .times = 1 });
}
#define ON_START(r, how, text) on_start(r, how, text, sizeof(text) - 1)

/* ---- what runs ---- */

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

/* ---- connecting ---- */

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

static void a_refusal_connects_again_and_sends_once_more(void **state)
{
    static const struct {
        int status;
        const char *body;
    } refusals[] = {
        { 502, GONE },
        { 502, "{\"message\":\"The sandbox is running but port is not "
               "open\",\"port\":49983,\"code\":502}" },
        { 401, "{\"code\":401,\"message\":\"unauthorized access\"}" },
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rig *r = open_connected();
        rig_add(r, (rig_rule){ .method = "POST",
                               .path = START_PATH,
                               .status = refusals[i].status,
                               .body = refusals[i].body,
                               .times = 1 });
        ON_START(r, RIG_REPLY, START OUT_HI EXIT_3 FINISH);
        rig_call *call = rig_call_task(r, RUN, IN(""));
        assert_code(call, EBB_OK);
        assert_int_equal(rig_count(r, "POST " CONNECT), 2);
        assert_int_equal(rig_count(r, START_LINE), 2);
        assert_int_equal(call->effects, 1);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_second_refusal_says_what_is_wrong(void **state)
{
    static const struct {
        int status;
        const char *body;
        ebb_code code;
    } refusals[] = {
        { 502, GONE, EBB_SANDBOX_NOT_RUNNING },
        { 401, "{}", EBB_UNAUTHORIZED },
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rig *r = open_connected();
        rig_on(r, "POST", START_PATH, refusals[i].status, refusals[i].body);
        rig_call *call = rig_call_task(r, RUN, IN(""));
        assert_code(call, refusals[i].code);
        assert_int_equal(rig_count(r, START_LINE), 2);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_killed_sandbox_is_not_found(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "POST", CONNECT, 404,
           "{\"code\":404,\"message\":\"Sandbox \\\"i1\\\" doesn't exist or "
           "you don't have access to it\"}");
    call = rig_call_task(r, RUN, IN(""));
    assert_code(call, EBB_NOT_FOUND);
    assert_int_equal(r->requests_n, 1);
    rig_call_free(call);
    rig_close(r);
}

/* ---- sent once ---- */

/* Start executed, but its answer does not say how it ended. */
static void what_may_have_run_is_unknown_and_sent_once(void **state)
{
    static const struct {
        const char *name;
        rig_rule rule;
        const char *out; /* what details must hold of stdout */
    } cases[] = {
        { "no answer", { .how = RIG_DROP }, "" },
        { "cut before start", { .status = 200, .how = RIG_CUT }, "" },
        { "cut after start",
          { .status = 200, .how = RIG_CUT, BODY(START) },
          "" },
        { "cut after output",
          { .status = 200, .how = RIG_CUT, BODY(START OUT_HI) },
          "hi\n" },
        { "cut inside a frame",
          { .status = 200, .how = RIG_CUT, BODY(START OUT_HI "\0\0\0") },
          "hi\n" },
        { "cut after the end event",
          { .status = 200, .how = RIG_CUT, BODY(START OUT_HI EXIT_3) },
          "hi\n" },
        { "ended without end",
          { .status = 200, BODY(START OUT_HI FINISH) },
          "hi\n" },
        { "ended without finish",
          { .status = 200, BODY(START OUT_HI EXIT_3) },
          "hi\n" },
        { "empty", { .status = 200 }, "" },
        { "garbage", { .status = 200, BODY("\xff\xff\xff\xff\xff") }, "" },
        { "output before start",
          { .status = 200, BODY(OUT_HI EXIT_3 FINISH) },
          "" },
        { "an error after the end",
          { .status = 200,
            BODY(START OUT_HI EXIT_3 "\x02\0\0\0\x1d{\"error\":{\"code\":"
                                     "\"internal\"}}") },
          "hi\n" },
        { "502 of a router",
          { .status = 502, .body = "Failed to route request to sandbox" },
          "" },
        { "500", { .status = 500, .body = "{\"message\":\"m\"}" }, "" },
        { "503", { .status = 503, .body = "" }, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_connected();
        rig_rule rule = cases[i].rule;
        rule.method = "POST";
        rule.path = START_PATH;
        rig_add(r, rule);
        rig_call *call = rig_call_task(r, RUN, IN(""));
        if (call->err.code != EBB_OUTCOME_UNKNOWN)
            fail_msg("%s: %s %s", cases[i].name, ebb_code_name(call->err.code),
                     call->err.msg);
        assert_int_equal(rig_count(r, START_LINE), 1);
        if (strcmp(rig_text(call->details, "stdout.text"), cases[i].out))
            fail_msg("%s: %s", cases[i].name,
                     rig_text(call->details, "stdout.text"));
        assert_non_null(strstr(call->err.msg, "may have run"));
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_dead_kept_connection_is_no_reason_to_send_twice(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_REPLY, START EXIT_3 FINISH);
    rig_add(
        r, (rig_rule){ .method = "POST", .path = START_PATH, .how = RIG_DROP });
    rig_call_free(rig_call_task(r, RUN, IN("")));
    call = rig_call_task(r, RUN, IN(""));
    assert_code(call, EBB_OUTCOME_UNKNOWN);
    assert_int_equal(rig_count(r, START_LINE), 2);
    rig_call_free(call);
    rig_close(r);
}

static void the_intent_comes_after_the_connect_and_before_the_bytes(void **s)
{
    rig *r = open_connected();
    rig_call *call;

    (void)s;
    ON_START(r, RIG_REPLY, START EXIT_3 FINISH);
    call = rig_call_task(r, RUN, IN(""));
    assert_int_equal(call->effects, 1);
    assert_int_equal(call->after, 1); /* the connect, nothing else */
    rig_call_free(call);
    rig_close(r);
}

static void nobody_there_is_a_network_error_and_nothing_ran(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    rig_call_free(rig_call_task(r, RUN, IN("")));
    ebb_http_server_close(r->server);
    call = rig_call_task(r, RUN, IN(""));
    assert_code(call, EBB_NETWORK);
    rig_call_free(call);
    /* rig_close closes a server: give it one. */
    ebb_http_server_config config;
    ebb_err err = { 0 };
    ebb_http_server_config_init(&config);
    config.host = "127.0.0.1";
    config.on_request = rig_request_came;
    r->server = ebb_http_server_open(r->loop, &config, &err);
    rig_close(r);
}

/* ---- errors in place of a start ---- */

static void an_error_without_a_start_ran_nothing(void **state)
{
    static const struct {
        const char *code, *message;
        ebb_code wanted;
        const char *part;
    } cases[] = {
        { "invalid_argument", "cwd '/x' does not exist", EBB_INVALID_INPUT,
          "cwd \"/x\"" },
        { "unauthenticated", "invalid username: 'u'", EBB_INVALID_INPUT,
          "user: " },
        { "resource_exhausted", "full", EBB_RATE_LIMITED, "full" },
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

/* ---- time ---- */

static void the_server_s_deadline_is_our_timeout(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_REPLY, START OUT_HI DEADLINE);
    call = rig_call_task(r, RUN, IN(",\"timeoutMs\":2000"));
    assert_code(call, EBB_TIMEOUT);
    assert_string_equal(rig_text(call->details, "stdout.text"), "hi\n");
    assert_null(rig_at(call->details, "mayStillRun"));
    rig_call_free(call);
    rig_close(r);
}

static void a_child_in_the_background_is_explained(void **state)
{
    static const struct {
        const char *command;
        bool explained;
    } cases[] = {
        { "server & echo", true }, { "a && b", false },   { "x >&2", false },
        { "x &>log", false },      { "sleep 9 &", true }, { "a 2>&1", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[128];
        rig *r = open_connected();
        ON_START(r, RIG_REPLY, START DEADLINE);
        snprintf(json, sizeof json, "{\"sandboxId\":\"i1\",\"command\":\"%s\"}",
                 cases[i].command);
        rig_call *call = rig_call_task(r, RUN, json);
        assert_code(call, EBB_TIMEOUT);
        assert_int_equal(strstr(call->err.msg, ">/dev/null") != NULL,
                         cases[i].explained);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_server_that_does_not_stop_it_is_helped(void **state)
{
    rig *r = open_connected();
    int64_t began, took;
    rig_call *call;

    (void)state;
    ON_START(r, RIG_HOLD, START OUT_HI);
    rig_on(r, "POST", "/process.Process/SendSignal", 200, "");
    began = ebb_clock_steady_ms(ebb_clock_real());
    call = rig_call_task(r, RUN, IN(",\"timeoutMs\":100"));
    took = ebb_clock_steady_ms(ebb_clock_real()) - began;
    assert_code(call, EBB_TIMEOUT);
    assert_true(rig_bool(call->details, "mayStillRun"));
    assert_string_equal(rig_text(call->details, "stdout.text"), "hi\n");
    assert_memory_equal(
        rig_get(r, "POST /process.Process/SendSignal", 0)->body.bytes,
        "\x0a\x03\x08\xd2\x09\x10\x09", 7);
    assert_in_range(took, 1050, 1400);
    rig_call_free(call);
    rig_close(r);
}

/* The signal works: the stream shows the end. */
static void end_on_signal(rig *r, rig_request *request)
{
    rig_request *start;

    if (strcmp(request->line, "POST /process.Process/SendSignal") != 0)
        return;
    start = rig_get(r, START_LINE, 0);
    ebb_exchange_write(start->held, KILLED FINISH, sizeof(KILLED FINISH) - 1);
    ebb_exchange_end(start->held);
}

static void an_end_after_our_signal_settles_it(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    r->on_request = end_on_signal;
    ON_START(r, RIG_HOLD, START OUT_HI);
    rig_on(r, "POST", "/process.Process/SendSignal", 200, "");
    call = rig_call_task(r, RUN, IN(",\"timeoutMs\":1"));
    assert_code(call, EBB_TIMEOUT);
    assert_null(rig_at(call->details, "mayStillRun"));
    assert_int_equal(rig_int(call->details, "exitCode"), -1);
    rig_call_free(call);
    rig_close(r);
}

/* ---- cancelling ---- */

static void a_cancelled_command_is_killed_by_its_pid(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    r->on_request = end_on_signal;
    ON_START(r, RIG_HOLD, START OUT_HI);
    rig_on(r, "POST", "/process.Process/SendSignal", 200, "");
    call = rig_start(r, RUN, IN(""));
    rig_turn(r, 60);
    call->attempt.cancel(&call->attempt);
    assert_false(call->ended);
    rig_run(r, &call->ended);
    assert_code(call, EBB_CANCELLED);
    assert_null(rig_at(call->details, "mayStillRun"));
    assert_string_equal(rig_text(call->details, "stdout.text"), "hi\n");
    rig_call_free(call);
    rig_close(r);
}

static void a_cancel_does_not_wait_for_ever(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_HOLD, START);
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/process.Process/SendSignal",
                           .status = 200,
                           .how = RIG_HOLD });
    call = rig_start(r, RUN, IN(""));
    rig_turn(r, 60);
    call->attempt.cancel(&call->attempt);
    rig_run(r, &call->ended);
    assert_code(call, EBB_CANCELLED);
    assert_true(rig_bool(call->details, "mayStillRun"));
    rig_call_free(call);
    rig_close(r);
}

static void cancelled_before_the_start_is_unknown(void **state)
{
    rig *r = open_connected();
    rig_call *call;

    (void)state;
    ON_START(r, RIG_HOLD, "");
    call = rig_start(r, RUN, IN(""));
    rig_turn(r, 60);
    call->attempt.cancel(&call->attempt);
    assert_true(call->ended);
    assert_code(call, EBB_OUTCOME_UNKNOWN);
    rig_call_free(call);
    rig_close(r);
}

static void cancelled_while_connecting_ran_nothing(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = CONNECT,
                           .status = 200,
                           .how = RIG_HOLD });
    call = rig_start(r, RUN, IN(""));
    rig_turn(r, 60);
    call->attempt.cancel(&call->attempt);
    assert_code(call, EBB_CANCELLED);
    assert_int_equal(rig_count(r, START_LINE), 0);
    rig_call_free(call);
    rig_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_and_the_exit_code_come_back),
        cmocka_unit_test(the_request_is_what_envd_wants),
        cmocka_unit_test(no_limit_is_no_header),
        cmocka_unit_test(a_signal_is_named),
        cmocka_unit_test(output_is_counted_past_its_bound),
        cmocka_unit_test(stdin_is_fed_and_closed),
        cmocka_unit_test(a_recent_connect_is_used_again),
        cmocka_unit_test(a_life_that_is_too_long_is_asked_for_shorter),
        cmocka_unit_test(a_refusal_connects_again_and_sends_once_more),
        cmocka_unit_test(a_second_refusal_says_what_is_wrong),
        cmocka_unit_test(a_killed_sandbox_is_not_found),
        cmocka_unit_test(what_may_have_run_is_unknown_and_sent_once),
        cmocka_unit_test(a_dead_kept_connection_is_no_reason_to_send_twice),
        cmocka_unit_test(
            the_intent_comes_after_the_connect_and_before_the_bytes),
        cmocka_unit_test(nobody_there_is_a_network_error_and_nothing_ran),
        cmocka_unit_test(an_error_without_a_start_ran_nothing),
        cmocka_unit_test(what_is_too_long_is_not_sent),
        cmocka_unit_test(the_server_s_deadline_is_our_timeout),
        cmocka_unit_test(a_child_in_the_background_is_explained),
        cmocka_unit_test(a_server_that_does_not_stop_it_is_helped),
        cmocka_unit_test(an_end_after_our_signal_settles_it),
        cmocka_unit_test(a_cancelled_command_is_killed_by_its_pid),
        cmocka_unit_test(a_cancel_does_not_wait_for_ever),
        cmocka_unit_test(cancelled_before_the_start_is_unknown),
        cmocka_unit_test(cancelled_while_connecting_ran_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
