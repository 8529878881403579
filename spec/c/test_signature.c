/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/signature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static void check(const ebb_signature *signature, const char *expected)
{
    char out[EBB_SIGNATURE_BYTES];
    ebb_err err;

    assert_int_equal(ebb_signature_write(signature, out, &err), 0);
    assert_string_equal(out, expected);
    assert_true(ebb_signature_matches(signature, expected));
}

/* URLs that both official SDKs made. */
static void signs_as_the_official_sdks_do(void **state)
{
    ebb_signature read = {
        .path = "/x y.txt", .op = "read", .user = "root", .token = "tok_envd"
    };
    ebb_signature write = {
        .path = "", .op = "write", .user = "", .token = "tok_envd"
    };

    (void)state;
    check(&read, "v1_dhBZOOvpsCvXzmt+r90Z/pMzIO1WPJ/EMfj+RNzqTsc");
    check(&write, "v1_7YxEn2BBfU4S7jQn6ymZ9SvudkE+HTip5NFzNueIaSA");
}

/* Requests that a real envd took. */
static void covers_the_user_and_the_expiry(void **state)
{
    ebb_signature s = { .path = "/home/user/t.txt",
                        .op = "read",
                        .user = "",
                        .token = "tok_envd" };

    (void)state;
    check(&s, "v1_x27I1Inf+6Hdy7AWNQ7UOk1P/2qYi2LGVTwwE90RtKg");
    s.user = "user";
    check(&s, "v1_+au9SEcfX16teWFGdVvuDDKHJtm4x+MY5JMHna0OtL8");
    s.user = "";
    s.expires = true;
    s.expiry_s = 4102444800;
    check(&s, "v1_zXtbf2L4R6X0e6hcKJtJ5r6oGp7RgcL2f0EBen9dnJc");
}

static void refuses_every_other_text(void **state)
{
    ebb_signature s = { .path = "/home/user/t.txt",
                        .op = "read",
                        .user = "",
                        .token = "tok_envd" };

    (void)state;
    assert_false(ebb_signature_matches(&s, ""));
    assert_false(ebb_signature_matches(&s, "v1_bad"));
    assert_false(ebb_signature_matches(
        &s, "v1_x27I1Inf+6Hdy7AWNQ7UOk1P/2qYi2LGVTwwE90RtKh"));
    /* Of the write; and the right one with the padding left on. */
    assert_false(ebb_signature_matches(
        &s, "v1_ekhqHX5mK2dnH65k7JBkreogfQAeIUXwf/hzEltqAZU"));
    assert_false(ebb_signature_matches(
        &s, "v1_x27I1Inf+6Hdy7AWNQ7UOk1P/2qYi2LGVTwwE90RtKg="));
}

static void a_path_longer_than_any_head_is_refused(void **state)
{
    ebb_signature s = { .op = "read", .user = "", .token = "t" };
    char out[EBB_SIGNATURE_BYTES];
    char *path = ebb_mem_alloc(200001);
    ebb_err err;

    (void)state;
    assert_non_null(path);
    memset(path, 'a', 200000);
    path[200000] = '\0';
    s.path = path;
    assert_int_equal(ebb_signature_write(&s, out, &err), -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    assert_false(ebb_signature_matches(&s, "v1_"));
    ebb_mem_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_as_the_official_sdks_do),
        cmocka_unit_test(covers_the_user_and_the_expiry),
        cmocka_unit_test(refuses_every_other_text),
        cmocka_unit_test(a_path_longer_than_any_head_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
