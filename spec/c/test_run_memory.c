/* SPDX-License-Identifier: MIT */

/*
 * A run with each of its allocations failing in turn: it ends with an error
 * that says so, or is interrupted; nothing is executed twice, and with memory
 * again the same run goes on to its end.
 */

#include "support/run_rig.h"

#include <stdatomic.h>

#define ALLOCATIONS_MAX 2000
#define TURNS_MAX 400

/* The journal's thread allocates, too. */
static atomic_int left, failed;

static void *resize(void *context, void *block, size_t size)
{
    (void)context;
    if (size == 0) {
        free(block);
        return NULL;
    }
    if (atomic_fetch_sub(&left, 1) == 0) {
        atomic_fetch_add(&failed, 1);
        return NULL;
    }
    return realloc(block, size);
}

static void wait_if_asked(rig *r, const rig_answer *answer, bool asked)
{
    for (int i = 0; asked && i < TURNS_MAX && !answer->ended; i++)
        rig_turn(r);
    if (asked)
        assert_true(answer->ended); /* an answer comes in any case */
}

static void take_call(rig *r, const ebb_value *input)
{
    rig_answer answer = { 0 };
    ebb_err err = { 0 };
    bool asked = ebb_start_step(r->run, "1", "test.none", input, rig_done,
                                &answer, &err) != NULL;

    wait_if_asked(r, &answer, asked);
    ebb_value_free(answer.out);
}

static void take_step(rig *r, const ebb_value *result)
{
    ebb_step_config config = { .path = "2", .name = "mine" };
    rig_answer answer = { 0 }, end = { 0 };
    ebb_err err = { 0 };
    bool asked = ebb_step_begin(r->run, &config, rig_step_done, &answer,
                                &err) != NULL;

    wait_if_asked(r, &answer, asked);
    ebb_value_free(answer.out);
    if (answer.step == NULL)
        return;
    ebb_step_end(answer.step, result, NULL, rig_ended, &end);
    wait_if_asked(r, &end, true);
}

/* The "script", as far as memory allows; true: it came to its end. */
static bool execute(rig *r, const char *id, const ebb_value *value)
{
    ebb_run_config config;
    rig_answer end = { 0 };
    ebb_err err = { 0 };
    bool asked, done;

    ebb_run_config_init(&config);
    config.id = id;
    r->run = ebb_run_open(r->rt, &config, &err);
    if (r->run == NULL)
        return false;
    take_call(r, value);
    take_step(r, value);
    asked = ebb_run_end(r->run, EBB_RUN_DONE, value, rig_ended, &end, &err) ==
            0;
    wait_if_asked(r, &end, asked);
    done = asked && end.err.code == EBB_OK;
    ebb_run_close(r->run);
    r->run = NULL;
    return done;
}

static void a_run_survives_each_failing_allocation(void **state)
{
    const ebb_allocator allocator = { resize, NULL };
    rig *r = *state;
    ebb_err err = { 0 };
    ebb_value *value;
    char id[32];
    bool whole = false;
    int n = 0;

    atomic_store(&left, -1);
    ebb_mem_set(&allocator);
    value = ebb_value_parse("{\"n\":1}", 7, 0, &err);
    rig_open(r);
    execute(r, "first", value); /* the journal is open */
    do {
        assert_true(n < ALLOCATIONS_MAX);
        snprintf(id, sizeof id, "m%d", n);
        r->executed[1] = 0;
        atomic_store(&failed, 0);
        atomic_store(&left, n++);
        whole = execute(r, id, value);
        atomic_store(&left, -1);
        assert_in_range(r->executed[1], 0, 1);
        execute(r, id, value);
        assert_in_range(r->executed[1], 0, 1);
    } while (atomic_load(&failed) > 0);
    assert_true(whole);
    assert_int_equal(r->executed[1], 1);
    printf("%d allocations failed, each in its turn\n", n - 1);
    ebb_value_free(value);
    rig_close(r);
    ebb_mem_set(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_run_survives_each_failing_allocation, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
