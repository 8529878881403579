/* SPDX-License-Identifier: MIT */
/*
 * The cap of 4,000,000 bytes of JSON on what a task returns: a sandbox or a
 * reading beyond it is refused, what a command wrote is cut.
 */
#include "support/e2b_entries.h"

#include "support/e2b_boxes.h"

#define CAP     4000000
#define KEY_ONE "{\"idempotencyKey\":\"k1\"}"

/* text, count times over, between two others. */
static char *repeated(const char *before, const char *text, size_t count,
                      const char *after)
{
    size_t b = strlen(before), t = strlen(text), a = strlen(after);
    char *out = malloc(b + count * t + a + 1), *at = out;

    assert_non_null(out);
    memcpy(at, before, b);
    at += b;
    for (size_t i = 0; i < count; i++, at += t)
        memcpy(at, text, t);
    memcpy(at, after, a + 1);
    return out;
}

/* A sandbox of the key k1 with n bytes of further metadata. */
static char *box(const char *before, size_t n, const char *after)
{
    static const char head[] = BOX("i1", "running", OLD);
    char start[512], end[16];

    snprintf(start, sizeof start, "%s%.*s,\"more\":\"", before,
             (int)sizeof head - 3, head);
    snprintf(end, sizeof end, "\"}}%s", after);
    return repeated(start, "m", n, end);
}

static void a_sandbox_beyond_the_cap_is_refused_and_named(void **state)
{
    static const struct {
        const char *task, *in, *made; /* made: what a create answers */
        const char *path, *before, *after;
        bool listed;
    } cases[] = {
        { "e2b.getSandbox", "{\"sandboxId\":\"i1\"}", NULL, "/sandboxes/i1", "",
          "", false },
        { "e2b.createSandbox", KEY_ONE, NULL, "/v2/sandboxes", "[", "]", true },
        { "e2b.createSandbox", KEY_ONE, "{\"sandboxID\":\"i1\"}",
          "/sandboxes/i1", "", "", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int large = 0; large < 2; large++) {
            rig *r = rig_open();
            char *body =
                box(cases[i].before, large ? CAP : CAP - 1000, cases[i].after);
            rig_call *call;
            rig_on(r, "GET", cases[i].path, 200, body);
            rig_on(r, "GET", "/v2/sandboxes", 200, "[]");
            rig_on(r, "POST", "/v2/sandboxes", 201, cases[i].made);
            call = rig_call_task(r, cases[i].task, cases[i].in);
            assert_code(call, large ? EBB_LIMIT_EXCEEDED : EBB_OK);
            if (!large)
                assert_in_range(ebb_value_length(call->result), CAP - 1000,
                                CAP);
            else if (cases[i].listed)
                assert_string_equal(rig_text(call->details, "sandboxId"), "i1");
            rig_call_free(call);
            rig_close(r);
            free(body);
        }
    }
}

static void lines_of_logs_beyond_the_cap_are_refused(void **state)
{
    rig *r = rig_open();
    /* A control character costs six bytes of JSON. */
    char *body =
        repeated("{\"logs\":[{\"timestamp\":\"" OLD "\",\"message\":\"",
                 "\\u0001", 700000, "\"}]}");
    rig_call *call;

    (void)state;
    rig_on(r, "GET", "/v2/sandboxes/i1/logs", 200, body);
    call = rig_call_task(r, "e2b.getSandboxLogs",
                         "{\"sandboxId\":\"i1\",\"limit\":1,"
                         "\"maxBytes\":1048576}");
    assert_code(call, EBB_LIMIT_EXCEEDED);
    rig_call_free(call);
    call = rig_call_task(r, "e2b.getSandboxLogs",
                         "{\"sandboxId\":\"i1\",\"limit\":1,"
                         "\"maxBytes\":600000}");
    assert_code(call, EBB_OK);
    assert_int_equal(rig_int(call->result, "logs.0.message.byteCount"), 700000);
    rig_call_free(call);
    rig_close(r);
    free(body);
}

static void a_file_beyond_the_cap_is_refused(void **state)
{
    rig *r = open_with("0.6.13");
    char *bytes = repeated("", "\1", 700000, "");
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = STAT,
                           .status = 200,
                           BODY("\x0a\x0d\x0a\x01"
                                "a"
                                "\x10\x01\x1a\x02/a\x20\xe0\xdc\x2a") });
    rig_on(r, "GET", "/files", 200, bytes);
    call = rig_call_task(r, "e2b.readFile",
                         "{\"sandboxId\":\"i1\",\"path\":\"/a\","
                         "\"maxBytes\":1000000}");
    assert_code(call, EBB_LIMIT_EXCEEDED);
    rig_call_free(call);
    call = rig_call_task(r, "e2b.readFile",
                         "{\"sandboxId\":\"i1\",\"path\":\"/a\","
                         "\"maxBytes\":1000000,\"encoding\":\"base64\"}");
    assert_code(call, EBB_OK);
    rig_call_free(call);
    rig_close(r);
    free(bytes);
}

/* An entry whose name and path are 2,900 bytes each, as no disk has them. */
static void entries_beyond_the_cap_are_refused(void **state)
{
    rig *r = open_with("0.6.13");
    char *name = repeated("", "n", 2900, ""), entry[6000];
    int n = snprintf(entry, sizeof entry,
                     "\x0a\xb1\x2d\x0a\xd4\x16%s\x10\x01\x1a\xd5\x16/%s", name,
                     name);
    char *body = repeated("", entry, 1000, "");
    rig_call *call;

    (void)state;
    assert_int_equal(n, 5812);
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = LIST,
                           .status = 200,
                           .body = body,
                           .n = (size_t)n * 1000 });
    call = rig_call_task(r, "e2b.listFiles",
                         "{\"sandboxId\":\"i1\",\"path\":\"/\","
                         "\"limit\":1000}");
    assert_code(call, EBB_LIMIT_EXCEEDED);
    rig_call_free(call);
    call = rig_call_task(r, "e2b.listFiles",
                         "{\"sandboxId\":\"i1\",\"path\":\"/\","
                         "\"limit\":600}");
    assert_code(call, EBB_OK);
    assert_int_equal(rig_int(call->result, "page.available"), 1000);
    rig_call_free(call);
    rig_close(r);
    free(body);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sandbox_beyond_the_cap_is_refused_and_named),
        cmocka_unit_test(lines_of_logs_beyond_the_cap_are_refused),
        cmocka_unit_test(a_file_beyond_the_cap_is_refused),
        cmocka_unit_test(entries_beyond_the_cap_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
