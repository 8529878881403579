/* SPDX-License-Identifier: MIT */
#include "base/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_secret_is_taken_out_wherever_it_stands(void **state)
{
    static const struct {
        const char *text, *secret, *out;
    } cases[] = {
        { "key e2b_cafe is bad", "e2b_cafe", "key *** is bad" },
        { "e2b_cafe", "e2b_cafe", "***" },
        { "e2b_cafee2b_cafe e2b_cafe", "e2b_cafe", "****** ***" },
        { "aaaaaaaaa", "aaaa", "******a" },
        { "one two", "one\ntwo", "***" },
        { "one\ttwo", "one\ttwo", "***" },
        { "cut: e2b_ca", "e2b_cafe", "cut: ***" },
        { "cut: e2b", "e2b_cafe", "cut: e2b" },
        { "e2b_caXX", "e2b_cafe", "e2b_caXX" },
        { "\xC3\xA9t\xC3\xA9 x", "\xC3\xA9t\xC3\xA9", "*** x" },
        { "the yes", "yes", "the yes" },
        { "nothing", "", "nothing" },
        { "nothing", NULL, "nothing" },
        { "", "e2b_cafe", "" },
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%s", cases[i].text);
        ebb_redact(text, cases[i].secret, EBB_REDACT_KEY_BYTES_MIN);
        assert_string_equal(text, cases[i].out);
    }
}

static void a_short_value_of_envs_is_no_secret(void **state)
{
    char text[] = "true is true, production is not";

    (void)state;
    ebb_redact(text, "true", EBB_REDACT_ENV_BYTES_MIN);
    ebb_redact(text, "production", EBB_REDACT_ENV_BYTES_MIN);
    assert_string_equal(text, "true is true, *** is not");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_taken_out_wherever_it_stands),
        cmocka_unit_test(a_short_value_of_envs_is_no_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
