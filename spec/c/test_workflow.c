/* SPDX-License-Identifier: MIT */

/* The parts of an open run that need no journal: steps by path, diffs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "workflow/diff.h"
#include "workflow/input.h"
#include "workflow/steps.h"

static ebb_value *parse(const char *json)
{
    ebb_err err = { 0 };
    ebb_value *value = ebb_value_parse(json, strlen(json), 0, &err);

    assert_non_null(value);
    return value;
}

static void a_step_is_found_by_its_path(void **state)
{
    ebb_flow_steps steps = { 0 };
    ebb_err err = { 0 };
    char path[32];

    (void)state;
    assert_null(ebb_flow_steps_find(&steps, "1"));
    for (int i = 0; i < 5000; i++) {
        snprintf(path, sizeof path, "%d.%d/1", i / 7, i % 7);
        assert_non_null(ebb_flow_steps_add(&steps, path, "x", &err));
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(path, sizeof path, "%d.%d/1", i / 7, i % 7);
        assert_ptr_equal(ebb_flow_steps_find(&steps, path), steps.all[i]);
    }
    assert_null(ebb_flow_steps_find(&steps, "1.7/1"));
    ebb_flow_steps_clear(&steps);
    assert_null(ebb_flow_steps_find(&steps, "1.1/1"));
}

static void a_queue_gives_the_first_first(void **state)
{
    ebb_flow_queue queue = { 0 };
    ebb_flow_step a = { 0 }, b = { 0 }, c = { 0 };

    (void)state;
    assert_null(ebb_flow_queue_take(&queue));
    ebb_flow_queue_add(&queue, &a);
    ebb_flow_queue_add(&queue, &b);
    ebb_flow_queue_add(&queue, &c);
    assert_ptr_equal(ebb_flow_queue_take(&queue), &a);
    assert_ptr_equal(ebb_flow_queue_take(&queue), &b);
    ebb_flow_queue_add(&queue, &a);
    assert_ptr_equal(ebb_flow_queue_take(&queue), &c);
    assert_ptr_equal(ebb_flow_queue_take(&queue), &a);
    assert_null(ebb_flow_queue_take(&queue));
}

static void check_diff(const char *was, const char *is, const char *first,
                       size_t count, bool numbers)
{
    ebb_value *a = parse(was), *b = parse(is);
    bool numbers_only = !numbers;
    ebb_value *lines = ebb_diff(a, b, &numbers_only);

    assert_non_null(lines);
    assert_int_equal(ebb_value_size(lines), count);
    if (count > 0)
        assert_string_equal(
            ebb_value_get_string(ebb_value_at(lines, 0), NULL), first);
    assert_int_equal(numbers_only, numbers);
    ebb_value_free(lines);
    ebb_value_free(a);
    ebb_value_free(b);
}

static void a_diff_names_place_and_both_sides(void **state)
{
    (void)state;
    check_diff("{\"a\":1}", "{\"a\":1}", NULL, 0, false);
    check_diff("{\"a\":\"x\"}", "{\"a\":\"y\"}", "a: \"x\" → \"y\"", 1,
               false);
    check_diff("{\"a\":{\"b\":[1,{\"c\":true}]}}",
               "{\"a\":{\"b\":[1,{\"c\":false}]}}",
               "a.b.[2].c: true → false", 1, false);
    check_diff("{\"a\":1}", "{}", "a: 1 → nothing", 1, false);
    check_diff("{}", "{\"a\":1}", "a: nothing → 1", 1, false);
    check_diff("[]", "{}", "input: [] → {}", 1, false);
}

static void numbers_alone_are_told_apart(void **state)
{
    (void)state;
    check_diff("{\"t\":1,\"k\":\"a1b\"}", "{\"t\":2,\"k\":\"a22b\"}",
               "t: 1 → 2", 2, true);
    check_diff("{\"t\":1}", "{\"t\":\"1\"}", "t: 1 → \"1\"", 1, false);
}

static void a_diff_is_small(void **state)
{
    char was[400] = "[", is[400] = "[", item[16];
    ebb_value *a, *b, *lines;
    bool numbers;

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(item, sizeof item, "%s%d", i ? "," : "", i);
        strcat(was, item);
        snprintf(item, sizeof item, "%s%d", i ? "," : "", i + 100);
        strcat(is, item);
    }
    a = parse(strcat(was, "]"));
    b = parse(strcat(is, "]"));
    lines = ebb_diff(a, b, &numbers);
    assert_int_equal(ebb_value_size(lines), EBB_DIFF_LINES_MAX + 1);
    assert_string_equal(
        ebb_value_get_string(ebb_value_at(lines, EBB_DIFF_LINES_MAX), NULL),
        "and 14 more");
    ebb_value_free(lines);
    ebb_value_free(a);
    ebb_value_free(b);
}

/* A cut never falls inside a character: the line is a valid string. */
static void long_sides_are_cut(void **state)
{
    char was[300] = "{\"k\":\"", is[300];
    ebb_value *a, *b, *lines;
    bool numbers;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(was, "é");
    strcpy(is, was);
    a = parse(strcat(was, "a\"}"));
    b = parse(strcat(is, "b\"}"));
    lines = ebb_diff(a, b, &numbers);
    assert_non_null(lines);
    ebb_value_get_string(ebb_value_at(lines, 0), &n);
    assert_in_range(n, 100, 160);
    ebb_value_free(lines);
    ebb_value_free(a);
    ebb_value_free(b);
}

static void an_input_is_kept_without_its_secrets(void **state)
{
    ebb_value *one = parse("{\"b\":1,\"envs\":{\"KEY\":\"s3cret\"}}");
    ebb_value *two = parse("{\"envs\":{\"KEY\":\"other\"},\"b\":1}");
    char first[EBB_SHA256_HEX], second[EBB_SHA256_HEX];
    char *text = ebb_flow_input(one, first);

    (void)state;
    assert_string_equal(text,
                        "{\"b\":1,\"envs\":{\"KEY\":\"(hidden)\"}}");
    ebb_mem_free(text);
    ebb_mem_free(ebb_flow_input(two, second));
    assert_string_not_equal(first, second); /* and yet compared by them */
    text = ebb_flow_input(NULL, first);
    assert_string_equal(text, "null");
    ebb_mem_free(text);
    ebb_value_free(one);
    ebb_value_free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_found_by_its_path),
        cmocka_unit_test(a_queue_gives_the_first_first),
        cmocka_unit_test(a_diff_names_place_and_both_sides),
        cmocka_unit_test(numbers_alone_are_told_apart),
        cmocka_unit_test(a_diff_is_small),
        cmocka_unit_test(long_sides_are_cut),
        cmocka_unit_test(an_input_is_kept_without_its_secrets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
