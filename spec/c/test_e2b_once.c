/* SPDX-License-Identifier: MIT */
#include "support/e2b_frames.h"

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
    rig_listen(r); /* for rig_close */
    rig_close(r);
}

static void a_broken_stream_says_what_became_of_the_sandbox(void **state)
{
    static const struct {
        int status;
        const char *body, *said;
        bool may_still_run;
    } cases[] = {
        { 404, "{\"message\":\"Sandbox doesn't exist\"}", "has ended", false },
        { 200, "{\"state\":\"running\"}", "still runs", true },
        { 200, "{\"state\":\"paused\"}", "is paused", true },
        { 500, "{}", "may have run", true },
        { 200, "[", "may have run", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = open_connected();
        ON_START(r, RIG_CUT, START OUT_HI);
        rig_on(r, "GET", "/sandboxes/i1", cases[i].status, cases[i].body);
        rig_call *call = rig_call_task(r, RUN, IN(""));
        assert_code(call, EBB_OUTCOME_UNKNOWN);
        if (strstr(call->err.msg, cases[i].said) == NULL)
            fail_msg("%s", call->err.msg);
        assert_int_equal(rig_bool(call->details, "mayStillRun"),
                         cases[i].may_still_run);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_probe_without_answer_delays_nothing_for_long(void **state)
{
    rig *r = open_connected();
    int64_t began = ebb_clock_steady_ms(ebb_clock_real()), took;
    rig_call *call;

    (void)state;
    ON_START(r, RIG_CUT, START OUT_HI);
    rig_add(r, (rig_rule){ .method = "GET",
                           .path = "/sandboxes/i1",
                           .how = RIG_SILENT });
    call = rig_call_task(r, RUN, IN(""));
    took = ebb_clock_steady_ms(ebb_clock_real()) - began;
    assert_code(call, EBB_OUTCOME_UNKNOWN);
    assert_in_range(took, 500, 1000);
    rig_call_free(call);
    call = NULL;
    ON_START(r, RIG_CUT, START OUT_HI);
    call = rig_start(r, RUN, IN(""));
    rig_turn(r, 60);
    assert_false(call->ended);
    call->attempt.cancel(&call->attempt);
    assert_code(call, EBB_OUTCOME_UNKNOWN);
    rig_call_free(call);
    rig_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_connects_again_and_sends_once_more),
        cmocka_unit_test(a_second_refusal_says_what_is_wrong),
        cmocka_unit_test(a_killed_sandbox_is_not_found),
        cmocka_unit_test(what_may_have_run_is_unknown_and_sent_once),
        cmocka_unit_test(a_dead_kept_connection_is_no_reason_to_send_twice),
        cmocka_unit_test(
            the_intent_comes_after_the_connect_and_before_the_bytes),
        cmocka_unit_test(nobody_there_is_a_network_error_and_nothing_ran),
        cmocka_unit_test(a_broken_stream_says_what_became_of_the_sandbox),
        cmocka_unit_test(a_probe_without_answer_delays_nothing_for_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
