/* SPDX-License-Identifier: MIT */
#include "support/case.h"
#include "support/e2b_boxes.h"

#include "base/digest.h"

#define CREATE   "e2b.createSandbox"
#define KEY_ONLY "{\"idempotencyKey\":\"k1\"}"

static void a_missing_sandbox_is_created_under_the_key(void **state)
{
    rig *r = rig_open();
    char hex[EBB_SHA256_HEX], header[128];
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
    rig_on(r, "POST", "/v2/sandboxes", 201, MADE);
    rig_on(r, "GET", "/sandboxes/inew", 200, BOX("inew", "running", NEW));
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_OK);
    assert_true(rig_bool(call->result, "created"));
    assert_string_equal(rig_text(call->result, "sandboxId"), "inew");
    assert_string_equal(rig_text(call->result, "startedAt"),
                        "2026-11-29T15:00:09.500Z");
    assert_string_equal(r->requests[0].line, "GET /v2/sandboxes");
    assert_string_equal(r->requests[0].query,
                        "metadata=_render_tasks_idempotency_key=k1"
                        "&state=running,paused&limit=100");
    assert_string_equal(r->requests[1].body.bytes,
                        "{\"templateID\":\"code-interpreter-v1\",\"metadata\":"
                        "{\"_render_tasks_idempotency_key\":\"k1\"}}");
    ebb_digest_hex("k1", 2, hex);
    snprintf(header, sizeof header, "idempotency-key: ebb-%.40s-g0\n", hex);
    assert_non_null(strstr(r->requests[1].headers, header));
    assert_non_null(
        strstr(r->requests[1].headers, "x-api-key: e2b_cafecafecafe\n"));
    assert_string_equal(r->requests[2].line, "GET /sandboxes/inew");
    assert_string_equal(r->requests[3].line, "GET /v2/sandboxes");
    assert_int_equal(r->requests_n, 4);
    rig_call_free(call);
    rig_close(r);
}

static void the_filter_is_encoded_in_three_layers(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 500, "{}");
    call =
        rig_call_task(r, CREATE, "{\"idempotencyKey\":\"a b&c=d/\xC3\xA9\"}");
    /* What is left after the HTTP layer has decoded once. */
    assert_string_equal(r->requests[0].query,
                        "metadata=_render_tasks_idempotency_key="
                        "a%2520b%2526c%253Dd%252F%25C3%25A9"
                        "&state=running,paused&limit=100");
    rig_call_free(call);
    rig_close(r);
}

static void what_was_given_is_sent_as_it_was_given(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
    rig_on(r, "POST", "/v2/sandboxes", 201, MADE);
    rig_on(r, "GET", "/sandboxes/inew", 200, BOX("inew", "running", NEW));
    call = rig_call_task(
        r, CREATE,
        "{\"idempotencyKey\":\"k1\",\"template\":\"base\",\"timeoutMs\":61500,"
        "\"metadata\":{\"a\":\"b\",\"_render_tasks_idempotency_key\":\"no\"},"
        "\"envs\":{\"A\":\"1\"},\"allowInternetAccess\":false}");
    assert_code(call, EBB_OK);
    assert_string_equal(
        rig_get(r, "POST /v2/sandboxes", 0)->body.bytes,
        "{\"templateID\":\"base\",\"metadata\":{\"a\":\"b\","
        "\"_render_tasks_idempotency_key\":\"k1\"},\"timeout\":62,"
        "\"envVars\":{\"A\":\"1\"},\"allow_internet_access\":false}");
    rig_call_free(call);
    rig_close(r);
}

static void the_oldest_of_all_pages_is_adopted(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "GET",
                           .path = "/v2/sandboxes",
                           .status = 200,
                           .header = "X-Next-Token: two",
                           .times = 1,
                           .body = "[" BOX("ib", "running", NEW) "]" });
    rig_on(r, "GET", "/v2/sandboxes", 200,
           "[" BOX("id", "running", OLD) "," BOX(
               "ic", "paused",
               OLD) ","
                    "{\"sandboxID\":\"ia\",\"state\":\"running\"}]");
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_OK);
    assert_false(rig_bool(call->result, "created"));
    assert_string_equal(rig_text(call->result, "sandboxId"), "ic");
    assert_string_equal(rig_text(call->result, "status"), "paused");
    assert_non_null(strstr(r->requests[1].query, "nextToken=two"));
    assert_int_equal(r->requests_n, 2);
    rig_call_free(call);
    rig_close(r);
}

static void what_the_filter_let_through_is_looked_at_again(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200,
           "[{\"sandboxID\":\"ix\",\"templateID\":\"t\",\"state\":\"running\","
           "\"startedAt\":\"" OLD "\",\"endAt\":\"" NEW "\",\"metadata\":"
           "{\"_render_tasks_idempotency_key\":\"other\"}}," BOX(
               "iy", "killing", OLD) ",{\"state\":\"running\"},7]");
    rig_on(r, "POST", "/v2/sandboxes", 201, MADE);
    rig_on(r, "GET", "/sandboxes/inew", 200, BOX("inew", "running", NEW));
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "sandboxId"), "inew");
    rig_call_free(call);
    rig_close(r);
}

static void the_younger_of_two_creators_steps_back(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "GET",
                           .path = "/v2/sandboxes",
                           .status = 200,
                           .times = 1,
                           .body = "[]" });
    rig_on(r, "GET", "/v2/sandboxes", 200,
           "[" BOX("inew", "running", NEW) "," BOX("iold", "running", OLD) "]");
    rig_on(r, "POST", "/v2/sandboxes", 201, MADE);
    rig_on(r, "GET", "/sandboxes/inew", 200, BOX("inew", "running", NEW));
    rig_on(r, "DELETE", "/sandboxes/inew", 204, "");
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_OK);
    assert_false(rig_bool(call->result, "created"));
    assert_string_equal(rig_text(call->result, "sandboxId"), "iold");
    assert_int_equal(rig_count(r, "DELETE /sandboxes/inew"), 1);
    assert_int_equal(rig_count(r, "DELETE /sandboxes/iold"), 0);
    rig_call_free(call);
    rig_close(r);
}

static void a_replay_of_a_dead_sandbox_begins_a_generation(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/v2/sandboxes",
                           .status = 201,
                           .times = 2,
                           .body = "{\"sandboxID\":\"idead\"}" });
    rig_on(r, "POST", "/v2/sandboxes", 201, MADE);
    rig_on(r, "GET", "/sandboxes/idead", 404,
           "{\"code\":404,\"message\":\"Sandbox \\\"idead\\\" doesn't "
           "exist\"}");
    rig_on(r, "GET", "/sandboxes/inew", 200, BOX("inew", "running", NEW));
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_OK);
    assert_true(rig_bool(call->result, "created"));
    for (int i = 0; i < 3; i++) {
        char end[8];
        snprintf(end, sizeof end, "-g%d\n", i);
        assert_non_null(
            strstr(rig_get(r, "POST /v2/sandboxes", i)->headers, end));
    }
    rig_call_free(call);
    rig_close(r);
}

static void a_mismatch_is_looked_up_before_the_next_generation(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = "/v2/sandboxes",
                           .status = 422,
                           .times = 1,
                           .body = "{\"code\":422,\"message\":\"m\","
                                   "\"error_code\":"
                                   "\"idempotency_request_mismatch\"}" });
    rig_on(r, "POST", "/v2/sandboxes", 201, MADE);
    rig_on(r, "GET", "/sandboxes/inew", 200, BOX("inew", "running", NEW));
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_OK);
    assert_string_equal(r->requests[2].line, "GET /v2/sandboxes");
    assert_non_null(
        strstr(rig_get(r, "POST /v2/sandboxes", 1)->headers, "-g1\n"));
    rig_call_free(call);
    rig_close(r);
}

static void generations_have_an_end(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
    rig_on(r, "POST", "/v2/sandboxes", 201, "{\"sandboxID\":\"idead\"}");
    rig_on(r, "GET", "/sandboxes/idead", 404,
           "{\"code\":404,\"message\":\"Sandbox doesn't exist\"}");
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_NOT_FOUND);
    assert_int_equal(rig_count(r, "POST /v2/sandboxes"), 101);
    rig_call_free(call);
    rig_close(r);
}

static void a_request_in_progress_is_tried_again(void **state)
{
    static const char *const codes[] = { "idempotency_in_progress",
                                         "idempotency_outcome_unknown" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rig *r = rig_open();
        char body[128];
        snprintf(body, sizeof body,
                 "{\"code\":409,\"message\":\"m\",\"error_code\":\"%s\"}",
                 codes[i]);
        rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
        rig_on(r, "POST", "/v2/sandboxes", 409, body);
        rig_call *call = rig_call_task(r, CREATE, KEY_ONLY);
        assert_code(call, EBB_CONFLICT);
        assert_true(ebb_retry_helps(&call->err));
        rig_call_free(call);
        rig_close(r);
    }
}

static void an_unknown_v2_route_means_v1_from_then_on(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
    rig_on(r, "POST", "/sandboxes", 201, MADE);
    rig_on(r, "GET", "/sandboxes/inew", 200, BOX("inew", "running", NEW));
    for (int i = 0; i < 2; i++) {
        call = rig_call_task(r, CREATE, KEY_ONLY);
        assert_code(call, EBB_OK);
        rig_call_free(call);
    }
    assert_int_equal(rig_count(r, "POST /v2/sandboxes"), 1);
    assert_int_equal(rig_count(r, "POST /sandboxes"), 2);
    assert_string_equal(
        rig_get(r, "POST /sandboxes", 0)->body.bytes,
        "{\"templateID\":\"code-interpreter-v1\",\"metadata\":"
        "{\"_render_tasks_idempotency_key\":\"k1\"},\"timeout\":300,"
        "\"secure\":true}");
    rig_close(r);
}

static void a_missing_template_is_no_missing_route(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
    rig_on(r, "POST", "/v2/sandboxes", 404,
           "{\"code\":404,\"message\":\"template 'x' not found\"}");
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_NOT_FOUND);
    assert_int_equal(rig_count(r, "POST /sandboxes"), 0);
    rig_call_free(call);
    rig_close(r);
}

static void a_list_without_end_is_given_up(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "GET",
                           .path = "/v2/sandboxes",
                           .status = 200,
                           .header = "X-Next-Token: same",
                           .body = "[]" });
    call = rig_call_task(r, CREATE, KEY_ONLY);
    assert_code(call, EBB_PROTOCOL);
    assert_int_equal(r->requests_n, 2);
    rig_call_free(call);
    rig_close(r);
}

static void a_long_key_is_no_part_of_the_url(void **state)
{
    char json[11000] = "{\"idempotencyKey\":\"";
    rig *r = rig_open();
    size_t n = strlen(json);
    rig_call *call;

    (void)state;
    memset(json + n, 'K', 10000);
    strcpy(json + n + 10000, "\"}");
    rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
    rig_on(r, "POST", "/v2/sandboxes", 500, "{}");
    call = rig_call_task(r, CREATE, json);
    assert_code(call, EBB_SERVER);
    assert_string_equal(r->requests[0].query, "state=running,paused&limit=100");
    rig_call_free(call);
    rig_close(r);
}

static void envs_are_checked_before_anything_is_sent(void **state)
{
    static const struct {
        const char *name;
        size_t bytes; /* of its value */
        ebb_code code;
    } cases[] = {
        { "A=B", 1, EBB_INVALID_INPUT },
        { "", 1, EBB_INVALID_INPUT },
        { "A", (1 << 20) - 2, EBB_LIMIT_EXCEEDED }, /* A= and a NUL */
        { "A", (1 << 20) - 3, EBB_SERVER },         /* it was sent */
    };
    char *json = malloc((1 << 20) + 200);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = rig_open();
        rig_call *call;
        size_t n = (size_t)sprintf(
            json, "{\"idempotencyKey\":\"k1\",\"envs\":{\"%s\":\"",
            cases[i].name);
        memset(json + n, 'x', cases[i].bytes);
        strcpy(json + n + cases[i].bytes, "\"}}");
        rig_on(r, "GET", "/v2/sandboxes", 500, "{}");
        call = rig_call_task(r, CREATE, json);
        assert_code(call, cases[i].code);
        assert_int_equal(r->requests_n, cases[i].code == EBB_SERVER);
        if (cases[i].code != EBB_SERVER)
            assert_non_null(strstr(call->err.msg, "e2b.createSandbox: envs: "));
        rig_call_free(call);
        rig_close(r);
    }
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(envs_are_checked_before_anything_is_sent),
        cmocka_unit_test(a_missing_sandbox_is_created_under_the_key),
        cmocka_unit_test(the_filter_is_encoded_in_three_layers),
        CASE(what_was_given_is_sent_as_it_was_given, "B18"),
        cmocka_unit_test(the_oldest_of_all_pages_is_adopted),
        cmocka_unit_test(what_the_filter_let_through_is_looked_at_again),
        cmocka_unit_test(the_younger_of_two_creators_steps_back),
        cmocka_unit_test(a_replay_of_a_dead_sandbox_begins_a_generation),
        cmocka_unit_test(a_mismatch_is_looked_up_before_the_next_generation),
        cmocka_unit_test(generations_have_an_end),
        cmocka_unit_test(a_request_in_progress_is_tried_again),
        cmocka_unit_test(an_unknown_v2_route_means_v1_from_then_on),
        cmocka_unit_test(a_missing_template_is_no_missing_route),
        cmocka_unit_test(a_list_without_end_is_given_up),
        cmocka_unit_test(a_long_key_is_no_part_of_the_url),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
