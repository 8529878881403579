/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "support/box_rig.h"

static void a_command_says_hello(void **state)
{
    rig *r = *state;

    assert_int_equal(rig_run(r, "echo hello; echo trouble >&2; exit 3"), 3);
    assert_string_equal(rig_out(r), "hello\n");
    assert_string_equal(rig_errors(r), "trouble\n");
}

int main(void)
{
#define BOX_TEST(name) \
    cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        BOX_TEST(a_command_says_hello),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
