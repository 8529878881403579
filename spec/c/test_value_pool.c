/* SPDX-License-Identifier: MIT */
#include "base/value_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/starving.h"
#include "support/value_text.h"

static const char text[] =
    "{\"list\":[1,2.5,\"text\",[\"deep\"],{\"a\":\"b\"}],\"empty\":{},"
    "\"a key that is longer than a member\":null,\"yes\":true,\"five\":5}";

static void what_is_parsed_can_be_changed_everywhere(void **state)
{
    ebb_value *value = parse(text), *list = ebb_value_find(value, "list");

    (void)state;
    assert_int_equal(ebb_value_add(list, ebb_value_text("own block")), 0);
    assert_int_equal(ebb_value_add(ebb_value_at(list, 3), parse("[1,[2]]")), 0);
    assert_int_equal(
        ebb_value_set(ebb_value_at(list, 4), "a", ebb_value_text("c")), 0);
    for (char key[] = "a"; *key <= 'z'; (*key)++)
        assert_int_equal(ebb_value_set(ebb_value_find(value, "empty"), key,
                                       ebb_value_int(*key - 'a')),
                         0);
    assert_int_equal(ebb_value_del(value, "a key that is longer than a member"),
                     0);
    assert_int_equal(ebb_value_del(value, "five"), 0);
    assert_int_equal(ebb_value_find_int(ebb_value_find(value, "empty"), "z", 0),
                     25);
    assert_int_equal(ebb_value_del(value, "empty"), 0);
    assert_written(value, EBB_WRITE_COMPACT,
                   "{\"list\":[1,2.5,\"text\",[\"deep\",[1,[2]]],{\"a\":\"c\"},"
                   "\"own block\"],\"yes\":true}");
}

static void a_copy_has_nothing_of_the_pool(void **state)
{
    ebb_value *value = parse(text), *copy = ebb_value_copy(value);
    ebb_value *leaf =
        ebb_value_copy(ebb_value_at(ebb_value_find(value, "list"), 2));

    (void)state;
    assert_true(ebb_value_equal(value, copy));
    ebb_value_free(value);
    assert_string_equal(ebb_value_get_string(leaf, NULL), "text");
    ebb_value_free(leaf);
    assert_written(copy, EBB_WRITE_COMPACT, text);
}

static void a_parsed_value_moves_into_another(void **state)
{
    ebb_value *outer = parse("{\"a\":[]}");

    (void)state;
    assert_int_equal(ebb_value_add(ebb_value_find(outer, "a"), parse(text)), 0);
    assert_int_equal(ebb_value_add(ebb_value_find(outer, "a"), parse("[1]")),
                     0);
    assert_int_equal(ebb_value_set(outer, "a", ebb_value_null()), 0);
    assert_written(outer, EBB_WRITE_COMPACT, "{\"a\":null}");
}

/* Long strings and many: more than a chunk holds, and of any length. */
static ebb_value *make_list(int count)
{
    ebb_value *list = ebb_value_array();
    ebb_pool *pool = list != NULL ? ebb_value_pool(list) : NULL;
    bool failed = pool == NULL;
    static char bytes[200000];

    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < count && !failed; i++) {
        size_t n = i % 97 == 96 ? sizeof bytes : (size_t)i;
        ebb_value *entry = ebb_pool_object(pool);

        failed =
            ebb_value_add(list, entry) != 0 ||
            ebb_value_set(entry, "text", ebb_pool_string(pool, bytes, n)) ||
            ebb_value_set(entry, "n", ebb_pool_int(pool, (int64_t)n)) ||
            ebb_value_set(entry, "half", ebb_pool_float(pool, i + 0.5)) ||
            ebb_value_set(entry, "list", ebb_pool_array(pool)) != 0;
    }
    if (!failed)
        return list;
    ebb_value_free(list);
    return NULL;
}

static void a_pool_holds_values_of_any_size(void **state)
{
    ebb_value *list = make_list(1000);

    (void)state;
    assert_non_null(list);
    for (size_t i = 0; i < 1000; i++) {
        const ebb_value *entry = ebb_value_at(list, i);
        size_t n;

        assert_non_null(
            ebb_value_get_string(ebb_value_find(entry, "text"), &n));
        assert_int_equal(n, ebb_value_find_int(entry, "n", -1));
        assert_int_equal(ebb_value_size(ebb_value_find(entry, "list")), 0);
        assert_true(ebb_value_get_float(ebb_value_find(entry, "half")) ==
                    (double)i + 0.5);
    }
    ebb_value_free(list);
}

static void an_object_has_one_too_and_each_only_one(void **state)
{
    ebb_value *object = ebb_value_object();
    ebb_pool *pool = ebb_value_pool(object);

    (void)state;
    assert_non_null(pool);
    assert_ptr_equal(ebb_value_pool(object), pool);
    assert_null(ebb_pool_string(pool, "\xFF", 1));
    for (char key[] = "a"; *key <= 'z'; (*key)++)
        assert_int_equal(
            ebb_value_set(object, key, ebb_pool_string(pool, key, 1)), 0);
    assert_ptr_equal(ebb_value_pool(object), pool);
    assert_string_equal(ebb_value_find_string(object, "q"), "q");
    ebb_value_free(object);
}

static void an_object_comes_with_its_members(void **state)
{
    static const char *const keys[] = { "a", "a key of its own block",
                                        "c", "d",
                                        "e", "f" };
    ebb_value *members[6];
    starving s;

    (void)state;
    for (int left = 0; left < 20; left++) {
        ebb_value *object;

        for (int i = 0; i < 6; i++)
            members[i] = ebb_value_int(i);
        starving_start(&s, left);
        object = ebb_pool_object_of(NULL, keys, members, 6);
        s.left = 1000;
        assert_int_equal(object != NULL, left >= 3);
        ebb_value_free(object);
        assert_int_equal(s.blocks, -6);
        starving_stop();
    }
    members[0] = ebb_value_text("x");
    members[1] = ebb_value_null();
    assert_written(ebb_pool_object_of(NULL, keys, members, 2),
                   EBB_WRITE_COMPACT,
                   "{\"a\":\"x\",\"a key of its own block\":null}");
    members[0] = NULL;
    members[1] = ebb_value_text("freed");
    assert_null(ebb_pool_object_of(NULL, keys, members, 2));
    assert_written(ebb_pool_object_of(NULL, keys, members, 0),
                   EBB_WRITE_COMPACT, "{}");
}

static void no_memory_for_a_pool_loses_nothing(void **state)
{
    ebb_value *list = NULL;
    starving s;
    int left = 0;

    (void)state;
    for (; list == NULL && left < 100; left++) {
        starving_start(&s, left);
        list = make_list(100);
        if (list == NULL)
            assert_int_equal(s.blocks, 0);
    }
    assert_in_range(left, 10, 99);
    ebb_value_free(list);
    assert_int_equal(s.blocks, 0);
    starving_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_parsed_can_be_changed_everywhere),
        cmocka_unit_test(a_copy_has_nothing_of_the_pool),
        cmocka_unit_test(a_parsed_value_moves_into_another),
        cmocka_unit_test(a_pool_holds_values_of_any_size),
        cmocka_unit_test(an_object_has_one_too_and_each_only_one),
        cmocka_unit_test(an_object_comes_with_its_members),
        cmocka_unit_test(no_memory_for_a_pool_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
