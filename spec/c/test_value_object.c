/* SPDX-License-Identifier: MIT */
#include "base/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/case.h"
#include "support/starving.h"
#include "support/value_text.h"

#define MANY      1000
#define KEY_BYTES 64

typedef void name_fn(char key[KEY_BYTES], int i);

static void rising(char key[KEY_BYTES], int i)
{
    snprintf(key, KEY_BYTES, "%06d", i);
}

static void falling(char key[KEY_BYTES], int i)
{
    snprintf(key, KEY_BYTES, "%06d", MANY - i);
}

/* All alike for longer than a key stands in a member. */
static void alike(char key[KEY_BYTES], int i)
{
    snprintf(key, KEY_BYTES, "a key that is long enough %d", i * 7919 % MANY);
}

/* Each a beginning of the next, from the empty one on. */
static void nested(char key[KEY_BYTES], int i)
{
    memset(key, 'x', (size_t)(i % KEY_BYTES));
    key[i % KEY_BYTES] = '\0';
}

static void fill(ebb_value *object, name_fn *name, int count)
{
    char key[KEY_BYTES];

    for (int i = 0; i < count; i++) {
        name(key, i);
        assert_int_equal(ebb_value_set(object, key, ebb_value_int(i)), 0);
    }
}

static void assert_found(const ebb_value *object, name_fn *name, int first,
                         int count)
{
    char key[KEY_BYTES];

    for (int i = first; i < count; i++) {
        name(key, i);
        assert_int_equal(ebb_value_find_int(object, key, -1), i);
    }
}

static void a_member_is_found_in_every_order_and_number(void **state)
{
    static name_fn *const names[] = { rising, falling, alike };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int count = 0; count <= MANY; count += count < 20 ? 1 : 245) {
            ebb_value *object = ebb_value_object();

            fill(object, names[i], count);
            assert_int_equal(ebb_value_size(object), count);
            assert_found(object, names[i], 0, count);
            assert_null(ebb_value_find(object, ""));
            assert_null(ebb_value_find(object, "0000000"));
            ebb_value_free(object);
        }
}

static void keys_that_begin_alike_are_told_apart(void **state)
{
    ebb_value *object = ebb_value_object();

    (void)state;
    fill(object, nested, KEY_BYTES);
    assert_int_equal(ebb_value_size(object), KEY_BYTES);
    assert_found(object, nested, 0, KEY_BYTES);
    assert_int_equal(ebb_value_set_n(object, "xxxxy", 4, ebb_value_int(-4)), 0);
    assert_int_equal(ebb_value_find_int(object, "xxxx", 0), -4);
    assert_int_equal(ebb_value_size(object), KEY_BYTES);
    ebb_value_free(object);
}

/* Each key is the end of the one before, as it stands in its member. */
static void a_key_may_be_a_part_of_one_that_is_there(void **state)
{
    ebb_value *object = ebb_value_object();
    const char *key = "fifteen letters";

    (void)state;
    for (int i = 0; i < 15; i++) {
        ebb_value *member;
        void *place = NULL;

        assert_int_equal(ebb_value_set(object, key + (i > 0), ebb_value_int(i)),
                         0);
        while (ebb_value_next(object, &place, &key, &member))
            ;
        assert_int_equal(strlen(key), 15 - i);
        assert_string_equal(key, &"fifteen letters"[i]);
    }
    ebb_value_free(object);
}

static void a_member_set_again_keeps_its_place(void **state)
{
    (void)state;
    for (int count = 3; count <= 300; count += 297) {
        ebb_value *object = ebb_value_object(), *member;
        void *place = NULL;
        const char *key;

        fill(object, rising, count);
        assert_int_equal(ebb_value_set(object, "000000", ebb_value_null()), 0);
        assert_true(ebb_value_next(object, &place, &key, &member));
        assert_string_equal(key, "000000");
        assert_int_equal(ebb_value_type(member), EBB_NULL);
        assert_int_equal(ebb_value_size(object), count);
        ebb_value_free(object);
    }
}

static void members_can_be_taken_out_down_to_none(void **state)
{
    static name_fn *const names[] = { rising, alike };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ebb_value *object = ebb_value_object();
        char key[KEY_BYTES];

        fill(object, names[i], 40);
        for (int taken = 0; taken < 40; taken++) {
            names[i](key, taken);
            assert_int_equal(ebb_value_del(object, key), 0);
            assert_int_equal(ebb_value_del(object, key), -1);
            assert_found(object, names[i], taken + 1, 40);
        }
        assert_written(object, EBB_WRITE_COMPACT, "{}");
    }
}

/* The names of the members in order, as they have to be. */
typedef struct model {
    int names[MANY], n;
} model;

static int place_in(const model *m, int name)
{
    for (int i = 0; i < m->n; i++)
        if (m->names[i] == name)
            return i;
    return -1;
}

static void assert_as(const ebb_value *object, const model *m, name_fn *name)
{
    char key[KEY_BYTES];
    const char *found;
    ebb_value *member;
    void *place = NULL;

    assert_int_equal(ebb_value_size(object), m->n);
    for (int i = 0; i < m->n; i++) {
        name(key, m->names[i]);
        assert_true(ebb_value_next(object, &place, &found, &member));
        assert_string_equal(found, key);
        assert_ptr_equal(ebb_value_find(object, key), member);
        assert_int_equal(ebb_value_get_int(member), m->names[i]);
    }
}

static void set_last(ebb_value *object, model *m, const char *key, int name)
{
    assert_null(ebb_value_find(object, key));
    assert_int_equal(ebb_value_set(object, key, ebb_value_int(name)), 0);
    m->names[m->n++] = name;
}

static void take(ebb_value *object, model *m, const char *key, int place)
{
    assert_int_equal(ebb_value_del(object, key), 0);
    assert_null(ebb_value_find(object, key));
    m->n--;
    memmove(&m->names[place], &m->names[place + 1],
            (size_t)(m->n - place) * sizeof *m->names);
}

/* Any member, while most come for a time, and then most go. */
static void members_that_come_and_go_are_found(void **state)
{
    ebb_value *object = ebb_value_object();
    model m = { .n = 0 };
    unsigned random = 1;
    char key[KEY_BYTES];

    (void)state;
    for (int step = 0; step < 10 * MANY; step++) {
        random = random * 1103515245U + 12345U;
        int name = (int)(random >> 16) % 200, place = place_in(&m, name);
        bool grows = (step / MANY % 2 == 0) != (random >> 8 & 7 ? 0 : 1);

        alike(key, name);
        if (place < 0 && grows)
            set_last(object, &m, key, name);
        else if (place >= 0 && !grows)
            take(object, &m, key, place);
        if (step % 10 == 0)
            assert_as(object, &m, alike);
    }
    ebb_value_free(object);
}

/* Half a minute of a processor, were the rest looked at with each. */
static void many_members_go_one_by_one_in_time(void **state)
{
    ebb_value *object = ebb_value_object();
    clock_t start = clock();
    char key[KEY_BYTES];

    (void)state;
    fill(object, rising, 20 * MANY);
    for (int i = 0; i < 20 * MANY; i++) {
        rising(key, i % 2 == 0 ? i / 2 : 20 * MANY - 1 - i / 2);
        assert_int_equal(ebb_value_del(object, key), 0);
    }
    assert_int_equal(ebb_value_size(object), 0);
    assert_in_range(clock() - start, 0, 10 * CLOCKS_PER_SEC);
    ebb_value_free(object);
}

/* The sender chooses the keys: no choice may cost a look at all for each. */
static void a_name_given_twice_is_found_among_many(void **state)
{
    ebb_value *object = ebb_value_object();
    ebb_err err = { 0 };
    char *text;
    size_t n;

    (void)state;
    fill(object, alike, MANY);
    text = ebb_value_write(object, EBB_WRITE_COMPACT, &n);
    ebb_value_free(object);
    assert_non_null(text);
    object = ebb_value_parse(text, n, 0, &err);
    assert_found(object, alike, 0, MANY);
    ebb_value_free(object);

    /* The last member gets the name of another. */
    memcpy(strstr(text, "enough 81\":999"), "enough 62\":999", 14);
    assert_refused(text, n, "duplicate object key");
    ebb_mem_free(text);
}

static void a_copy_outlives_what_it_was_made_of(void **state)
{
    ebb_value *object = ebb_value_object(), *copy;

    (void)state;
    fill(object, alike, 100);
    ebb_value_set(object, "text", ebb_value_text("a string that is shared"));
    copy = ebb_value_copy(object);
    assert_true(ebb_value_equal(object, copy));
    ebb_value_free(object);
    assert_found(copy, alike, 0, 100);
    assert_string_equal(ebb_value_find_string(copy, "text"),
                        "a string that is shared");
    assert_int_equal(ebb_value_del(copy, "text"), 0);
    ebb_value_free(copy);
}

/* A text with all that a parser holds memory for. */
static char *rich_text(size_t *n)
{
    ebb_value *object =
        parse("{\"a\":[1,2.5,\"\\u00e9\\n\",[[[]]],{\"b\":{}}]}");
    char *text;

    fill(object, alike, 20);
    text = ebb_value_write(object, EBB_WRITE_ASCII, n);
    ebb_value_free(object);
    assert_non_null(text);
    return text;
}

static void no_memory_while_parsing_loses_nothing(void **state)
{
    ebb_value *value = NULL;
    ebb_err err = { 0 };
    starving s;
    size_t n;
    char *text = rich_text(&n);
    int left = 0;

    (void)state;
    for (; value == NULL && left < 1000; left++) {
        starving_start(&s, left);
        value = ebb_value_parse(text, n, 0, &err);
        if (value == NULL) {
            assert_int_equal(err.code, EBB_NO_MEMORY);
            assert_int_equal(s.blocks, 0);
        }
    }
    assert_in_range(left, 30, 999);
    assert_found(value, alike, 0, 20);
    ebb_value_free(value);
    assert_int_equal(s.blocks, 0);
    starving_stop();
    ebb_mem_free(text);
}

static void no_memory_for_a_copy_loses_nothing(void **state)
{
    ebb_value *value = ebb_value_object(), *copy = NULL;
    starving s;
    int left = 0;

    (void)state;
    fill(value, alike, 40);
    for (; copy == NULL && left < 1000; left++) {
        starving_start(&s, left);
        copy = ebb_value_copy(value);
        if (copy == NULL)
            assert_int_equal(s.blocks, 0);
    }
    assert_in_range(left, 40, 999);
    assert_true(ebb_value_equal(value, copy));
    ebb_value_free(copy);
    assert_int_equal(s.blocks, 0);
    starving_stop();
    ebb_value_free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_in_every_order_and_number),
        cmocka_unit_test(keys_that_begin_alike_are_told_apart),
        cmocka_unit_test(a_key_may_be_a_part_of_one_that_is_there),
        cmocka_unit_test(a_member_set_again_keeps_its_place),
        cmocka_unit_test(members_can_be_taken_out_down_to_none),
        cmocka_unit_test(members_that_come_and_go_are_found),
        cmocka_unit_test(many_members_go_one_by_one_in_time),
        CASE(a_name_given_twice_is_found_among_many, "B01"),
        cmocka_unit_test(a_copy_outlives_what_it_was_made_of),
        cmocka_unit_test(no_memory_while_parsing_loses_nothing),
        cmocka_unit_test(no_memory_for_a_copy_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
