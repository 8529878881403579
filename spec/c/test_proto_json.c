/* SPDX-License-Identifier: MIT */
#include "wire/proto_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "support/case.h"
#include "support/starving.h"
#include "wire/filesystem.pb-c.h"
#include "wire/process.pb-c.h"
#include "wire/proto_check.h"

#define START    &process__start_request__descriptor
#define ANSWER   &process__start_response__descriptor
#define STAT     &filesystem__stat_response__descriptor
#define INPUT    &process__send_input_request__descriptor
#define SIGNAL   &process__send_signal_request__descriptor
#define SELECTOR &process__process_selector__descriptor

static ProtobufCMessage *from(const ProtobufCMessageDescriptor *descriptor,
                              const char *json, ebb_err *err)
{
    ebb_value *value = ebb_value_parse(json, strlen(json), 0, err);
    ProtobufCMessage *message;

    if (value == NULL)
        return NULL;
    message = ebb_proto_from_json(descriptor, value, err);
    ebb_value_free(value);
    return message;
}

static void assert_json(const ProtobufCMessage *message, const char *json)
{
    ebb_err err = { 0 };
    ebb_value *value = ebb_proto_to_json(message, &err);
    char *text;

    if (value == NULL)
        fail_msg("%s", err.msg);
    text = ebb_value_write(value, EBB_WRITE_COMPACT, NULL);
    assert_string_equal(text, json);
    ebb_mem_free(text);
    ebb_value_free(value);
}

/* Reads json and expects `out` when it is written again. */
static void assert_reads(const ProtobufCMessageDescriptor *descriptor,
                         const char *json, const char *out)
{
    ebb_err err = { 0 };
    ProtobufCMessage *message = from(descriptor, json, &err);

    if (message == NULL)
        fail_msg("%s: %s", json, err.msg);
    assert_json(message, out);
    protobuf_c_message_free_unpacked(message, NULL);
}

static void assert_stays(const ProtobufCMessageDescriptor *descriptor,
                         const char *json)
{
    assert_reads(descriptor, json, json);
}

static void assert_refused(const ProtobufCMessageDescriptor *descriptor,
                           const char *json, const char *why)
{
    ebb_err err = { 0 };

    if (from(descriptor, json, &err) != NULL)
        fail_msg("accepted: %s", json);
    assert_int_equal(err.code, EBB_PROTOCOL);
    if (strstr(err.msg, why) == NULL)
        fail_msg("%s: expected \"%s\" in \"%s\"", json, why, err.msg);
}

/* Bytes of a message, the same message as JSON; both ways. */
static void assert_twins(const ProtobufCMessageDescriptor *descriptor,
                         const char *bytes, size_t n, const char *json)
{
    ebb_err err = { 0 };
    ProtobufCMessage *message = ebb_proto_unpack(descriptor, bytes, n, &err);
    uint8_t packed[512];

    if (message == NULL)
        fail_msg("%s: %s", json, err.msg);
    assert_json(message, json);
    protobuf_c_message_free_unpacked(message, NULL);
    message = from(descriptor, json, &err);
    if (message == NULL)
        fail_msg("%s: %s", json, err.msg);
    assert_int_equal(protobuf_c_message_get_packed_size(message), n);
    protobuf_c_message_pack(message, packed);
    assert_memory_equal(packed, bytes, n);
    protobuf_c_message_free_unpacked(message, NULL);
}

#define TWINS(descriptor, bytes, json)                                         \
    assert_twins(descriptor, bytes, sizeof(bytes) - 1, json)

/* Written by a generated client of the published messages. */
static void recorded_bytes_and_their_json_are_twins(void **state)
{
    (void)state;
    TWINS(START,
          "\x0a\x2a\x0a\x09/bin/bash\x12\x02-l\x12\x02-c\x12\x07"
          "echo hi\x1a\x06\x0a\x01K\x12\x01V\x22\x04/tmp\x20\x00",
          "{\"process\":{\"cmd\":\"/bin/bash\",\"args\":[\"-l\",\"-c\","
          "\"echo hi\"],\"envs\":{\"K\":\"V\"},\"cwd\":\"/tmp\"},"
          "\"stdin\":false}");
    TWINS(ANSWER, "\x0a\x05\x0a\x03\x08\xd2\x09",
          "{\"event\":{\"start\":{\"pid\":1234}}}");
    TWINS(ANSWER, "\x0a\x02\x22\x00", "{\"event\":{\"keepalive\":{}}}");
    TWINS(ANSWER, "\x0a\x07\x12\x05\x0a\x03hi\x0a",
          "{\"event\":{\"data\":{\"stdout\":\"aGkK\"}}}");
    TWINS(ANSWER,
          "\x0a\x13\x1a\x11\x08\x01\x1a\x06killed\x22\x05"
          "error",
          "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"killed\","
          "\"error\":\"error\"}}}");
    TWINS(SIGNAL, "\x0a\x02\x08\x2a\x10\x09",
          "{\"process\":{\"pid\":42},\"signal\":\"SIGNAL_SIGKILL\"}");
    TWINS(INPUT, "\x0a\x02\x08\x2a\x12\x05\x0a\x03hi\x0a",
          "{\"process\":{\"pid\":42},\"input\":{\"stdin\":\"aGkK\"}}");
    TWINS(&filesystem__stat_request__descriptor, "\x0a\x06/a.txt",
          "{\"path\":\"/a.txt\"}");
    TWINS(STAT,
          "\x0a\x28\x0a\x05"
          "a.txt\x10\x01\x1a\x06/a.txt\x20\x07\x28\xa4\x03"
          "\x4a\x08\x08\x80\xb4\xac\xd0\x06\x10\x15\x52\x06/etc/x",
          "{\"entry\":{\"name\":\"a.txt\",\"type\":\"FILE_TYPE_FILE\","
          "\"path\":\"/a.txt\",\"size\":\"7\",\"mode\":420,"
          "\"modifiedTime\":\"2026-05-18T13:54:08.000000021Z\","
          "\"symlinkTarget\":\"/etc/x\"}}");
    TWINS(&process__list_response__descriptor, "", "{}");
}

static void defaults_are_left_out_unless_presence_was_asked_for(void **state)
{
    (void)state;
    assert_reads(ANSWER,
                 "{\"event\":{\"end\":{\"exitCode\":0,\"exited\":false,"
                 "\"status\":\"\",\"error\":\"\"}}}",
                 "{\"event\":{\"end\":{\"error\":\"\"}}}");
    assert_reads(START, "{\"process\":{},\"pty\":{},\"stdin\":true}",
                 "{\"process\":{},\"pty\":{},\"stdin\":true}");
    assert_reads(STAT,
                 "{\"entry\":{\"size\":0,\"type\":0,\"metadata\":{},"
                 "\"isSymlink\":false,\"mode\":0}}",
                 "{\"entry\":{}}");
    assert_reads(INPUT, "{\"input\":{\"pty\":\"\"}}",
                 "{\"input\":{\"pty\":\"\"}}");
    assert_reads(SELECTOR, "{\"pid\":0}", "{\"pid\":0}");
}

static void both_spellings_of_a_name_are_read_and_twice_is_refused(void **s)
{
    (void)s;
    assert_reads(ANSWER, "{\"event\":{\"end\":{\"exit_code\":3}}}",
                 "{\"event\":{\"end\":{\"exitCode\":3}}}");
    assert_reads(STAT, "{\"entry\":{\"symlink_target\":\"/x\"}}",
                 "{\"entry\":{\"symlinkTarget\":\"/x\"}}");
    assert_refused(ANSWER,
                   "{\"event\":{\"end\":{\"exit_code\":3,\"exitCode\":3}}}",
                   "event.end.exitCode: the member is there twice");
    assert_refused(ANSWER, "{\"event\":{},\"event\":{}}", "duplicate");
    assert_reads(ANSWER, "{\"event\":{\"end\":{\"ExitCode\":3}}}",
                 "{\"event\":{\"end\":{}}}");
}

static void two_members_of_a_oneof_are_refused(void **state)
{
    (void)state;
    assert_refused(ANSWER, "{\"event\":{\"start\":{},\"end\":{}}}",
                   "event.end: only one of this and start");
    assert_refused(SELECTOR, "{\"pid\":0,\"tag\":\"\"}", "only one of");
    assert_reads(SELECTOR, "{\"pid\":null,\"tag\":\"t\"}", "{\"tag\":\"t\"}");
    assert_stays(START, "{\"tag\":\"t\",\"stdin\":true}");
}

static void null_is_absent_and_unknown_members_are_ignored(void **state)
{
    (void)state;
    assert_reads(START,
                 "{\"process\":null,\"tag\":null,\"stdin\":null,"
                 "\"later\":{\"x\":[1,{\"y\":null}]},\"pty\":null}",
                 "{}");
    assert_reads(&process__process_config__descriptor,
                 "{\"args\":null,\"envs\":null,\"cmd\":\"x\"}",
                 "{\"cmd\":\"x\"}");
}

static void integers_come_as_numbers_or_text(void **state)
{
    static const char *const good[] = { "7",     "\"7\"", "7.0",    "\"7.0\"",
                                        "0.7e1", "70e-1", "\"7e0\"" };
    static const char *const bad[] = {
        "7.5",   "\"7.5\"", "\" 7\"", "\"7 \"",       "\"\"",
        "\"x\"", "\"0x7\"", "true",   "[7]",          "{}",
        "1e300", "\"+7\"",  "\"07\"", "\"7\\u0000\"",
    };
    char json[80];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(json, sizeof json, "{\"pid\":%s}", good[i]);
        assert_reads(SELECTOR, json, "{\"pid\":7}");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(json, sizeof json, "{\"pid\":%s}", bad[i]);
        assert_refused(SELECTOR, json, "pid: expected an integer");
    }
}

static void integers_keep_their_range(void **state)
{
    (void)state;
    assert_stays(SELECTOR, "{\"pid\":4294967295}");
    assert_refused(SELECTOR, "{\"pid\":4294967296}", "pid: the number");
    assert_refused(SELECTOR, "{\"pid\":-1}", "out of range");
    assert_stays(ANSWER, "{\"event\":{\"end\":{\"exitCode\":-2147483648}}}");
    assert_stays(ANSWER, "{\"event\":{\"end\":{\"exitCode\":2147483647}}}");
    assert_refused(ANSWER, "{\"event\":{\"end\":{\"exitCode\":2147483648}}}",
                   "event.end.exitCode: the number is out of range");
    assert_stays(STAT, "{\"entry\":{\"size\":\"9223372036854775807\"}}");
    assert_stays(STAT, "{\"entry\":{\"size\":\"-9223372036854775808\"}}");
    assert_reads(STAT, "{\"entry\":{\"size\":9007199254740993}}",
                 "{\"entry\":{\"size\":\"9007199254740993\"}}");
    assert_refused(STAT, "{\"entry\":{\"size\":\"9223372036854775808\"}}",
                   "entry.size");
    assert_refused(STAT, "{\"entry\":{\"size\":9223372036854775808.0}}",
                   "entry.size");
}

static void enums_are_names_numbers_or_zero(void **state)
{
    (void)state;
    assert_stays(SIGNAL, "{\"signal\":\"SIGNAL_SIGTERM\"}");
    assert_reads(SIGNAL, "{\"signal\":9}", "{\"signal\":\"SIGNAL_SIGKILL\"}");
    assert_reads(SIGNAL, "{\"signal\":\"SIGNAL_SIGHUP\"}", "{}");
    assert_reads(SIGNAL, "{\"signal\":\"\"}", "{}");
    assert_reads(SIGNAL, "{\"signal\":77}", "{\"signal\":77}");
    assert_reads(SIGNAL, "{\"signal\":-1}", "{\"signal\":-1}");
    assert_refused(SIGNAL, "{\"signal\":true}", "signal: expected the name");
    assert_refused(SIGNAL, "{\"signal\":1e10}", "signal: expected the name");
}

static void bytes_take_either_base64(void **state)
{
    static const char *const good[] = { "+/8=", "-_8=", "+/8", "-_8" };
    static const char *const bad[] = { "A", "+/8==", "+ 8=", "\\u00e9", "=" };
    char json[80];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(json, sizeof json, "{\"input\":{\"stdin\":\"%s\"}}", good[i]);
        assert_reads(INPUT, json, "{\"input\":{\"stdin\":\"+/8=\"}}");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(json, sizeof json, "{\"input\":{\"stdin\":\"%s\"}}", bad[i]);
        assert_refused(INPUT, json, "input.stdin: the text is not base64");
    }
    assert_refused(INPUT, "{\"input\":{\"stdin\":[1]}}", "expected a string");
}

static void maps_are_objects_of_text(void **state)
{
    const ProtobufCMessageDescriptor *config =
        &process__process_config__descriptor;

    (void)state;
    assert_stays(config, "{\"envs\":{\"A\":\"1\",\"B\":\"\",\"\":\"x\"}}");
    assert_refused(config, "{\"envs\":[]}", "envs: expected an object");
    assert_refused(config, "{\"envs\":{\"A\":1}}", "envs.A: expected a string");
    assert_refused(config, "{\"envs\":{\"A\":null}}", "envs.A");
    assert_refused(config, "{\"envs\":{\"A\":\"x\\u0000\"}}", "NUL");
}

static void lists_keep_order_and_take_no_null(void **state)
{
    const ProtobufCMessageDescriptor *config =
        &process__process_config__descriptor;

    (void)state;
    assert_stays(config, "{\"args\":[\"b\",\"\",\"a\"]}");
    assert_refused(config, "{\"args\":\"b\"}", "args: expected an array");
    assert_refused(config, "{\"args\":[\"b\",null]}", "args[1]: expected");
    assert_refused(config, "{\"args\":[\"b\",\"\\u0000\"]}", "args[1]: text");
    assert_refused(&process__list_response__descriptor,
                   "{\"processes\":[{},{\"config\":{\"cmd\":1}}]}",
                   "processes[1].config.cmd: expected a string");
}

static void messages_are_objects(void **state)
{
    (void)state;
    assert_refused(START, "[]", "the message: expected an object, got a array");
    assert_refused(START, "null", "the message: expected an object");
    assert_refused(START, "{\"process\":1}", "process: expected an object");
    assert_refused(START, "{\"stdin\":\"true\"}", "stdin: expected true");
    assert_refused(START, "{\"stdin\":1}", "stdin: expected true");
}

static void a_time_is_text(void **state)
{
    (void)state;
    assert_reads(
        STAT, "{\"entry\":{\"modifiedTime\":\"2026-11-29T18:26:51.5+01:00\"}}",
        "{\"entry\":{\"modifiedTime\":\"2026-11-29T17:26:51.500Z\"}}");
    assert_reads(STAT,
                 "{\"entry\":{\"modifiedTime\":\"1970-01-01T00:00:00Z\"}}",
                 "{\"entry\":{\"modifiedTime\":\"1970-01-01T00:00:00Z\"}}");
    assert_refused(STAT, "{\"entry\":{\"modifiedTime\":\"2026-11-29\"}}",
                   "entry.modifiedTime: expected a time");
    assert_refused(STAT, "{\"entry\":{\"modifiedTime\":{\"seconds\":1}}}",
                   "expected a time");
}

static void a_message_that_cannot_be_json_is_told(void **state)
{
    Google__Protobuf__Timestamp time = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    Filesystem__EntryInfo entry = FILESYSTEM__ENTRY_INFO__INIT;
    Process__ProcessConfig config = PROCESS__PROCESS_CONFIG__INIT;
    char cmd[] = "\xFF";
    ebb_err err = { 0 };

    (void)state;
    time.nanos = 1000000000;
    entry.modified_time = &time;
    assert_null(ebb_proto_to_json(&entry.base, &err));
    assert_int_equal(err.code, EBB_PROTOCOL);
    time.nanos = 0;
    time.seconds = INT64_MAX;
    assert_null(ebb_proto_to_json(&entry.base, &err));
    config.cmd = cmd;
    assert_null(ebb_proto_to_json(&config.base, &err));
    assert_string_equal(err.msg, "cmd is not UTF-8");
}

static void a_message_built_by_hand_is_written(void **state)
{
    Process__StartResponse answer = PROCESS__START_RESPONSE__INIT;
    Process__ProcessEvent event = PROCESS__PROCESS_EVENT__INIT;
    Process__ProcessEvent__DataEvent data =
        PROCESS__PROCESS_EVENT__DATA_EVENT__INIT;
    uint8_t bytes[] = { 0x00, 0xFF };

    (void)state;
    answer.event = &event;
    event.event_case = PROCESS__PROCESS_EVENT__EVENT_DATA;
    event.data = &data;
    data.output_case = PROCESS__PROCESS_EVENT__DATA_EVENT__OUTPUT_STDERR;
    data.stderr.data = bytes;
    data.stderr.len = sizeof bytes;
    assert_json(&answer.base, "{\"event\":{\"data\":{\"stderr\":\"AP8=\"}}}");
    event.event_case = PROCESS__PROCESS_EVENT__EVENT_KEEPALIVE;
    event.keepalive = NULL; /* an empty message nobody made */
    assert_json(&answer.base, "{\"event\":{\"keepalive\":{}}}");
}

static void long_paths_and_deep_values_are_no_trouble(void **state)
{
    ebb_buf json = { 0 };

    (void)state;
    ebb_buf_add_text(&json, "{\"envs\":{\"");
    for (int i = 0; i < 1000; i++)
        ebb_buf_add_text(&json, "\xC3\xA9");
    ebb_buf_add_text(&json, "\":1}}");
    assert_refused(&process__process_config__descriptor, json.bytes, "envs.");
    ebb_buf_reset(&json);
    ebb_buf_add_text(&json, "{\"x\":");
    for (int i = 0; i < 99; i++)
        ebb_buf_add_byte(&json, '[');
    for (int i = 0; i < 99; i++)
        ebb_buf_add_byte(&json, ']');
    ebb_buf_add_byte(&json, '}');
    assert_reads(START, json.bytes, "{}");
    ebb_buf_clear(&json);
}

static void no_memory_is_told_at_each_allocation(void **state)
{
    static const char json[] = "{\"process\":{\"cmd\":\"sh\",\"args\":[\"-c\"],"
                               "\"envs\":{\"A\":\"1\"}},\"tag\":\"t\"}";
    ebb_value *value = ebb_value_parse(json, strlen(json), 0, NULL);
    ProtobufCMessage *message = NULL;
    starving s;
    int left = 0;

    (void)state;
    for (; message == NULL && left < 100; left++) {
        ebb_err err = { 0 };

        starving_start(&s, left);
        message = ebb_proto_from_json(START, value, &err);
        assert_int_equal(err.code, message == NULL ? EBB_NO_MEMORY : EBB_OK);
        assert_int_equal(s.blocks, 0);
    }
    starving_stop();
    assert_in_range(left, 2, 99);
    assert_json(message, json);
    protobuf_c_message_free_unpacked(message, NULL);
    ebb_value_free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_bytes_and_their_json_are_twins),
        cmocka_unit_test(defaults_are_left_out_unless_presence_was_asked_for),
        cmocka_unit_test(
            both_spellings_of_a_name_are_read_and_twice_is_refused),
        cmocka_unit_test(two_members_of_a_oneof_are_refused),
        CASE(null_is_absent_and_unknown_members_are_ignored, "D05"),
        cmocka_unit_test(integers_come_as_numbers_or_text),
        cmocka_unit_test(integers_keep_their_range),
        cmocka_unit_test(enums_are_names_numbers_or_zero),
        cmocka_unit_test(bytes_take_either_base64),
        cmocka_unit_test(maps_are_objects_of_text),
        cmocka_unit_test(lists_keep_order_and_take_no_null),
        cmocka_unit_test(messages_are_objects),
        cmocka_unit_test(a_time_is_text),
        cmocka_unit_test(a_message_that_cannot_be_json_is_told),
        cmocka_unit_test(a_message_built_by_hand_is_written),
        cmocka_unit_test(long_paths_and_deep_values_are_no_trouble),
        cmocka_unit_test(no_memory_is_told_at_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
