/* SPDX-License-Identifier: MIT */
#include "support/case.h"
#include "support/e2b_entries.h"

#include "e2b/filesystem.h"

#define IN(rest) "{\"sandboxId\":\"i1\",\"path\":\"/a\"" rest "}"

static void a_directory_is_listed_up_to_its_limit(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;

    (void)state;
    rig_add(r, (rig_rule){ .method = "POST",
                           .path = LIST,
                           .status = 200,
                           BODY(FILE_OF("\x07") DIRECTORY FIFO DANGLING) });
    call = rig_call_task(r, "e2b.listFiles", IN(""));
    assert_code(call, EBB_OK);
    assert_string_equal(rig_text(call->result, "entries.0.type"), "file");
    assert_int_equal(rig_int(call->result, "entries.0.size"), 7);
    assert_string_equal(rig_text(call->result, "entries.1.type"), "directory");
    assert_string_equal(rig_text(call->result, "entries.2.type"), "other");
    assert_string_equal(rig_text(call->result, "entries.3.type"), "symlink");
    assert_string_equal(rig_text(call->result, "entries.3.path"), "/l");
    assert_int_equal(rig_int(call->result, "page.available"), 4);
    assert_false(rig_bool(call->result, "page.truncated"));
    rig_call_free(call);
    call = rig_call_task(r, "e2b.listFiles", IN(",\"limit\":0"));
    assert_int_equal(rig_int(call->result, "page.limit"), 1);
    assert_int_equal(rig_int(call->result, "page.returned"), 1);
    assert_int_equal(rig_int(call->result, "page.available"), 4);
    assert_true(rig_bool(call->result, "page.truncated"));
    rig_call_free(call);
    rig_close(r);
}

static void an_empty_directory_is_an_empty_list(void **state)
{
    rig *r = open_with("0.6.13");
    rig_call *call;

    (void)state;
    rig_on(r, "POST", LIST, 200, "");
    call = rig_call_task(r, "e2b.listFiles", IN(""));
    assert_code(call, EBB_OK);
    assert_int_equal(ebb_value_type(rig_at(call->result, "entries")),
                     EBB_ARRAY);
    rig_call_free(call);
    rig_close(r);
}

static int count_entry(void *context, const ebb_e2b_entry *entry, ebb_err *err)
{
    (void)entry;
    (void)err;
    ++*(int *)context;
    return 0;
}

static void a_listing_is_read_whatever_way_it_is_cut(void **state)
{
    /* A field of every wire type that nobody asked for lies between. */
    static const char all[] = FILE_OF("\x07") "\x10\xff\x01\x19"
                                              "12345678"
                                              "\x22\x03"
                                              "abc"
                                              "\x2d"
                                              "1234" DIRECTORY FIFO;
    size_t n = sizeof all - 1;

    (void)state;
    for (size_t piece = 1; piece <= n; piece++) {
        ebb_e2b_listing listing;
        ebb_err err = { 0 };
        int entries = 0;
        ebb_e2b_listing_init(&listing, count_entry, &entries);
        for (size_t i = 0; i < n; i += piece)
            assert_int_equal(ebb_e2b_listing_add(&listing, all + i,
                                                 n - i < piece ? n - i : piece,
                                                 &err),
                             0);
        assert_int_equal(ebb_e2b_listing_finish(&listing, &err), 0);
        assert_int_equal(entries, 3);
        ebb_e2b_listing_clear(&listing);
    }
}

static void a_hostile_listing_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        { "\x0a\xff\xff\xff\xff\x0f", 6 }, /* 4 GiB entry */
        { "\x0b", 1 },                     /* group */
        { "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
        { "\x0a\x03\x0a\x01\xff", 5 },   /* name not UTF-8 */
        { "\x0a\x03\x0a\x01\0", 5 },     /* name with NUL */
        { "\x0a\x02\x08\x01", 4 },       /* name a number */
        { "\x0a\x03\x12\x01\x01", 5 },   /* type a text */
        { "\x0a\x05\x52\x03/\xc3(", 7 }, /* link target not UTF-8 */
        { "\x0a\x03\x4a\x01\x08", 5 },   /* time cut inside */
        { "\x0a\x03\x0a\x02"
          "a",
          5 }, /* name cut inside */
        { "\x0a\x06\x0a\x01"
          "a\x52\x01\0",
          8 },                     /* after a good name */
        { "\x0a\x05\x0a\x01", 4 }, /* cut */
        { "\x22\x05"
          "ab",
          4 }, /* cut while skipping */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ebb_e2b_listing listing;
        ebb_err err = { 0 };
        int entries = 0;
        ebb_e2b_listing_init(&listing, count_entry, &entries);
        if (ebb_e2b_listing_add(&listing, cases[i].bytes, cases[i].n, &err) ==
            0)
            assert_int_equal(ebb_e2b_listing_finish(&listing, &err), -1);
        assert_int_equal(err.code, EBB_PROTOCOL);
        assert_int_equal(entries, 0);
        ebb_e2b_listing_clear(&listing);
    }
}

static void a_directory_of_any_size_needs_the_memory_of_its_limit(void **s)
{
    ebb_e2b_listing listing;
    ebb_err err = { 0 };
    int entries = 0;
    ebb_buf many;

    (void)s;
    ebb_buf_init(&many, 0);
    for (int i = 0; i < 100000; i++)
        ebb_buf_add(&many, FILE_OF("\x07"), sizeof(FILE_OF("\x07")) - 1);
    ebb_e2b_listing_init(&listing, count_entry, &entries);
    for (size_t i = 0; i < many.n; i += 4099)
        assert_int_equal(
            ebb_e2b_listing_add(&listing, many.bytes + i,
                                many.n - i < 4099 ? many.n - i : 4099, &err),
            0);
    assert_int_equal(entries, 100000);
    assert_true(listing.held.room <= 2 * (65536 + 20));
    ebb_e2b_listing_clear(&listing);
    ebb_buf_clear(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_listed_up_to_its_limit),
        CASE(an_empty_directory_is_an_empty_list, "B02"),
        cmocka_unit_test(a_listing_is_read_whatever_way_it_is_cut),
        cmocka_unit_test(a_hostile_listing_is_refused),
        CASE(a_directory_of_any_size_needs_the_memory_of_its_limit, "C04"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
