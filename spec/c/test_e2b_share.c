/* SPDX-License-Identifier: MIT */
/* Calls that need the same connect at the same time: one asks, all get it. */
#include "support/e2b_frames.h"

#define MANY         20
#define CONNECT_LINE "POST " CONNECT

/* A rig whose connects say nothing until told; commands end with exit 3. */
static rig *open_silent(int silent)
{
    static const char done[] = START EXIT_3 FINISH;
    rig *r = rig_open();

    if (silent > 0)
        rig_add(r, (rig_rule){ .method = "POST",
                               .path = CONNECT,
                               .how = RIG_SILENT,
                               .times = silent });
    rig_on(r, "POST", CONNECT, 200, CONNECTED);
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = START_PATH,
                           .status = 200,
                           .body = done,
                           .n = sizeof done - 1 });
    return r;
}

static void start_many(rig *r, rig_call **calls, const char *in)
{
    for (int i = 0; i < MANY; i++)
        calls[i] = rig_start(r, RUN, in);
}

/* Answers the nth connect, which waits. */
static void answer(rig *r, int nth, int status, const char *body)
{
    ebb_exchange *held = rig_get(r, CONNECT_LINE, nth)->held;

    assert_non_null(held);
    ebb_exchange_reply(held, status, "application/json", body, strlen(body));
}

static void wait_for_connects(rig *r, int count)
{
    for (int i = 0; rig_count(r, CONNECT_LINE) < count; i++) {
        rig_turn(r, 5);
        assert_true(i < 1000);
    }
    rig_turn(r, 30); /* for those that should not come */
    assert_int_equal(rig_count(r, CONNECT_LINE), count);
}

static void end_all(rig *r, rig_call **calls, ebb_code code)
{
    for (int i = 0; i < MANY; i++) {
        if (calls[i] == NULL)
            continue;
        rig_run(r, &calls[i]->ended);
        assert_code(calls[i], code);
        rig_call_free(calls[i]);
    }
}

static void cancel(rig *r, rig_call **calls, int nth)
{
    calls[nth]->attempt.cancel(&calls[nth]->attempt);
    rig_run(r, &calls[nth]->ended);
    assert_code(calls[nth], EBB_CANCELLED);
    rig_call_free(calls[nth]);
    calls[nth] = NULL;
}

static void first_calls_at_once_share_one_connect(void **state)
{
    rig *r = open_silent(1);
    rig_call *calls[MANY];

    (void)state;
    start_many(r, calls, IN(""));
    wait_for_connects(r, 1);
    answer(r, 0, 200, CONNECTED);
    end_all(r, calls, EBB_OK);
    assert_int_equal(rig_count(r, START_LINE), MANY);
    assert_int_equal(rig_count(r, CONNECT_LINE), 1);
    rig_close(r);
}

static void a_failed_connect_fails_all_that_shared_it(void **state)
{
    rig *r = open_silent(1);
    rig_call *calls[MANY];

    (void)state;
    start_many(r, calls, IN(""));
    wait_for_connects(r, 1);
    answer(r, 0, 404,
           "{\"code\":404,\"message\":\"Sandbox i1 doesn't exist\"}");
    end_all(r, calls, EBB_NOT_FOUND);
    assert_int_equal(rig_count(r, CONNECT_LINE), 1);
    rig_close(r);
}

static void an_answer_that_names_no_sandbox_fails_all(void **state)
{
    rig *r = open_silent(1);
    rig_call *calls[MANY];

    (void)state;
    start_many(r, calls, IN(""));
    wait_for_connects(r, 1);
    answer(r, 0, 200, "{}");
    end_all(r, calls, EBB_PROTOCOL);
    rig_close(r);
}

static void one_that_follows_may_be_cancelled(void **state)
{
    rig *r = open_silent(1);
    rig_call *calls[MANY];

    (void)state;
    start_many(r, calls, IN(""));
    wait_for_connects(r, 1);
    cancel(r, calls, 7);
    cancel(r, calls, MANY - 1);
    answer(r, 0, 200, CONNECTED);
    end_all(r, calls, EBB_OK);
    assert_int_equal(rig_count(r, START_LINE), MANY - 2);
    rig_close(r);
}

static void the_one_that_asked_may_be_cancelled(void **state)
{
    rig *r = open_silent(3);
    rig_call *calls[MANY];

    (void)state;
    start_many(r, calls, IN(""));
    wait_for_connects(r, 1);
    cancel(r, calls, 0); /* the next one asks instead */
    wait_for_connects(r, 2);
    cancel(r, calls, 1);
    wait_for_connects(r, 3);
    answer(r, 2, 200, CONNECTED);
    end_all(r, calls, EBB_OK);
    assert_int_equal(rig_count(r, START_LINE), MANY - 2);
    rig_close(r);
}

static void all_may_be_cancelled(void **state)
{
    rig *r = open_silent(MANY);
    rig_call *calls[MANY];

    (void)state;
    start_many(r, calls, IN(""));
    wait_for_connects(r, 1);
    for (int i = 0; i < MANY; i++)
        cancel(r, calls, i);
    assert_int_equal(rig_count(r, START_LINE), 0);
    rig_close(r);
}

static void one_that_needs_a_longer_life_asks_for_it(void **state)
{
    rig *r = open_silent(2);
    rig_call *calls[MANY] = { 0 };

    (void)state;
    calls[0] = rig_start(r, RUN, IN(""));
    wait_for_connects(r, 1);
    calls[1] = rig_start(r, RUN, IN(",\"timeoutMs\":600000"));
    wait_for_connects(r, 2);
    calls[2] = rig_start(r, RUN, IN(",\"timeoutMs\":500000"));
    calls[3] = rig_start(r, RUN, IN(""));
    wait_for_connects(r, 2);
    assert_string_equal(rig_get(r, CONNECT_LINE, 1)->body.bytes,
                        "{\"timeout\":630}");
    answer(r, 0, 200, CONNECTED);
    answer(r, 1, 200, CONNECTED);
    end_all(r, calls, EBB_OK);
    assert_int_equal(rig_count(r, CONNECT_LINE), 2);
    rig_close(r);
}

static void a_life_that_is_refused_is_asked_for_once(void **state)
{
    rig *r = open_silent(1);
    rig_call *calls[MANY];

    (void)state;
    start_many(r, calls, IN(",\"timeoutMs\":7200000"));
    wait_for_connects(r, 1);
    answer(r, 0, 400, "{\"code\":400,\"message\":\"Timeout too long\"}");
    end_all(r, calls, EBB_OK);
    assert_int_equal(rig_count(r, CONNECT_LINE), 2);
    assert_string_equal(rig_get(r, CONNECT_LINE, 1)->body.bytes,
                        "{\"timeout\":300}");
    rig_close(r);
}

static void those_that_are_refused_connect_again_once(void **state)
{
    rig *r = rig_open();
    rig_call *calls[MANY];

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = CONNECT,
                           .status = 200,
                           .body = CONNECTED,
                           .times = 1 });
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = CONNECT,
                           .how = RIG_SILENT,
                           .times = 1 });
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = START_PATH,
                           .status = 502,
                           .body = GONE,
                           .times = MANY });
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = START_PATH,
                           .status = 200,
                           BODY(START EXIT_3 FINISH) });
    start_many(r, calls, IN(""));
    wait_for_connects(r, 2);
    while (rig_count(r, START_LINE) < MANY)
        rig_turn(r, 5);
    rig_turn(r, 30);
    answer(r, 1, 200, CONNECTED);
    end_all(r, calls, EBB_OK);
    assert_int_equal(rig_count(r, CONNECT_LINE), 2);
    assert_int_equal(rig_count(r, START_LINE), 2 * MANY);
    rig_close(r);
}

/* What began before the refusal may know no better. */
static void one_that_is_refused_follows_no_older_connect(void **state)
{
    rig *r = rig_open();
    rig_call *calls[MANY] = { 0 };

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = CONNECT,
                           .status = 200,
                           .body = CONNECTED,
                           .times = 1 });
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = CONNECT,
                           .how = RIG_SILENT,
                           .times = 2 });
    ON_START(r, RIG_SILENT, "");
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = START_PATH,
                           .status = 200,
                           BODY(START EXIT_3 FINISH) });
    calls[0] = rig_start(r, RUN, IN(""));
    while (rig_count(r, START_LINE) < 1)
        rig_turn(r, 5);
    calls[1] = rig_start(r, RUN, IN(",\"timeoutMs\":600000"));
    wait_for_connects(r, 2);
    ebb_exchange_reply(rig_get(r, START_LINE, 0)->held, 502, "application/json",
                       GONE, sizeof GONE - 1);
    wait_for_connects(r, 3);
    answer(r, 2, 200, CONNECTED);
    answer(r, 1, 200, CONNECTED);
    end_all(r, calls, EBB_OK);
    rig_close(r);
}

/* The local service has ended: it is looked for once, and asked once. */
static void a_service_that_is_gone_is_looked_for_together(void **state)
{
    rig *r = open_silent(0);
    rig_call *calls[MANY], *first;

    (void)state;
    rig_go_local(r);
    first = rig_call_task(r, "e2b.killSandbox", "{\"sandboxId\":\"i9\"}");
    rig_call_free(first);
    rig_restart(r);
    rig_turn(r, 30);
    start_many(r, calls, IN(""));
    end_all(r, calls, EBB_OK);
    assert_int_equal(r->places, 2);
    assert_int_equal(rig_count(r, CONNECT_LINE), 1);
    rig_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_calls_at_once_share_one_connect),
        cmocka_unit_test(a_failed_connect_fails_all_that_shared_it),
        cmocka_unit_test(an_answer_that_names_no_sandbox_fails_all),
        cmocka_unit_test(one_that_follows_may_be_cancelled),
        cmocka_unit_test(the_one_that_asked_may_be_cancelled),
        cmocka_unit_test(all_may_be_cancelled),
        cmocka_unit_test(one_that_needs_a_longer_life_asks_for_it),
        cmocka_unit_test(a_life_that_is_refused_is_asked_for_once),
        cmocka_unit_test(those_that_are_refused_connect_again_once),
        cmocka_unit_test(one_that_is_refused_follows_no_older_connect),
        cmocka_unit_test(a_service_that_is_gone_is_looked_for_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
