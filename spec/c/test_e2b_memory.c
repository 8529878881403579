/* SPDX-License-Identifier: MIT */
/*
 * Each allocation of a call fails in turn, the server's in the same process
 * included: whatever happens, the call ends once, nothing runs twice, and
 * nothing is left allocated.
 */
#include "support/e2b_boxes.h"
#include "support/starving.h"

#define ENOUGH    (1 << 30)
#define TOGETHER  3
#define CONNECTED "{\"sandboxID\":\"i1\",\"envdAccessToken\":\"t\"}"

typedef struct scene {
    const char *task, *input;
    const char *effect; /* the request that must not come twice */
    rig_rule rules[4];  /* beside the connect */
} scene;

static rig *open_scene(const scene *s)
{
    rig *r = rig_open_with((ebb_e2b_config){
        .unary_ms = 300, .stream_first_ms = 300, .transfer_idle_ms = 300 });

    rig_on(r, "POST", "/v2/sandboxes/i1/connect", 200, CONNECTED);
    for (size_t i = 0; s->rules[i].method != NULL; i++)
        rig_add(r, s->rules[i]);
    return r;
}

/*
 * The scene, count calls at once, with the nth allocation failing; true if it
 * came to that one.
 */
static bool play(const scene *s, int count, int nth)
{
    rig_call *calls[TOGETHER];
    starving memory;
    bool reached;
    rig *r;

    starving_start(&memory, ENOUGH);
    memory.once = true;
    r = open_scene(s);
    memory.left = nth;
    for (int i = 0; i < count; i++)
        calls[i] = rig_start(r, s->task, s->input);
    for (int i = 0; i < count; i++)
        rig_run(r, &calls[i]->ended);
    reached = memory.left < 0;
    memory.left = ENOUGH;
    if (s->effect != NULL)
        assert_true(rig_count(r, s->effect) <= count);
    for (int i = 0; i < count; i++) {
        assert_true((calls[i]->result != NULL) ==
                    (calls[i]->err.code == EBB_OK));
        rig_call_free(calls[i]);
    }
    rig_close(r);
    starving_stop();
    if (memory.blocks != 0)
        fail_msg("%s: allocation %d leaks %d", s->task, nth, memory.blocks);
    return reached;
}

#define FRAMES(text) .body = text, .n = sizeof(text) - 1

static const scene scenes[] = {
    { "e2b.createSandbox",
      "{\"idempotencyKey\":\"k1\",\"envs\":{\"A\":\"1\"}}",
      NULL,
      { { .method = "GET",
          .path = "/v2/sandboxes",
          .status = 200,
          .body = "[]" },
        { .method = "POST",
          .path = "/v2/sandboxes",
          .status = 201,
          .body = MADE },
        { .method = "GET",
          .path = "/sandboxes/inew",
          .status = 200,
          .body = BOX("inew", "running", NEW) } } },
    { "e2b.runCommand",
      "{\"sandboxId\":\"i1\",\"command\":\"x\",\"envs\":{\"A\":\"1\"}}",
      "POST /process.Process/Start",
      { { .method = "POST",
          .path = "/process.Process/Start",
          .status = 200,
          FRAMES("\0\0\0\0\x07\x0a\x05\x0a\x03\x08\xd2\x09"
                 "\0\0\0\0\x09\x0a\x07\x12\x05\x0a\x03hi\n"
                 "\0\0\0\0\x17\x0a\x15\x1a\x13\x08\x06\x10\x01\x1a\x0d"
                 "exit status 3\x02\0\0\0\x02{}") } } },
    { "e2b.runCode",
      "{\"sandboxId\":\"i1\",\"code\":\"x\"}",
      "POST /execute",
      { { .method = "POST",
          .path = "/execute",
          .status = 200,
          .body =
              "{\"type\":\"stdout\",\"text\":\"a\"}\n"
              "{\"type\":\"result\",\"text\":\"b\",\"png\":\"AP8=\"}\n"
              "{\"type\":\"error\",\"name\":\"N\",\"value\":\"v\","
              "\"traceback\":\"t\"}\n{\"type\":\"end_of_execution\"}\n" } } },
    { "e2b.writeFiles",
      "{\"sandboxId\":\"i1\",\"files\":[{\"path\":\"a\",\"content\":\"AP8=\","
      "\"encoding\":\"base64\"},{\"path\":\"b\",\"content\":\"x\"}]}",
      "POST /files",
      { { .method = "POST",
          .path = "/files",
          .status = 200,
          .body = "[{},{}]" } } },
    { "e2b.readFile",
      "{\"sandboxId\":\"i1\",\"path\":\"/a\",\"encoding\":\"base64\"}",
      NULL,
      { { .method = "POST",
          .path = "/filesystem.Filesystem/Stat",
          .status = 200,
          FRAMES("\x0a\x0b\x0a\x01"
                 "a"
                 "\x10\x01\x1a\x02/a\x20\x02") },
        { .method = "GET", .path = "/files", .status = 200, .body = "hi" } } },
    { "e2b.listFiles",
      "{\"sandboxId\":\"i1\",\"path\":\"/a\"}",
      NULL,
      { { .method = "POST",
          .path = "/filesystem.Filesystem/ListDir",
          .status = 200,
          FRAMES("\x0a\x0b\x0a\x01"
                 "a"
                 "\x10\x01\x1a\x02/a\x20\x02") } } },
    { "e2b.getSandboxLogs",
      "{\"sandboxId\":\"i1\",\"search\":\"x\"}",
      NULL,
      { { .method = "GET",
          .path = "/v2/sandboxes/i1/logs",
          .status = 200,
          .body = "{\"logs\":[{\"timestamp\":\"2026-11-29T15:00:00Z\","
                  "\"message\":\"m\"}]}" } } },
    { "e2b.getSandboxMetrics",
      "{\"sandboxId\":\"i1\"}",
      NULL,
      { { .method = "GET",
          .path = "/sandboxes/i1/metrics",
          .status = 200,
          .body = "[]" } } },
};

/* Until none fails any more; how many did. */
static int play_all(const scene *s, int count)
{
    int nth = 0;

    while (play(s, count, nth))
        nth++;
    return nth;
}

static void every_allocation_may_fail_once(void **state)
{
    int points = 0;

    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        points += play_all(&scenes[i], 1);
    print_message("%d allocations failed\n", points);
    assert_true(points > 100);
}

static void calls_that_share_a_connect_fail_no_other_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(scenes[i].task, "e2b.listFiles") == 0)
            assert_true(play_all(&scenes[i], TOGETHER) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail_once),
        cmocka_unit_test(calls_that_share_a_connect_fail_no_other_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
