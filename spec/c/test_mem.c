/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Counts blocks, and refuses after `left` allocations. */
typedef struct counter {
    int blocks;
    int left;
} counter;

static void *counting(void *context, void *block, size_t size)
{
    counter *c = context;

    if (size == 0) {
        c->blocks--;
        free(block);
        return NULL;
    }
    if (c->left-- <= 0)
        return NULL;
    if (block == NULL)
        c->blocks++;
    return realloc(block, size);
}

static int back_to_libc(void **state)
{
    (void)state;
    ebb_mem_set(NULL);
    return 0;
}

static void a_request_of_nothing_gives_a_block(void **state)
{
    void *block = ebb_mem_alloc(0);

    (void)state;
    assert_non_null(block);
    block = ebb_mem_resize(block, 0);
    assert_non_null(block);
    ebb_mem_free(block);
    ebb_mem_free(NULL);
}

static void zeroed_memory_is_zero_and_resizing_keeps_bytes(void **state)
{
    unsigned char *block = ebb_mem_zero(1000);

    (void)state;
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(block[i], 0);
    memcpy(block, "kept", 5);
    block = ebb_mem_resize(block, 100000);
    assert_string_equal((char *)block, "kept");
    ebb_mem_free(block);
}

static void copies_are_nul_terminated(void **state)
{
    char *a = ebb_mem_dup("text"), *b = ebb_mem_dup_n("a\0bc", 3);
    char *c = ebb_mem_printf("%s-%05d", "x", 42);

    (void)state;
    assert_string_equal(a, "text");
    assert_memory_equal(b, "a\0b", 4);
    assert_string_equal(c, "x-00042");
    assert_null(ebb_mem_dup(NULL));
    assert_null(ebb_mem_dup_n(NULL, 3));
    ebb_mem_free(a);
    ebb_mem_free(b);
    ebb_mem_free(c);
}

static void a_host_allocator_sees_every_block(void **state)
{
    counter c = { .left = 100 };
    const ebb_allocator host = { counting, &c };
    char *a, *b;

    (void)state;
    ebb_mem_set(&host);
    a = ebb_mem_dup("x");
    b = ebb_mem_printf("%d", 1);
    assert_int_equal(c.blocks, 2);
    ebb_mem_free(a);
    ebb_mem_free(b);
    ebb_mem_free(NULL);
    assert_int_equal(c.blocks, 0);
}

static void no_memory_is_null_and_loses_nothing(void **state)
{
    counter c = { .left = 1 };
    const ebb_allocator host = { counting, &c };
    char *block;

    (void)state;
    ebb_mem_set(&host);
    block = ebb_mem_dup("kept");
    assert_null(ebb_mem_resize(block, 100));
    assert_string_equal(block, "kept");
    assert_null(ebb_mem_alloc(1));
    assert_null(ebb_mem_zero(1));
    assert_null(ebb_mem_dup("x"));
    assert_null(ebb_mem_printf("x"));
    ebb_mem_free(block);
    assert_int_equal(c.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_of_nothing_gives_a_block),
        cmocka_unit_test(zeroed_memory_is_zero_and_resizing_keeps_bytes),
        cmocka_unit_test(copies_are_nul_terminated),
        cmocka_unit_test_teardown(a_host_allocator_sees_every_block,
                                  back_to_libc),
        cmocka_unit_test_teardown(no_memory_is_null_and_loses_nothing,
                                  back_to_libc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
