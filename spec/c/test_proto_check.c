/* SPDX-License-Identifier: MIT */
#include "wire/proto_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "wire/filesystem.pb-c.h"
#include "wire/process.pb-c.h"

#define START &process__start_request__descriptor

/* A start request with every kind of field: /bin/bash -l -c "echo hi". */
static const char start[] =
    "\x0a\x2a\x0a\x09/bin/bash\x12\x02-l\x12\x02-c\x12\x07"
    "echo hi\x1a\x06\x0a\x01K\x12\x01V\x22\x04/tmp\x20\x00";

/* Unpacks a copy on the heap: a read past its end is found. */
static ProtobufCMessage *unpack(const ProtobufCMessageDescriptor *descriptor,
                                const char *bytes, size_t n, ebb_err *err)
{
    char *copy = malloc(n > 0 ? n : 1);
    ProtobufCMessage *message;

    memcpy(copy, bytes, n);
    message = ebb_proto_unpack(descriptor, copy, n, err);
    free(copy);
    return message;
}

static void assert_refused(const ProtobufCMessageDescriptor *descriptor,
                           const char *bytes, size_t n, const char *why)
{
    ebb_err err = { 0 };

    assert_null(unpack(descriptor, bytes, n, &err));
    assert_int_equal(err.code, EBB_PROTOCOL);
    if (strstr(err.msg, why) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", why, err.msg);
}

static void a_recorded_request_unpacks(void **state)
{
    ebb_err err;
    Process__StartRequest *request =
        (Process__StartRequest *)unpack(START, start, sizeof start - 1, &err);

    (void)state;
    assert_non_null(request);
    assert_string_equal(request->process->cmd, "/bin/bash");
    assert_int_equal(request->process->n_args, 3);
    assert_string_equal(request->process->args[2], "echo hi");
    assert_string_equal(request->process->envs[0]->key, "K");
    assert_string_equal(request->process->envs[0]->value, "V");
    assert_int_equal(request->_stdin_case,
                     PROCESS__START_REQUEST___STDIN_STDIN);
    assert_false(request->stdin);
    assert_int_equal(request->_tag_case, PROCESS__START_REQUEST___TAG__NOT_SET);
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static void nothing_is_the_empty_message(void **state)
{
    ebb_err err;
    ProtobufCMessage *message =
        ebb_proto_unpack(&process__list_response__descriptor, NULL, 0, &err);

    (void)state;
    assert_non_null(message);
    protobuf_c_message_free_unpacked(message, NULL);
}

/* Every prefix either is a message of its own or is refused; none crashes. */
static void cut_bytes_are_refused_or_a_smaller_message(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof start - 1; n++) {
        bool whole = n == 0 || n == 44; /* process, without stdin */
        ebb_err err = { 0 };
        ProtobufCMessage *message = unpack(START, start, n, &err);

        assert_int_equal(message != NULL, whole);
        if (message != NULL)
            protobuf_c_message_free_unpacked(message, NULL);
        else
            assert_int_equal(err.code, EBB_PROTOCOL);
    }
}

static void text_that_is_not_utf8_or_holds_nul_is_refused(void **state)
{
    (void)state;
    assert_refused(START, "\x0a\x03\x0a\x01\xFF", 5,
                   "process.ProcessConfig.cmd is not UTF-8");
    assert_refused(START, "\x0a\x05\x12\x03\xED\xA0\x80", 7,
                   "args is not UTF-8");
    assert_refused(START,
                   "\x0a\x05\x0a\x03"
                   "a\0b",
                   7, "cmd holds a NUL");
    assert_refused(START, "\x1a\x01\0", 3, "tag holds a NUL");
    assert_refused(START, "\x0a\x07\x1a\x05\x0a\x01\xC0\x12\x00", 9,
                   "EnvsEntry.key is not UTF-8");
    assert_refused(START, "\x0a\x08\x1a\x06\x0a\x01K\x12\x01\x80", 10,
                   "EnvsEntry.value is not UTF-8");
}

static void bytes_may_be_anything(void **state)
{
    ebb_err err;
    Process__ProcessInput *input = (Process__ProcessInput *)unpack(
        &process__process_input__descriptor, "\x0a\x03\xFF\0\x80", 5, &err);

    (void)state;
    assert_non_null(input);
    assert_int_equal(input->stdin.len, 3);
    assert_memory_equal(input->stdin.data, "\xFF\0\x80", 3);
    protobuf_c_message_free_unpacked(&input->base, NULL);
}

static void damaged_bytes_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        { "\x0a", 1 },                     /* no length */
        { "\x0a\x05", 2 },                 /* no payload */
        { "\x0a\xFF\xFF\xFF\xFF\x0F", 6 }, /* 4 GiB promised */
        { "\x0a\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11 },
        { "\x0a\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 12 },
        { "\x20", 1 }, /* no varint */
        { "\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12 },
        { "\x00\x01", 2 },           /* field 0 */
        { "\x0b\x0c", 2 },           /* a group */
        { "\x0e", 1 },               /* wire type 6 */
        { "\x0f\x00", 2 },           /* wire type 7 */
        { "\x19\1\2\3\4\5\6\7", 8 }, /* 7 of 8 bytes */
        { "\x1d\1\2\3", 4 },         /* 3 of 4 bytes */
        { "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x00", 11 },
        { "\x0a\x02\x0a\x01", 4 }, /* cut inside */
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(START, bad[i].bytes, bad[i].n, "process.");
}

static void a_field_of_another_type_is_refused(void **state)
{
    (void)state;
    assert_refused(START, "\x18\x01", 2, "another type"); /* tag as varint */
    assert_refused(START, "\x08\x01", 2, "another type"); /* a message so */
    assert_refused(START, "\x22\x01\x01", 3, "stdin has another type");
    assert_refused(START, "\x25\1\2\3\4", 5, "stdin has another type");
    assert_refused(START, "\x0a\x05\x0d\1\2\3\4", 7, "cmd has another type");
}

static void unknown_fields_are_skipped(void **state)
{
    static const char bytes[] = "\xA2\x06\x03\xFF\0\xFF" /* 100, prefixed */
                                "\xA8\x06\x07"           /* 101, varint */
                                "\xB1\x06"
                                "12345678" /* 102, fixed64 */
                                "\xBD\x06"
                                "1234" /* 103, fixed32 */
                                "\x1a\x01t";
    ebb_err err;
    Process__StartRequest *request =
        (Process__StartRequest *)unpack(START, bytes, sizeof bytes - 1, &err);

    (void)state;
    assert_non_null(request);
    assert_string_equal(request->tag, "t");
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static void the_last_of_a_repeated_single_field_wins(void **state)
{
    ebb_err err;
    Process__StartRequest *request = (Process__StartRequest *)unpack(START,
                                                                     "\x1a\x01"
                                                                     "a\x1a\x01"
                                                                     "b",
                                                                     6, &err);

    (void)state;
    assert_non_null(request);
    assert_string_equal(request->tag, "b");
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

/* A message whose only field is itself, for nesting without end. */
static const ProtobufCFieldDescriptor nest_field;
static const unsigned nest_index[] = { 0 };
static const ProtobufCIntRange nest_range[] = { { 1, 0 }, { 0, 1 } };
typedef struct nest {
    ProtobufCMessage base;
    struct nest *inner;
} nest;
static const ProtobufCMessageDescriptor nest_descriptor = {
    .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
    .name = "test.Nest",
    .short_name = "Nest",
    .sizeof_message = sizeof(nest),
    .n_fields = 1,
    .fields = &nest_field,
    .fields_sorted_by_name = nest_index,
    .n_field_ranges = 1,
    .field_ranges = nest_range,
};
static const ProtobufCFieldDescriptor nest_field = {
    .name = "inner",
    .id = 1,
    .label = PROTOBUF_C_LABEL_NONE,
    .type = PROTOBUF_C_TYPE_MESSAGE,
    .offset = offsetof(nest, inner),
    .descriptor = &nest_descriptor,
};

/* `depth` messages, each in the other. */
static size_t nested(unsigned depth, char *out, size_t room)
{
    size_t at = room;

    for (unsigned i = 0; i < depth; i++) {
        size_t n = room - at;

        if (n >= 128)
            out[--at] = (char)(n >> 7);
        out[--at] = (char)(n >= 128 ? (n & 0x7F) | 0x80 : n);
        out[--at] = 0x0A;
    }
    memmove(out, out + at, room - at);
    return room - at;
}

static void nesting_is_bounded(void **state)
{
    char bytes[1000];
    ebb_err err;

    (void)state;
    assert_int_equal(ebb_proto_check(&nest_descriptor, bytes,
                                     nested(32, bytes, sizeof bytes), &err),
                     0);
    assert_int_equal(ebb_proto_check(&nest_descriptor, bytes,
                                     nested(33, bytes, sizeof bytes), &err),
                     -1);
    assert_non_null(strstr(err.msg, "deeper than 32"));
    assert_int_equal(ebb_proto_check(&nest_descriptor, bytes,
                                     nested(250, bytes, sizeof bytes), &err),
                     -1);
}

/* 4 MiB of empty entries would take 400 MB: refused before any is made. */
static void a_flood_of_small_messages_is_refused(void **state)
{
    const size_t n = 4u << 20;
    char *bytes = malloc(n);

    (void)state;
    for (size_t i = 0; i < n; i += 2)
        memcpy(bytes + i, "\x0a", 2);
    assert_refused(&filesystem__list_dir_response__descriptor, bytes, n,
                   "too many fields");
    assert_refused(&process__process_config__descriptor, bytes, n,
                   "too many fields");
    free(bytes);
}

/* A large listing that a real server could send is none. */
static void a_large_honest_listing_unpacks(void **state)
{
    static const char entry[] = "\x0a\x1a\x0a\x05"
                                "a.txt\x10\x01\x1a\x06"
                                "/a.txt\x20\x07\x28\xa4\x03\x4a\x02\x08\x01";
    const size_t count = 30000, size = sizeof entry - 1;
    Filesystem__ListDirResponse *listing;
    ebb_buf bytes = { 0 };
    ebb_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < count; i++)
        ebb_buf_add(&bytes, entry, size);
    listing = (Filesystem__ListDirResponse *)ebb_proto_unpack(
        &filesystem__list_dir_response__descriptor, bytes.bytes, bytes.n, &err);
    if (listing == NULL)
        fail_msg("%s", err.msg);
    assert_int_equal(listing->n_entries, count);
    protobuf_c_message_free_unpacked(&listing->base, NULL);
    ebb_buf_clear(&bytes);
}

/* Each byte of a good message changed in turn, and random bytes. */
static void garbage_never_crashes(void **state)
{
    uint32_t seed = 1;
    char bytes[64];
    int taken = 0;

    (void)state;
    for (size_t i = 0; i < 60000; i++) {
        ebb_err err = { 0 };
        ProtobufCMessage *message;
        size_t n = sizeof start - 1;

        memcpy(bytes, start, n);
        if (i < n * 256) {
            bytes[i / 256] = (char)i;
        } else {
            for (n = 0; n < sizeof bytes; n++) {
                seed = seed * 1664525 + 1013904223;
                bytes[n] = (char)(seed >> 24 & (n % 3 ? 0x3F : 0xFF));
            }
            n = seed >> 20 & 63;
        }
        message = unpack(START, bytes, n, &err);
        taken += message != NULL;
        if (message != NULL)
            protobuf_c_message_free_unpacked(message, NULL);
        else
            assert_int_equal(err.code, EBB_PROTOCOL);
    }
    assert_in_range(taken, 1000, 59000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_request_unpacks),
        cmocka_unit_test(nothing_is_the_empty_message),
        cmocka_unit_test(cut_bytes_are_refused_or_a_smaller_message),
        cmocka_unit_test(text_that_is_not_utf8_or_holds_nul_is_refused),
        cmocka_unit_test(bytes_may_be_anything),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(a_field_of_another_type_is_refused),
        cmocka_unit_test(unknown_fields_are_skipped),
        cmocka_unit_test(the_last_of_a_repeated_single_field_wins),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(a_flood_of_small_messages_is_refused),
        cmocka_unit_test(a_large_honest_listing_unpacks),
        cmocka_unit_test(garbage_never_crashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
