/* SPDX-License-Identifier: MIT */
#include "task/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static const ebb_field fields[] = {
    { .name = "path",
      .type = EBB_FIELD_STRING,
      .flags = EBB_FIELD_REQUIRED,
      .help = "where" },
};

static ebb_registry *with(const char *const *names, size_t n)
{
    ebb_err err = { 0 };
    ebb_registry *registry = ebb_registry_new(&err);

    assert_non_null(registry);
    for (size_t i = 0; i < n; i++) {
        ebb_task task = { .name = names[i],
                          .retry_class = EBB_RETRY_READ,
                          .fields = fields,
                          .fields_count = 1 };
        assert_int_equal(ebb_registry_add(registry, &task, &err), 0);
    }
    return registry;
}

static void tasks_are_found_by_name_and_kept_in_order(void **state)
{
    static const char *const names[] = { "e2b.readFile", "e2b.runCode",
                                         "mine" };
    ebb_registry *registry = with(names, 3);

    (void)state;
    assert_int_equal(ebb_registry_count(registry), 3);
    assert_string_equal(ebb_registry_at(registry, 1)->name, "e2b.runCode");
    assert_null(ebb_registry_at(registry, 3));
    assert_string_equal(ebb_registry_find(registry, "mine")->name, "mine");
    assert_null(ebb_registry_find(registry, "runCode"));
    ebb_registry_free(registry);
}

static void a_name_is_taken_once(void **state)
{
    static const char *const names[] = { "a" };
    ebb_registry *registry = with(names, 1);
    ebb_task task = { .name = "a" };
    ebb_err err = { 0 };

    (void)state;
    assert_int_equal(ebb_registry_add(registry, &task, &err), -1);
    assert_int_equal(err.code, EBB_CONFLICT);
    assert_int_equal(ebb_registry_count(registry), 1);
    ebb_registry_free(registry);
}

static void there_is_a_bound_on_tasks(void **state)
{
    static char names[4097][8];
    ebb_err err = { 0 };
    ebb_registry *registry = ebb_registry_new(&err);

    (void)state;
    for (int i = 0; i < 4097; i++) {
        ebb_task task = { .name = names[i] };
        snprintf(names[i], sizeof names[i], "t%d", i);
        if (i < 4096)
            assert_int_equal(ebb_registry_add(registry, &task, &err), 0);
        else
            assert_int_equal(ebb_registry_add(registry, &task, &err), -1);
    }
    assert_int_equal(err.code, EBB_LIMIT_EXCEEDED);
    ebb_registry_free(registry);
}

static void an_unknown_name_is_answered_with_the_nearest(void **state)
{
    static const char *const names[] = { "e2b.readFile", "e2b.runCode" };
    ebb_registry *registry = with(names, 2);
    ebb_err err = { 0 };

    (void)state;
    assert_int_equal(ebb_registry_unknown(registry, "e2b.runcoed", &err), -1);
    assert_int_equal(err.code, EBB_NOT_FOUND);
    assert_non_null(strstr(err.msg, "did you mean e2b.runCode?"));
    ebb_registry_unknown(registry, "readFile", &err);
    assert_non_null(strstr(err.msg, "did you mean e2b.readFile?"));
    ebb_registry_unknown(registry, "somethingElse", &err);
    assert_null(strstr(err.msg, "did you mean"));
    ebb_registry_unknown(registry, "e2b.nope", &err);
    assert_null(strstr(err.msg, "did you mean"));
    ebb_registry_free(registry);
}

static void a_description_says_class_attempts_and_fields(void **state)
{
    static const char *const names[] = { "e2b.readFile" };
    ebb_registry *registry = with(names, 1);
    ebb_value *all = ebb_registry_describe(registry);
    char *text = ebb_value_write(all, EBB_WRITE_COMPACT, NULL);

    (void)state;
    assert_string_equal(
        text, "[{\"name\":\"e2b.readFile\",\"class\":\"read\",\"attempts\":4,"
              "\"help\":\"\",\"fields\":[{\"name\":\"path\",\"type\":"
              "\"string\",\"required\":true,\"help\":\"where\"}]}]");
    ebb_mem_free(text);
    ebb_value_free(all);
    ebb_registry_free(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_found_by_name_and_kept_in_order),
        cmocka_unit_test(a_name_is_taken_once),
        cmocka_unit_test(there_is_a_bound_on_tasks),
        cmocka_unit_test(an_unknown_name_is_answered_with_the_nearest),
        cmocka_unit_test(a_description_says_class_attempts_and_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
