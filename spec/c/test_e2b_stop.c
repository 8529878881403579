/* SPDX-License-Identifier: MIT */
#include "support/e2b_frames.h"

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
