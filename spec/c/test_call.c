/* SPDX-License-Identifier: MIT */

/* The embedding API's calls, on tasks that the test registers as a host. */

#include "ebb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TURNS_MAX 400

/* A host's task that does what its input says, some of it later. */
typedef struct host {
    ebb_runtime *rt;
    ebb_request *held; /* waits to be cancelled */
    int started;
} host;

static void finish_later(void *context)
{
    ebb_request *request = context;

    ebb_request_finish(request,
                       ebb_value_copy(ebb_request_input(request)));
}

static void start(void *context, ebb_request *request)
{
    host *h = context;
    const ebb_value *input = ebb_request_input(request);
    const char *what = ebb_value_find_string(input, "do");
    ebb_err err = { 0 };

    h->started++;
    if (what != NULL && strcmp(what, "hold") == 0) {
        h->held = request;
    } else if (what != NULL && strcmp(what, "fail") == 0) {
        ebb_value *details = ebb_value_object();
        ebb_value_set(details, "hint", ebb_value_text("try less"));
        ebb_value_set(details, "seen", ebb_value_int(7));
        ebb_err_set_status(&err, EBB_CONFLICT, 409, "it is taken");
        ebb_request_fail(request, &err, details);
    } else if (what != NULL && strcmp(what, "break") == 0) {
        ebb_err_set(&err, EBB_NETWORK, "the line is dead");
        ebb_request_fail(request, &err, NULL);
    } else if (ebb_timer_start(h->rt, 1, finish_later, request, &err) ==
               NULL) {
        ebb_request_fail(request, &err, NULL);
    }
}

static void cancel(void *context, ebb_request *request)
{
    host *h = context;
    ebb_err err = { 0 };

    assert_ptr_equal(h->held, request);
    h->held = NULL;
    ebb_err_set(&err, EBB_CANCELLED, "stopped");
    ebb_request_fail(request, &err, NULL);
}

static void open_host(host *h)
{
    ebb_config config;
    ebb_err err = { 0 };
    const char *fields = "[{\"name\":\"do\",\"type\":\"string\"},"
                         "{\"name\":\"n\",\"type\":\"int\"},"
                         "{\"name\":\"sandboxId\",\"type\":\"string\"}]";
    ebb_value *description =
        ebb_value_parse(fields, strlen(fields), 0, &err);
    ebb_task_config task = { .name = "test.read",
                             .retry_class = "read",
                             .fields = description,
                             .start = start,
                             .cancel = cancel,
                             .context = h };

    *h = (host){ 0 };
    ebb_config_init(&config);
    config.jitter = -1;
    h->rt = ebb_open(&config, &err);
    assert_non_null(h->rt);
    assert_int_equal(ebb_register(h->rt, &task, &err), 0);
    task.name = "test.once";
    task.retry_class = NULL;
    assert_int_equal(ebb_register(h->rt, &task, &err), 0);
    assert_int_equal(ebb_register(h->rt, &task, &err), -1);
    assert_int_equal(err.code, EBB_CONFLICT);
    ebb_value_free(description);
}

static void a_call_gives_the_result(void **state)
{
    host h;
    char *out = NULL;
    ebb_err err = { 0 };

    (void)state;
    open_host(&h);
    assert_int_equal(
        ebb_call_json(h.rt, "test.once", "{\"n\":41}", &out, &err), 0);
    assert_string_equal(out, "{\"n\":41}");
    ebb_free(out);
    ebb_close(h.rt);
}

static void a_failure_is_an_error_object(void **state)
{
    host h;
    char *out = NULL;
    ebb_err err = { 0 };
    ebb_value *object;

    (void)state;
    open_host(&h);
    assert_int_equal(
        ebb_call_json(h.rt, "test.once",
                      "{\"do\":\"fail\",\"sandboxId\":\"i1\"}", &out, &err),
        -1);
    assert_int_equal(err.code, EBB_CONFLICT);
    object = ebb_value_parse(out, strlen(out), 0, &err);
    assert_string_equal(ebb_value_find_string(object, "code"), "conflict");
    assert_string_equal(ebb_value_find_string(object, "task"), "test.once");
    assert_string_equal(ebb_value_find_string(object, "sandboxId"), "i1");
    assert_string_equal(ebb_value_find_string(object, "hint"), "try less");
    assert_int_equal(ebb_value_find_int(object, "status", 0), 409);
    assert_int_equal(ebb_value_find_int(object, "attempts", 0), 1);
    assert_false(ebb_value_find_bool(object, "retryable", true));
    assert_int_equal(ebb_value_find_int(ebb_value_find(object, "details"),
                                        "seen", 0), 7);
    ebb_value_free(object);
    ebb_free(out);
    ebb_close(h.rt);
}

static void bad_input_starts_nothing(void **state)
{
    host h;
    char *out = NULL;
    ebb_err err = { 0 };

    (void)state;
    open_host(&h);
    assert_int_equal(
        ebb_call_json(h.rt, "test.once", "{\"nn\":1}", &out, &err), -1);
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    assert_non_null(strstr(err.msg, "nn"));
    ebb_free(out);
    assert_int_equal(ebb_call_json(h.rt, "test.once", "{", &out, &err), -1);
    assert_int_equal(err.code, EBB_INVALID_INPUT);
    assert_null(out);
    assert_int_equal(ebb_call_json(h.rt, "test.onc", "{}", &out, &err), -1);
    assert_non_null(strstr(err.msg, "test.once"));
    ebb_free(out);
    assert_int_equal(h.started, 0);
    ebb_close(h.rt);
}

typedef struct told {
    int times;
    ebb_code code;
} told;

static void tell(void *context, ebb_value *out, const ebb_err *err)
{
    told *t = context;

    t->times++;
    t->code = err != NULL ? err->code : EBB_OK;
    ebb_value_free(out);
}

static ebb_op *begin(host *h, const char *task, const char *input, told *t)
{
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse(input, strlen(input), 0, &err);
    ebb_op *op = ebb_start(h->rt, task, value, tell, t, &err);

    ebb_value_free(value);
    assert_non_null(op);
    assert_int_equal(t->times, 0);
    return op;
}

static void run_until(host *h, const int *what, int wanted)
{
    ebb_err err = { 0 };

    for (int i = 0; i < TURNS_MAX && *what < wanted; i++)
        assert_int_equal(ebb_poll(h->rt, 10, &err), 0);
    assert_int_equal(*what, wanted);
}

static void a_cancelled_call_ends_once(void **state)
{
    host h;
    told t = { 0 };
    ebb_op *op;

    (void)state;
    open_host(&h);
    op = begin(&h, "test.once", "{\"do\":\"hold\"}", &t);
    run_until(&h, &h.started, 1);
    ebb_cancel(op);
    ebb_cancel(op);
    run_until(&h, &t.times, 1);
    assert_int_equal(t.code, EBB_CANCELLED);
    ebb_close(h.rt);
    assert_int_equal(t.times, 1);
}

static void a_call_cancelled_at_once_starts_nothing(void **state)
{
    host h;
    told t = { 0 };

    (void)state;
    open_host(&h);
    ebb_cancel(begin(&h, "test.once", "{\"do\":\"hold\"}", &t));
    run_until(&h, &t.times, 1);
    assert_int_equal(t.code, EBB_CANCELLED);
    assert_int_equal(h.started, 0);
    ebb_close(h.rt);
}

static void a_read_waits_and_tries_again_until_cancelled(void **state)
{
    host h;
    told t = { 0 };
    ebb_op *op;
    int attempt = 0;
    int64_t wait_ms = 0;

    (void)state;
    open_host(&h);
    op = begin(&h, "test.read", "{\"do\":\"break\"}", &t);
    run_until(&h, &h.started, 1);
    ebb_op_progress(op, &attempt, &wait_ms);
    assert_int_equal(attempt, 1);
    assert_in_range(wait_ms, 500, 1000);
    run_until(&h, &h.started, 2);
    ebb_op_progress(op, &attempt, &wait_ms);
    assert_int_equal(attempt, 2);
    assert_in_range(wait_ms, 1500, 2000);
    ebb_cancel(op);
    run_until(&h, &t.times, 1);
    assert_int_equal(t.code, EBB_CANCELLED);
    ebb_close(h.rt);
}

static void a_task_of_class_none_is_tried_once(void **state)
{
    host h;
    told t = { 0 };

    (void)state;
    open_host(&h);
    begin(&h, "test.once", "{\"do\":\"break\"}", &t);
    run_until(&h, &t.times, 1);
    assert_int_equal(t.code, EBB_NETWORK);
    assert_int_equal(h.started, 1);
    ebb_close(h.rt);
}

static void closing_tells_every_call_in_flight(void **state)
{
    host h;
    told t[3] = { { 0 } };

    (void)state;
    open_host(&h);
    begin(&h, "test.once", "{\"do\":\"hold\"}", &t[0]);
    run_until(&h, &h.started, 1);
    begin(&h, "test.once", "{}", &t[1]);
    begin(&h, "test.nowhere", "{}", &t[2]);
    ebb_close(h.rt);
    for (int i = 0; i < 3; i++)
        assert_int_equal(t[i].times, 1);
    assert_int_equal(t[0].code, EBB_CANCELLED);
}

static void a_hundred_calls_run_side_by_side(void **state)
{
    host h;
    told t[100] = { { 0 } };
    int ended = 0;
    ebb_err err = { 0 };

    (void)state;
    open_host(&h);
    for (int i = 0; i < 100; i++)
        begin(&h, "test.once", "{\"n\":1}", &t[i]);
    for (int turn = 0; turn < TURNS_MAX && ended < 100; turn++) {
        ebb_poll(h.rt, 10, &err);
        ended = 0;
        for (int i = 0; i < 100; i++)
            ended += t[i].times;
    }
    assert_int_equal(ended, 100);
    ebb_close(h.rt);
}

static void without_a_key_the_way_to_run_is_named(void **state)
{
    ebb_err err = { 0 };
    ebb_config config;
    ebb_runtime *rt;
    char *out = NULL;

    (void)state;
    unsetenv("E2B_API_KEY");
    unsetenv("EBB_LOCAL");
    ebb_config_init(&config);
    rt = ebb_open(&config, &err);
    assert_non_null(rt);
    assert_int_equal(ebb_call_json(rt, "e2b.getSandbox",
                                   "{\"sandboxId\":\"i1\"}", &out, &err), -1);
    assert_int_equal(err.code, EBB_MISSING_CREDENTIALS);
    assert_non_null(strstr(err.msg, "E2B_API_KEY is required"));
    assert_non_null(strstr(err.msg, "--local"));
    ebb_free(out);
    ebb_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_gives_the_result),
        cmocka_unit_test(a_failure_is_an_error_object),
        cmocka_unit_test(bad_input_starts_nothing),
        cmocka_unit_test(a_cancelled_call_ends_once),
        cmocka_unit_test(a_call_cancelled_at_once_starts_nothing),
        cmocka_unit_test(a_read_waits_and_tries_again_until_cancelled),
        cmocka_unit_test(a_task_of_class_none_is_tried_once),
        cmocka_unit_test(closing_tells_every_call_in_flight),
        cmocka_unit_test(a_hundred_calls_run_side_by_side),
        cmocka_unit_test(without_a_key_the_way_to_run_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
