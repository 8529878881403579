/* SPDX-License-Identifier: MIT */
#include "support/case.h"
#include "support/e2b_boxes.h"

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
        cmocka_unit_test(pausing_what_is_paused_changes_nothing),
        CASE(keeping_the_disk_only_is_said_outright, "B18"),
        cmocka_unit_test(resuming_says_whether_it_was_paused),
        cmocka_unit_test(killing_what_is_gone_changes_nothing),
        cmocka_unit_test(a_cancelled_call_ends_once),
        cmocka_unit_test(every_sandbox_is_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
