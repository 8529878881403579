/* SPDX-License-Identifier: MIT */
#include "support/e2b_call.h"

#define LOGS     "e2b.getSandboxLogs"
#define METRICS  "e2b.getSandboxMetrics"
#define IN(rest) "{\"sandboxId\":\"i1\"" rest "}"
#define LOG(time, level, message, more)                                        \
    "{\"timestamp\":\"2026-11-29T15:00:0" time "Z\",\"level\":\"" level        \
    "\",\"message\":\"" message "\"" more "}"

static rig *open_logs(const char *body)
{
    rig *r = rig_open();

    rig_on(r, "GET", "/v2/sandboxes/i1/logs", 200, body);
    return r;
}

static void lines_come_with_level_and_logger(void **state)
{
    rig *r = open_logs("{\"logs\":[" LOG(
        "1.25", "warning", "a",
        ",\"logger\":\"envd\"") "," LOG("2", "fatal", "b",
                                        ",\"fields\":{\"logger\":"
                                        "\"k\"}") "," LOG("3", "strange", "c",
                                                          "") "]}");
    rig_call *call;

    (void)state;
    call = rig_call_task(r, LOGS, IN(""));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "logs.0.level"), "warn");
    assert_string_equal(rig_text(call->result, "logs.0.timestamp"),
                        "2026-11-29T15:00:01.250Z");
    assert_string_equal(rig_text(call->result, "logs.0.logger"), "envd");
    assert_string_equal(rig_text(call->result, "logs.1.level"), "error");
    assert_string_equal(rig_text(call->result, "logs.1.logger"), "k");
    assert_string_equal(rig_text(call->result, "logs.2.level"), "info");
    assert_int_equal(ebb_value_type(rig_at(call->result, "logs.2.logger")),
                     EBB_NULL);
    assert_int_equal(ebb_value_type(rig_at(call->result, "cursor")), EBB_NULL);
    assert_int_equal(rig_int(call->result, "page.available"), 3);
    assert_string_equal(rig_get(r, "GET /v2/sandboxes/i1/logs", 0)->query,
                        "limit=100");
    rig_call_free(call);
    rig_close(r);
}

static void every_question_is_passed_on(void **state)
{
    rig *r = open_logs("{\"logs\":[]}");
    rig_call *call;

    (void)state;
    call = rig_call_task(r, LOGS,
                         IN(",\"cursor\":1796000000123,\"direction\":"
                            "\"forward\",\"level\":\"warn\",\"search\":"
                            "\"a&b=c \xC3\xA9\",\"limit\":2000"));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_get(r, "GET /v2/sandboxes/i1/logs", 0)->query,
                        "limit=1000&cursor=1796000000123&direction=forward"
                        "&level=warn&search=a&b=c \xC3\xA9");
    rig_call_free(call);
    call = rig_call_task(r, LOGS, IN(",\"cursor\":1.5"));
    assert_code(call, EBB_INVALID_INPUT);
    rig_call_free(call);
    rig_close(r);
}

static void messages_share_the_bytes(void **state)
{
    rig *r = open_logs("{\"logs\":[" LOG("1", "info", "abcdef", "") "," LOG(
        "2", "info", "x", "") "]}");
    rig_call *call;

    (void)state;
    call = rig_call_task(r, LOGS, IN(",\"limit\":2,\"maxBytes\":8"));
    assert_string_equal(rig_text(call->result, "logs.0.message.text"), "abcd");
    assert_int_equal(rig_int(call->result, "logs.0.message.maxBytes"), 4);
    assert_true(rig_bool(call->result, "logs.0.message.truncated"));
    assert_string_equal(rig_text(call->result, "logs.1.message.text"), "x");
    rig_call_free(call);
    call = rig_call_task(r, LOGS, IN(",\"limit\":5,\"maxBytes\":1"));
    assert_string_equal(rig_text(call->result, "logs.0.message.text"), "a");
    assert_string_equal(rig_text(call->result, "logs.1.message.text"), "");
    assert_int_equal(rig_int(call->result, "logs.1.message.maxBytes"), 0);
    rig_call_free(call);
    rig_close(r);
}

static void the_cursor_leads_on_where_there_may_be_more(void **state)
{
    /* 15:00:02 is 1795964402000 ms. */
    rig *r = open_logs("{\"logs\":[" LOG("1", "info", "a", "") "," LOG(
        "2", "info", "b", "") "]}");
    rig_call *call;

    (void)state;
    call = rig_call_task(r, LOGS, IN(",\"limit\":2,\"direction\":\"forward\""));
    assert_int_equal(rig_int(call->result, "cursor"), 1795964402001);
    assert_int_equal(ebb_value_type(rig_at(call->result, "page.available")),
                     EBB_NULL);
    rig_call_free(call);
    call = rig_call_task(r, LOGS, IN(",\"limit\":1"));
    assert_int_equal(rig_int(call->result, "cursor"), 1795964400999);
    assert_int_equal(rig_int(call->result, "page.available"), 2);
    assert_true(rig_bool(call->result, "page.truncated"));
    rig_call_free(call);
    rig_close(r);
    r = open_logs("{\"logs\":[],\"nextCursor\":5}");
    call = rig_call_task(r, LOGS, IN(""));
    assert_int_equal(rig_int(call->result, "cursor"), 5);
    rig_call_free(call);
    rig_close(r);
}

static void logs_that_are_none_are_refused(void **state)
{
    static const char *const bodies[] = {
        "{\"logs\":{}}",
        "{\"logs\":[{\"message\":\"no time\"}]}",
        "[",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        rig *r = open_logs(bodies[i]);
        rig_call *call = rig_call_task(r, LOGS, IN(""));
        assert_code(call, EBB_PROTOCOL);
        rig_call_free(call);
        rig_close(r);
    }
}

#define SAMPLE(time)                                                           \
    "{\"timestamp\":\"2026-11-29T15:00:0" time "Z\",\"timestampUnix\":1,"      \
    "\"cpuCount\":2,\"cpuUsedPct\":1.5,\"memUsed\":3,\"memTotal\":4,"          \
    "\"memCache\":5,\"diskUsed\":6,\"diskTotal\":7}"

static void samples_come_with_their_names(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/sandboxes/i1/metrics", 200,
           "[" SAMPLE("1") "," SAMPLE("6") "]");
    call = rig_call_task(r, METRICS,
                         IN(",\"limit\":1,\"start\":"
                            "\"2026-11-29T15:00:00.900Z\",\"end\":"
                            "\"2026-11-29T16:00:00.950+01:00\""));
    assert_code(call, EBB_OK);
    assert_int_equal(rig_int(call->result, "metrics.0.memoryUsedBytes"), 3);
    assert_int_equal(rig_int(call->result, "metrics.0.diskTotalBytes"), 7);
    assert_string_equal(rig_text(call->result, "metrics.0.timestamp"),
                        "2026-11-29T15:00:01.000Z");
    assert_int_equal(rig_int(call->result, "page.available"), 2);
    assert_true(rig_bool(call->result, "page.truncated"));
    assert_string_equal(rig_get(r, "GET /sandboxes/i1/metrics", 0)->query,
                        "start=1795964400&end=1795964401");
    rig_call_free(call);
    rig_close(r);
}

static void samples_come_oldest_first_whatever_the_server_does(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/sandboxes/i1/metrics", 200,
           "[" SAMPLE("6") "," SAMPLE("1") "," SAMPLE("3") "]");
    call = rig_call_task(r, METRICS, IN(",\"limit\":2"));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "metrics.0.timestamp"),
                        "2026-11-29T15:00:01.000Z");
    assert_string_equal(rig_text(call->result, "metrics.1.timestamp"),
                        "2026-11-29T15:00:03.000Z");
    assert_int_equal(rig_int(call->result, "page.returned"), 2);
    rig_call_free(call);
    rig_close(r);
}

static void times_are_checked_before_anything_is_sent(void **state)
{
    static const char *const inputs[] = {
        IN(",\"start\":\"yesterday\""),
        IN(",\"end\":\"2026-11-29T15:00:00\""),
        IN(",\"start\":\"2026-11-29T15:00:01Z\","
           "\"end\":\"2026-11-29T15:00:00Z\""),
    };
    rig *r = rig_open();

    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        rig_call *call = rig_call_task(r, METRICS, inputs[i]);
        assert_code(call, EBB_INVALID_INPUT);
        rig_call_free(call);
    }
    assert_int_equal(r->requests_n, 0);
    rig_close(r);
}

static void samples_that_are_none_are_refused(void **state)
{
    static const char *const bodies[] = { "{}", "[{}]", "[1]", "null" };

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        rig *r = rig_open();
        rig_on(r, "GET", "/sandboxes/i1/metrics", 200, bodies[i]);
        rig_call *call = rig_call_task(r, METRICS, IN(""));
        assert_code(call, EBB_PROTOCOL);
        rig_call_free(call);
        rig_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_with_level_and_logger),
        cmocka_unit_test(every_question_is_passed_on),
        cmocka_unit_test(messages_share_the_bytes),
        cmocka_unit_test(the_cursor_leads_on_where_there_may_be_more),
        cmocka_unit_test(logs_that_are_none_are_refused),
        cmocka_unit_test(samples_come_with_their_names),
        cmocka_unit_test(samples_come_oldest_first_whatever_the_server_does),
        cmocka_unit_test(times_are_checked_before_anything_is_sent),
        cmocka_unit_test(samples_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
