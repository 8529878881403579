/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/service/interpreter/language.h"

static void finds_a_language_by_any_of_its_names(void **state)
{
    (void)state;
    assert_string_equal(ebb_language_find(" Python\n")->name, "python");
    assert_string_equal(ebb_language_find("JS")->name, "javascript");
    assert_string_equal(ebb_language_find("ts")->name, "typescript");
    assert_string_equal(ebb_language_find("bash")->name, "bash");
    assert_string_equal(ebb_language_find("R")->name, "r");
    assert_string_equal(ebb_language_find("java")->name, "java");
    assert_null(ebb_language_find("cobol"));
    assert_null(ebb_language_find(""));
    assert_null(ebb_language_find("python bash"));
    assert_null(ebb_language_find("pythonx"));
}

static void puts_driver_and_nonce_into_the_command(void **state)
{
    (void)state;
    const char *args[EBB_LANGUAGE_ARGS_MAX];
    ebb_language_command(ebb_language_find("python"), "text", "n", args);
    assert_string_equal(args[0], "/usr/bin/python3");
    assert_string_equal(args[5], "text");
    assert_string_equal(args[6], "n");
    assert_null(args[7]);
}

static void quotes_code_for_the_shell(void **state)
{
    (void)state;
    ebb_buf out;
    ebb_err err;
    ebb_value *code = ebb_value_text("echo 'a'\n");
    ebb_value *env = ebb_value_object();
    ebb_buf_init(&out, 0);
    ebb_value_set(env, "K", ebb_value_text("it's"));
    assert_int_equal(ebb_language_write_run(ebb_language_find("bash"), 7, code,
                                            env, &out, &err),
                     0);
    assert_string_equal(out.bytes,
                        "__ebb_go 7; K='it'\\''s' eval 'echo '\\''a'\\''\n'"
                        " </dev/null; __ebb_say\n");
    ebb_buf_clear(&out);
    ebb_value_free(code);
    ebb_value_free(env);
}

static void writes_a_line_of_json_for_the_others(void **state)
{
    (void)state;
    ebb_buf out;
    ebb_err err;
    ebb_value *code = ebb_value_string("a\0\nb", 4);
    ebb_buf_init(&out, 0);
    assert_int_equal(ebb_language_write_run(ebb_language_find("python"), 7,
                                            code, NULL, &out, &err),
                     0);
    assert_string_equal(out.bytes, "{\"id\":7,\"code\":\"a\\u0000\\nb\"}\n");
    ebb_buf_clear(&out);
    ebb_value_free(code);
}

static void refuses_a_request_past_the_buffer(void **state)
{
    (void)state;
    ebb_buf out;
    ebb_err err = { 0 };
    ebb_value *code = ebb_value_text("0123456789");
    ebb_buf_init(&out, 10);
    assert_int_equal(ebb_language_write_run(ebb_language_find("bash"), 7, code,
                                            NULL, &out, &err),
                     -1);
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    ebb_buf_clear(&out);
    ebb_value_free(code);
}

static void refuses_what_a_shell_cannot_take(void **state)
{
    (void)state;
    const ebb_language *bash = ebb_language_find("bash");
    const ebb_language *python = ebb_language_find("python");
    ebb_value *nul = ebb_value_string("a\0b", 3);
    ebb_value *code = ebb_value_text("x");
    ebb_value *env = ebb_value_object();
    assert_non_null(ebb_language_refuses(bash, nul, NULL));
    assert_null(ebb_language_refuses(python, nul, NULL));
    ebb_value_set(env, "a-b", ebb_value_text("x"));
    assert_non_null(ebb_language_refuses(bash, code, env));
    assert_null(ebb_language_refuses(python, code, env));
    ebb_value_set(env, "a=b", ebb_value_text("x"));
    assert_non_null(ebb_language_refuses(python, code, env));
    ebb_value_del(env, "a=b");
    ebb_value_set(env, "c", ebb_value_int(1));
    assert_non_null(ebb_language_refuses(python, code, env));
    ebb_value_free(nul);
    ebb_value_free(code);
    ebb_value_free(env);
}

static void names_a_driver_that_is_not_there(void **state)
{
    (void)state;
    ebb_buf out;
    ebb_err err = { 0 };
    ebb_buf_init(&out, 0);
    setenv("EBB_LIBEXEC", "/nonexistent", 1);
    assert_int_equal(
        ebb_language_driver(ebb_language_find("python"), &out, &err), -1);
    assert_non_null(strstr(err.msg, "/nonexistent/python.py"));
    setenv("EBB_LIBEXEC", "runtime/sandbox/drivers", 1);
    assert_int_equal(
        ebb_language_driver(ebb_language_find("python"), &out, &err), 0);
    assert_non_null(strstr(out.bytes, "SPDX"));
    ebb_buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_language_by_any_of_its_names),
        cmocka_unit_test(puts_driver_and_nonce_into_the_command),
        cmocka_unit_test(quotes_code_for_the_shell),
        cmocka_unit_test(writes_a_line_of_json_for_the_others),
        cmocka_unit_test(refuses_a_request_past_the_buffer),
        cmocka_unit_test(refuses_what_a_shell_cannot_take),
        cmocka_unit_test(names_a_driver_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
