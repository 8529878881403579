/* SPDX-License-Identifier: MIT */
#include "support/e2b_rig.h"

#include "base/digest.h"

#define BOX(id, state, started)                                                \
    "{\"sandboxID\":\"" id "\",\"templateID\":\"t\",\"state\":\"" state        \
    "\",\"startedAt\":\"" started "\",\"endAt\":\"2026-11-29T16:00:00Z\","     \
    "\"metadata\":{\"_render_tasks_idempotency_key\":\"k1\"}}"
#define MADE     "{\"sandboxID\":\"inew\",\"templateID\":\"t\"}"
#define OLD      "2026-11-29T15:00:00Z"
#define NEW      "2026-11-29T15:00:09.5Z"
#define CREATE   "e2b.createSandbox"
#define KEY_ONLY "{\"idempotencyKey\":\"k1\"}"

/* ---- createSandbox ---- */

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

/* ---- the others ---- */

static void pausing_what_is_paused_changes_nothing(void **state)
{
    static const struct {
        int status;
        const char *box;
        ebb_code code;
        bool changed;
    } cases[] = {
        { 204, NULL, EBB_OK, true },
        { 409, BOX("i1", "paused", OLD), EBB_OK, false },
        { 409, BOX("i1", "running", OLD), EBB_CONFLICT, false },
        { 404, NULL, EBB_NOT_FOUND, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig *r = rig_open();
        rig_on(r, "POST", "/sandboxes/i1/pause", cases[i].status,
               "{\"code\":0,\"message\":\"Sandbox i1 m\"}");
        if (cases[i].status == 204)
            r->rules[0].body = "";
        if (cases[i].box != NULL)
            rig_on(r, "GET", "/sandboxes/i1", 200, cases[i].box);
        rig_call *call =
            rig_call_task(r, "e2b.pauseSandbox", "{\"sandboxId\":\"i1\"}");
        assert_code(call, cases[i].code);
        assert_int_equal(rig_bool(call->result, "changed"), cases[i].changed);
        assert_string_equal(r->requests[0].body.bytes, "{}");
        rig_call_free(call);
        rig_close(r);
    }
}

static void keeping_the_disk_only_is_said_outright(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "POST", "/sandboxes/i1/pause", 204, "");
    call = rig_call_task(r, "e2b.pauseSandbox",
                         "{\"sandboxId\":\"i1\",\"keepMemory\":false}");
    assert_code(call, EBB_OK);
    assert_string_equal(r->requests[0].body.bytes, "{\"memory\":false}");
    rig_call_free(call);
    rig_close(r);
}

static void resuming_says_whether_it_was_paused(void **state)
{
    (void)state;
    for (int status = 200; status <= 201; status++) {
        rig *r = rig_open();
        rig_on(r, "POST", "/v2/sandboxes/i1/connect", status, MADE);
        rig_call *call =
            rig_call_task(r, "e2b.resumeSandbox", "{\"sandboxId\":\"i1\"}");
        assert_code(call, EBB_OK);
        assert_int_equal(rig_bool(call->result, "changed"), status == 201);
        assert_string_equal(r->requests[0].body.bytes, "{}");
        rig_call_free(call);
        call = rig_call_task(r, "e2b.resumeSandbox",
                             "{\"sandboxId\":\"i1\",\"timeoutMs\":1001}");
        assert_string_equal(r->requests[1].body.bytes, "{\"timeout\":2}");
        rig_call_free(call);
        rig_close(r);
    }
}

static void killing_what_is_gone_changes_nothing(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_on(r, "DELETE", "/sandboxes/i1", 204, "");
    call = rig_call_task(r, "e2b.killSandbox", "{\"sandboxId\":\"i1\"}");
    assert_true(rig_bool(call->result, "changed"));
    rig_call_free(call);
    call = rig_call_task(r, "e2b.killSandbox", "{\"sandboxId\":\"i2\"}");
    assert_code(call, EBB_OK);
    assert_false(rig_bool(call->result, "changed"));
    assert_string_equal(rig_text(call->result, "status"), "killed");
    rig_call_free(call);
    rig_close(r);
}

/* ---- errors ---- */

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

static void a_cancelled_call_ends_once(void **state)
{
    rig *r = rig_open();
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "GET",
                           .path = "/sandboxes/i1",
                           .status = 200,
                           .how = RIG_HOLD });
    call = rig_start(r, "e2b.getSandbox", "{\"sandboxId\":\"i1\"}");
    rig_turn(r, 30);
    assert_false(call->ended);
    call->attempt.cancel(&call->attempt);
    assert_true(call->ended);
    assert_code(call, EBB_CANCELLED);
    rig_call_free(call);
    rig_close(r);
}

typedef struct listed {
    bool ended;
    ebb_value *sandboxes;
    ebb_err err;
} listed;

static void take_list(void *context, ebb_value *sandboxes, const ebb_err *err)
{
    listed *l = context;

    l->ended = true;
    l->sandboxes = sandboxes;
    if (err != NULL)
        l->err = *err;
}

static void every_sandbox_is_listed(void **state)
{
    rig *r = rig_open();
    listed l = { 0 };

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes", 200,
           "[" BOX("i1", "running", OLD) "," BOX("i2", "paused", OLD) "]");
    ebb_e2b_list(r->e2b, take_list, &l);
    rig_run(r, &l.ended);
    assert_int_equal(ebb_value_size(l.sandboxes), 2);
    assert_string_equal(rig_text(l.sandboxes, "1.sandboxId"), "i2");
    ebb_value_free(l.sandboxes);
    rig_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_sandbox_is_created_under_the_key),
        cmocka_unit_test(the_filter_is_encoded_in_three_layers),
        cmocka_unit_test(what_was_given_is_sent_as_it_was_given),
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
        cmocka_unit_test(pausing_what_is_paused_changes_nothing),
        cmocka_unit_test(keeping_the_disk_only_is_said_outright),
        cmocka_unit_test(resuming_says_whether_it_was_paused),
        cmocka_unit_test(killing_what_is_gone_changes_nothing),
        cmocka_unit_test(every_answer_is_judged_by_its_status_first),
        cmocka_unit_test(retry_after_counts_where_it_means_something),
        cmocka_unit_test(the_key_is_never_part_of_a_message),
        cmocka_unit_test(without_a_key_nothing_is_sent),
        cmocka_unit_test(an_id_that_cannot_be_one_is_not_sent),
        cmocka_unit_test(an_answer_of_any_size_is_refused_in_time),
        cmocka_unit_test(a_cancelled_call_ends_once),
        cmocka_unit_test(every_sandbox_is_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
