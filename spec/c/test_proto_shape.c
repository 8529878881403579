/* SPDX-License-Identifier: MIT */
#include "wire/proto_shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/filesystem.pb-c.h"
#include "wire/process.pb-c.h"

static void a_time_has_no_more_digits_than_it_needs(void **state)
{
    static const struct {
        int64_t seconds;
        int32_t nanos;
        const char *text;
    } cases[] = {
        { 0, 0, "1970-01-01T00:00:00Z" },
        { 1795973211, 500000000, "2026-11-29T17:26:51.500Z" },
        { 1795973211, 120000000, "2026-11-29T17:26:51.120Z" },
        { 1795973211, 123456000, "2026-11-29T17:26:51.123456Z" },
        { 1795973211, 123456789, "2026-11-29T17:26:51.123456789Z" },
        { 1795973211, 1, "2026-11-29T17:26:51.000000001Z" },
        { 1795973211, 1000, "2026-11-29T17:26:51.000001Z" },
        { -1, 500000000, "1969-12-31T23:59:59.500Z" },
        { -62135596800, 0, "0001-01-01T00:00:00Z" },
        { 253402300799, 999999999, "9999-12-31T23:59:59.999999999Z" },
    };
    char text[EBB_PROTO_TIME_BYTES];
    int64_t seconds;
    int32_t nanos;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(
            ebb_proto_time_write(cases[i].seconds, cases[i].nanos, text));
        assert_string_equal(text, cases[i].text);
        assert_true(ebb_proto_time_parse(text, &seconds, &nanos));
        assert_true(seconds == cases[i].seconds);
        assert_int_equal(nanos, cases[i].nanos);
    }
}

static void a_time_is_read_with_any_digits_and_zone(void **state)
{
    static const struct {
        const char *text;
        int32_t nanos;
    } cases[] = {
        { "2026-11-29T17:26:51.5Z", 500000000 },
        { "2026-11-29T17:26:51.12Z", 120000000 },
        { "2026-11-29T17:26:51.1234Z", 123400000 },
        { "2026-11-29T17:26:51.000Z", 0 },
        { "2026-11-29T18:26:51.25+01:00", 250000000 },
    };
    int64_t seconds;
    int32_t nanos;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(ebb_proto_time_parse(cases[i].text, &seconds, &nanos));
        assert_true(seconds == 1795973211);
        assert_int_equal(nanos, cases[i].nanos);
    }
}

static void what_protobuf_does_not_allow_is_no_time(void **state)
{
    static const char *const bad[] = {
        "",
        "2026-11-29",
        "2026-11-29T17:26:51.1234567890Z",
        "0000-12-31T23:59:59Z",
        "9999-12-31T23:59:59-01:00",
    };
    char text[EBB_PROTO_TIME_BYTES];
    int64_t seconds;
    int32_t nanos;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (ebb_proto_time_parse(bad[i], &seconds, &nanos))
            fail_msg("accepted: %s", bad[i]);
    assert_false(ebb_proto_time_write(0, -1, text));
    assert_false(ebb_proto_time_write(0, 1000000000, text));
    assert_false(ebb_proto_time_write(-62135596801, 0, text));
    assert_false(ebb_proto_time_write(253402300800, 0, text));
    assert_false(ebb_proto_time_write(INT64_MIN, 0, text));
}

static void names_in_json_are_camel_case(void **state)
{
    static const char *const names[][2] = {
        { "cmd", "cmd" },
        { "exit_code", "exitCode" },
        { "allow_network_mounts", "allowNetworkMounts" },
        { "a__b", "aB" },
        { "x_1", "x1" },
    };
    char name[EBB_PROTO_NAME_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ebb_proto_json_name(names[i][0], name);
        assert_string_equal(name, names[i][1]);
    }
}

static void every_field_is_found_by_both_its_names(void **state)
{
    const ProtobufCMessageDescriptor *entry =
        &filesystem__entry_info__descriptor;
    char name[EBB_PROTO_NAME_BYTES];

    (void)state;
    for (unsigned i = 0; i < entry->n_fields; i++) {
        ebb_proto_json_name(entry->fields[i].name, name);
        assert_ptr_equal(ebb_proto_json_field(entry, name), &entry->fields[i]);
        assert_ptr_equal(ebb_proto_json_field(entry, entry->fields[i].name),
                         &entry->fields[i]);
    }
    assert_null(ebb_proto_json_field(entry, ""));
    assert_null(ebb_proto_json_field(entry, "nam"));
    assert_null(ebb_proto_json_field(entry, "names"));
    assert_null(ebb_proto_json_field(entry, "modified_Time"));
    assert_null(ebb_proto_json_field(&process__list_request__descriptor, "x"));
}

static void maps_and_times_are_told_from_the_rest(void **state)
{
    const ProtobufCMessageDescriptor *config =
        &process__process_config__descriptor;

    (void)state;
    assert_true(ebb_proto_is_map(ebb_proto_json_field(config, "envs")));
    assert_false(ebb_proto_is_map(ebb_proto_json_field(config, "args")));
    assert_false(ebb_proto_is_map(ebb_proto_json_field(config, "cmd")));
    assert_false(ebb_proto_is_map(ebb_proto_json_field(
        &filesystem__list_dir_response__descriptor, "entries")));
    assert_true(
        ebb_proto_is_timestamp(&google__protobuf__timestamp__descriptor));
    assert_false(ebb_proto_is_timestamp(config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_has_no_more_digits_than_it_needs),
        cmocka_unit_test(a_time_is_read_with_any_digits_and_zone),
        cmocka_unit_test(what_protobuf_does_not_allow_is_no_time),
        cmocka_unit_test(names_in_json_are_camel_case),
        cmocka_unit_test(every_field_is_found_by_both_its_names),
        cmocka_unit_test(maps_and_times_are_told_from_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
