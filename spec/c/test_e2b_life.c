/* SPDX-License-Identifier: MIT */
/* Limits of time, the life of a sandbox, and losing the service. */
#include "support/e2b_frames.h"

#include "task/retry.h"

static rig *open_limited(ebb_e2b_config config)
{
    rig *r = rig_open_with(config);

    rig_on(r, "POST", CONNECT, 200, CONNECTED);
    return r;
}

static void a_call_without_limit_extends_the_life_again_and_again(void **s)
{
    rig *r = open_limited((ebb_e2b_config){ .extend_ms = 30 });
    rig_call *call;

    (void)s;
    ON_START(r, RIG_HOLD, START);
    call = rig_start(r, RUN, IN(",\"timeoutMs\":0"));
    rig_turn(r, 200);
    assert_in_range(rig_count(r, "POST " CONNECT), 3, 8);
    assert_string_equal(rig_get(r, "POST " CONNECT, 2)->body.bytes,
                        "{\"timeout\":300}");
    ebb_exchange *held = rig_get(r, START_LINE, 0)->held;
    ebb_exchange_write(held, EXIT_3 FINISH, sizeof(EXIT_3 FINISH) - 1);
    ebb_exchange_end(held);
    rig_run(r, &call->ended);
    assert_code(call, EBB_OK);
    rig_call_free(call);
    rig_close(r);
}

static void a_failed_extension_is_tried_again_and_harms_nothing(void **state)
{
    rig *r = rig_open_with((ebb_e2b_config){ .extend_ms = 30 });
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = CONNECT,
                           .status = 200,
                           .body = CONNECTED,
                           .times = 1 });
    rig_on(r, "POST", CONNECT, 500, "{}");
    ON_START(r, RIG_HOLD, START);
    call = rig_start(r, RUN, IN(",\"timeoutMs\":0"));
    rig_turn(r, 150);
    assert_false(call->ended);
    assert_true(rig_count(r, "POST " CONNECT) >= 3);
    call->attempt.cancel(&call->attempt);
    rig_run(r, &call->ended);
    rig_call_free(call);
    rig_close(r);
}

static void a_covered_call_extends_nothing(void **state)
{
    rig *r = open_limited((ebb_e2b_config){ .extend_ms = 10 });
    rig_call *call;

    (void)state;
    ON_START(r, RIG_HOLD, START);
    call = rig_start(r, RUN, IN(""));
    rig_turn(r, 100);
    assert_int_equal(rig_count(r, "POST " CONNECT), 1);
    call->attempt.cancel(&call->attempt);
    rig_run(r, &call->ended);
    rig_call_free(call);
    rig_close(r);
}

static void a_stream_that_says_nothing_is_unknown(void **state)
{
    static const struct {
        ebb_e2b_config limits;
        rig_how how;
        const char *body;
        size_t n;
    } cases[] = {
        { { .stream_first_ms = 100 }, RIG_SILENT, "", 0 },
        { { .stream_first_ms = 100 }, RIG_HOLD, "", 0 },
        { { .stream_idle_ms = 100 },
          RIG_HOLD,
          START OUT_HI,
          sizeof(START OUT_HI) - 1 },
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rig *r = open_limited(cases[i].limits);
        rig_on(r, "GET", "/sandboxes/i1", 200, "{\"state\":\"running\"}");
        rig_add(r, (rig_rule){ .method = "POST",
                               .path = START_PATH,
                               .status = 200,
                               .body = cases[i].body,
                               .n = cases[i].n,
                               .how = cases[i].how });
        rig_call *call = rig_call_task(r, RUN, IN(""));
        assert_code(call, EBB_OUTCOME_UNKNOWN);
        assert_true(rig_bool(call->details, "mayStillRun"));
        assert_int_equal(rig_count(r, START_LINE), 1);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_control_plane_that_says_nothing_is_a_timeout(void **state)
{
    rig *r = rig_open_with((ebb_e2b_config){ .unary_ms = 100 });
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "GET",
                           .path = "/sandboxes/i1",
                           .how = RIG_SILENT });
    call = rig_call_task(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
    assert_code(call, EBB_TIMEOUT);
    assert_true(ebb_retry_helps(&call->err));
    rig_call_free(call);
    rig_close(r);
}

static void a_file_that_stops_moving_is_a_timeout(void **state)
{
    rig *r = open_limited((ebb_e2b_config){ .transfer_idle_ms = 100 });
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/filesystem.Filesystem/Stat",
                           .status = 200,
                           BODY("\x0a\x0b\x0a\x01"
                                "a"
                                "\x10\x01\x1a\x02/a\x20\x09") });
    rig_add(r, (rig_rule){ .method = "GET",
                           .path = "/files",
                           .status = 200,
                           .body = "part",
                           .how = RIG_HOLD });
    call = rig_call_task(r, "e2b.readFile",
                         "{\"sandboxId\":\"i1\",\"path\":\"/a\"}");
    assert_code(call, EBB_TIMEOUT);
    rig_call_free(call);
    rig_close(r);
}

static void a_lost_service_is_looked_for_again(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "DELETE", "/sandboxes/i1", 204, "");
    rig_call_free(
        rig_call_task(r, "e2b.killSandbox", "{\"sandboxId\":\"i1\"}"));
    assert_int_equal(r->places, 1);
    rig_restart(r);
    call = rig_call_task(r, "e2b.killSandbox", "{\"sandboxId\":\"i1\"}");
    if (call->err.code == EBB_NETWORK) {
        /* The old place; whoever tries again asks for the new one. */
        rig_call_free(call);
        call = rig_call_task(r, "e2b.killSandbox", "{\"sandboxId\":\"i1\"}");
    }
    assert_code(call, EBB_OK);
    assert_int_equal(r->places, 2);
    rig_call_free(call);
    rig_close(r);
}

static void a_local_service_that_ended_is_begun_again_unseen(void **state)
{
    static const struct {
        const char *task, *input, *line;
    } cases[] = {
        { "e2b.killSandbox", "{\"sandboxId\":\"i1\"}", "DELETE /sandboxes/i1" },
        { RUN, IN(",\"stdin\":\"x\""), START_LINE },
        { "e2b.writeFiles",
          "{\"sandboxId\":\"i1\",\"files\":[{\"path\":\"a\","
          "\"encoding\":\"base64\",\"content\":\"AP8=\"}]}",
          "POST /files" },
        { "e2b.runCode", "{\"sandboxId\":\"i1\",\"code\":\"1\"}",
          "POST /execute" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = rig_open();
        rig_go_local(r);
        rig_on(r, "DELETE", "/sandboxes/i0", 204, "");
        rig_on(r, "DELETE", "/sandboxes/i1", 204, "");
        rig_on(r, "POST", CONNECT, 200, CONNECTED);
        rig_add(r, (rig_rule){ .method = "POST",
                               .path = START_PATH,
                               .status = 200,
                               BODY(START EXIT_3 FINISH) });
        rig_on(r, "POST", "/files", 200, "[{}]");
        rig_on(r, "POST", "/execute", 200, "{\"type\":\"end_of_execution\"}");
        rig_call_free(
            rig_call_task(r, "e2b.killSandbox", "{\"sandboxId\":\"i0\"}"));
        rig_restart(r);
        rig_turn(r, 20);
        rig_call *call = rig_call_task(r, cases[i].task, cases[i].input);
        assert_code(call, EBB_OK);
        assert_int_equal(r->places, 2);
        assert_int_equal(rig_count(r, cases[i].line), 1);
        rig_call_free(call);
        rig_close(r);
    }
}

static void a_local_service_that_cannot_begin_is_an_error_once(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_go_local(r);
    rig_call_free(
        rig_call_task(r, "e2b.killSandbox", "{\"sandboxId\":\"i0\"}"));
    unlink(r->socket_path);
    ebb_http_server_close(r->server);
    call = rig_call_task(r, RUN, IN(""));
    assert_code(call, EBB_NETWORK);
    assert_int_equal(r->places, 2);
    rig_call_free(call);
    rig_listen(r); /* for rig_close */
    rig_close(r);
}

static void those_who_wait_for_the_place_all_go_on(void **state)
{
    rig *r = rig_open();
    rig_call *calls[4];

    (void)state;
    r->place_later = true;
    rig_on(r, "DELETE", "/sandboxes/i1", 204, "");
    for (int i = 0; i < 4; i++)
        calls[i] = rig_start(r, "e2b.killSandbox", "{\"sandboxId\":\"i1\"}");
    calls[2]->attempt.cancel(&calls[2]->attempt);
    rig_turn(r, 20);
    assert_int_equal(r->requests_n, 0);
    rig_tell_place(r);
    for (int i = 0; i < 4; i++) {
        rig_run(r, &calls[i]->ended);
        assert_code(calls[i], i == 2 ? EBB_CANCELLED : EBB_OK);
        rig_call_free(calls[i]);
    }
    assert_int_equal(r->places, 1);
    assert_int_equal(r->requests_n, 3);
    rig_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_without_limit_extends_the_life_again_and_again),
        cmocka_unit_test(a_failed_extension_is_tried_again_and_harms_nothing),
        cmocka_unit_test(a_covered_call_extends_nothing),
        cmocka_unit_test(a_stream_that_says_nothing_is_unknown),
        cmocka_unit_test(a_control_plane_that_says_nothing_is_a_timeout),
        cmocka_unit_test(a_file_that_stops_moving_is_a_timeout),
        cmocka_unit_test(a_lost_service_is_looked_for_again),
        cmocka_unit_test(a_local_service_that_ended_is_begun_again_unseen),
        cmocka_unit_test(a_local_service_that_cannot_begin_is_an_error_once),
        cmocka_unit_test(those_who_wait_for_the_place_all_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
