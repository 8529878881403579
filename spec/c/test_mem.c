/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/starving.h"

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
    starving s;
    char *a, *b;

    (void)state;
    starving_start(&s, 100);
    a = ebb_mem_dup("x");
    b = ebb_mem_printf("%d", 1);
    assert_int_equal(s.blocks, 2);
    ebb_mem_free(a);
    ebb_mem_free(b);
    ebb_mem_free(NULL);
    assert_int_equal(s.blocks, 0);
    starving_stop();
}

static void no_memory_is_null_and_loses_nothing(void **state)
{
    starving s;
    char *block;

    (void)state;
    starving_start(&s, 1);
    block = ebb_mem_dup("kept");
    assert_null(ebb_mem_resize(block, 100));
    assert_string_equal(block, "kept");
    assert_null(ebb_mem_alloc(1));
    assert_null(ebb_mem_zero(1));
    assert_null(ebb_mem_dup("x"));
    assert_null(ebb_mem_printf("x"));
    ebb_mem_free(block);
    assert_int_equal(s.blocks, 0);
    starving_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_of_nothing_gives_a_block),
        cmocka_unit_test(zeroed_memory_is_zero_and_resizing_keeps_bytes),
        cmocka_unit_test(copies_are_nul_terminated),
        cmocka_unit_test(a_host_allocator_sees_every_block),
        cmocka_unit_test(no_memory_is_null_and_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
