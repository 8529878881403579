/* SPDX-License-Identifier: MIT */
#include "support/case.h"
#include "support/e2b_boxes.h"

#include "task/retry.h"

static void every_answer_is_judged_by_its_status_first(void **state)
{
    static const struct {
        int status;
        const char *header, *body;
        ebb_code code;
        bool again;
    } cases[] = {
        { 400, NULL, "{\"message\":\"bad\"}", EBB_INVALID_INPUT, false },
        { 401, NULL, "{\"message\":\"no\"}", EBB_UNAUTHORIZED, false },
        { 403, NULL, "", EBB_FORBIDDEN, false },
        { 404, NULL, "<html>", EBB_NOT_FOUND, false },
        { 409, NULL, "[]", EBB_CONFLICT, false },
        { 413, NULL, "", EBB_LIMIT_EXCEEDED, false },
        { 429, NULL, "{\"mess", EBB_RATE_LIMITED, true },
        { 500, NULL, "", EBB_SERVER, true },
        { 502, NULL, "<html>bad gateway</html>", EBB_SERVER, true },
        { 599, NULL, "null", EBB_SERVER, true },
        { 302, NULL, "", EBB_PROTOCOL, true },
        { 200, NULL, "", EBB_PROTOCOL, true },
        { 200, NULL, "null", EBB_PROTOCOL, true },
        { 200, NULL, "[]", EBB_PROTOCOL, true },
        { 200, NULL, "{\"sandboxID\":", EBB_PROTOCOL, true },
        { 200, NULL, BOX("i1", "running", "yesterday"), EBB_PROTOCOL, true },
        { 409, "Should-Retry: true", "{}", EBB_CONFLICT, true },
        { 503, "Should-Retry: false", "{}", EBB_SERVER, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = rig_open();
        rig_add(r, (rig_rule){ .method = "GET",
                               .path = "/sandboxes/i1",
                               .status = cases[i].status,
                               .header = cases[i].header,
                               .body = cases[i].body });
        rig_call *call =
            rig_call_task(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
        assert_null(call->result);
        assert_code(call, cases[i].code);
        assert_int_equal(ebb_retry_helps(&call->err), cases[i].again);
        assert_int_equal(r->requests_n, 1);
        rig_call_free(call);
        rig_close(r);
    }
}

static void long_words_are_quoted_in_part_and_marked(void **state)
{
    static const char *const fills[] = { "x", "\xC3\xA9", "\xE2\x82\xAC",
                                         "\xF0\x9F\x98\x80" };

    (void)state;
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        rig *r = rig_open();
        char body[2100] = "";
        rig_call *call;

        while (strlen(body) < 2000)
            strcat(body, fills[i]);
        rig_add(r, (rig_rule){ .method = "GET",
                               .path = "/sandboxes/i1",
                               .status = 400,
                               .body = body });
        call = rig_call_task(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
        assert_code(call, EBB_INVALID_INPUT);
        if (strstr(call->err.msg, "… (HTTP 400)") == NULL)
            fail_msg("%s", call->err.msg);
        assert_true(strlen(call->err.msg) > 150);
        rig_call_free(call);
        rig_close(r);
    }
}

static void retry_after_counts_where_it_means_something(void **state)
{
    static const struct {
        int status;
        const char *header;
        int64_t ms;
    } cases[] = {
        { 429, "Retry-After: 7", 7000 }, { 503, "Retry-After: 2", 2000 },
        { 429, "Retry-After: soon", 0 }, { 500, "Retry-After: 7", 0 },
        { 403, "Retry-After: 7", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = rig_open();
        rig_add(r, (rig_rule){ .method = "GET",
                               .path = "/sandboxes/i1",
                               .status = cases[i].status,
                               .header = cases[i].header,
                               .body = "{}" });
        rig_call *call =
            rig_call_task(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
        assert_int_equal(call->err.retry_after_ms, cases[i].ms);
        rig_call_free(call);
        rig_close(r);
    }
}

static void the_key_is_never_part_of_a_message(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/sandboxes/i1", 401,
           "{\"message\":\"Invalid API key e2b_cafecafecafe\\n, sorry\"}");
    call = rig_call_task(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
    assert_code(call, EBB_UNAUTHORIZED);
    assert_null(strstr(call->err.msg, "cafecafe"));
    assert_non_null(strstr(call->err.msg, "Invalid API key ***"));
    rig_call_free(call);
    rig_close(r);
}

/* The service repeats what it was sent: key, tokens, values of envs. */
static void no_secret_of_a_call_is_part_of_a_message(void **state)
{
    static const char said[] =
        "{\"message\":\"e2b_cafecafecafe tok-secret-1 tok-secret-2 "
        "env-secret-3 env-secret 4 short\"}";
#define ENVS                                                                   \
    ",\"envs\":{\"A\":\"env-secret-3\",\"B\":\"env-secret\\n4\","              \
    "\"C\":\"short\"}}"
    static const char *const tasks[][3] = {
        { "e2b.runCommand", "/process.Process/Start",
          "{\"sandboxId\":\"i1\",\"command\":\"x\"" ENVS },
        { "e2b.runCode", "/execute",
          "{\"sandboxId\":\"i1\",\"code\":\"x\"" ENVS },
    };
#undef ENVS

    (void)state;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        for (int status = 400; status <= 500; status += 100) {
            rig *r = rig_open();
            rig_call *call;

            rig_on(r, "POST", "/v2/sandboxes/i1/connect", 200,
                   "{\"sandboxID\":\"i1\",\"envdAccessToken\":"
                   "\"tok-secret-1\",\"trafficAccessToken\":"
                   "\"tok-secret-2\"}");
            rig_on(r, "POST", tasks[i][1], status, said);
            call = rig_call_task(r, tasks[i][0], tasks[i][2]);
            assert_int_not_equal(call->err.code, EBB_OK);
            if (strstr(call->err.msg, "*** *** *** *** *** short") == NULL)
                fail_msg("%s: %s", tasks[i][0], call->err.msg);
            rig_call_free(call);
            rig_close(r);
        }
}

static void without_a_key_nothing_is_sent(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    r->api_key = NULL;
    call = rig_call_task(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
    assert_code(call, EBB_MISSING_CREDENTIALS);
    assert_non_null(
        strstr(call->err.msg, "E2B_API_KEY is required for the e2b.* tasks"));
    assert_non_null(strstr(call->err.msg, "--local"));
    rig_call_free(call);
    r->api_key = "e2b_x\r\nX-Evil: 1";
    call = rig_call_task(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
    assert_code(call, EBB_UNAUTHORIZED);
    assert_int_equal(r->requests_n, 0);
    rig_call_free(call);
    rig_close(r);
}

static void an_id_that_cannot_be_one_is_not_sent(void **state)
{
    static const char *const ids[] = { "a/../b", "a\\r\\nX: 1", "i 1",
                                       "\xC3\xA9" };
    rig *r = rig_open();

    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char json[64];
        snprintf(json, sizeof json, "{\"sandboxId\":\"%s\"}", ids[i]);
        rig_call *call = rig_call_task(r, "e2b.getSandbox", json);
        assert_code(call, EBB_INVALID_INPUT);
        rig_call_free(call);
    }
    assert_int_equal(r->requests_n, 0);
    rig_close(r);
}

static void an_answer_of_any_size_is_refused_in_time(void **state)
{
    size_t n = (8u << 20) + 1;
    char *big = malloc(n);
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    memset(big, ' ', n);
    rig_add(r, (rig_rule){ .method = "GET",
                           .path = "/sandboxes/i1",
                           .status = 200,
                           .body = big,
                           .n = n });
    call = rig_call_task(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
    assert_code(call, EBB_LIMIT_EXCEEDED);
    rig_call_free(call);
    rig_close(r);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_answer_is_judged_by_its_status_first, "B10"),
        cmocka_unit_test(long_words_are_quoted_in_part_and_marked),
        cmocka_unit_test(retry_after_counts_where_it_means_something),
        CASE(the_key_is_never_part_of_a_message, "D06"),
        CASE(no_secret_of_a_call_is_part_of_a_message, "D06"),
        cmocka_unit_test(without_a_key_nothing_is_sent),
        cmocka_unit_test(an_id_that_cannot_be_one_is_not_sent),
        CASE(an_answer_of_any_size_is_refused_in_time, "C04"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
