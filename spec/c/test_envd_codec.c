/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/envd_rpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sandbox/service/envd/process.h"
#include "wire/proto_check.h"

#include "wire/filesystem.pb-c.h"

static void check_type(const char *given, bool stream, const char *expected)
{
    char out[64];
    bool binary;

    if (!expected) {
        assert_false(
            ebb_envd_content_type(given, stream, out, sizeof out, &binary));
        return;
    }
    assert_true(ebb_envd_content_type(given, stream, out, sizeof out, &binary));
    assert_string_equal(out, expected);
    assert_int_equal(binary, strstr(expected, "proto") != NULL);
}

static void answers_in_the_type_of_the_request(void **state)
{
    (void)state;
    check_type("Application/JSON", false, "application/json");
    check_type("application/proto", false, "application/proto");
    check_type("application/json; charset=utf-8", false,
               "application/json; charset=utf-8");
    check_type("application/connect+json;charset=UTF-8", true,
               "application/connect+json; charset=utf-8");
    check_type("application/connect+proto", true, "application/connect+proto");
    check_type(NULL, false, NULL);
    check_type("application/json", true, NULL);
    check_type("application/connect+json", false, NULL);
    check_type("application/jsonx", false, NULL);
    check_type("application/json; charset=latin1", false, NULL);
    check_type("application/proto; charset=utf-8", false, NULL);
    check_type("application/grpc", false, NULL);
}

/* The heads written by hand say what protobuf-c would. */
static void binary_data_frames_are_what_protobuf_writes(void **state)
{
    static const size_t sizes[] = { 1,
                                    100,
                                    111,
                                    112,
                                    120,
                                    127,
                                    128,
                                    16000,
                                    16380,
                                    16384,
                                    EBB_ENVD_READ_BYTES };
    char *room = ebb_mem_zero(EBB_ENVD_DATA_HEAD_BYTES + EBB_ENVD_READ_BYTES);
    char *data = room + EBB_ENVD_DATA_HEAD_BYTES;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        Process__StartResponse response = PROCESS__START_RESPONSE__INIT;
        Process__ProcessEvent event = PROCESS__PROCESS_EVENT__INIT;
        Process__ProcessEvent__DataEvent out =
            PROCESS__PROCESS_EVENT__DATA_EVENT__INIT;
        size_t n, packed;
        const char *frame;
        uint8_t *bytes;

        memset(data, 'x', sizes[i]);
        out.output_case = PROCESS__PROCESS_EVENT__DATA_EVENT__OUTPUT_STDERR;
        out.stderr.data = (uint8_t *)data;
        out.stderr.len = sizes[i];
        event.event_case = PROCESS__PROCESS_EVENT__EVENT_DATA;
        event.data = &out;
        response.event = &event;
        packed = process__start_response__get_packed_size(&response);
        bytes = ebb_mem_alloc(packed);
        process__start_response__pack(&response, bytes);
        frame = ebb_envd_data_binary(data, sizes[i], 2, &n);
        assert_true(frame >= room);
        assert_int_equal(n, packed + EBB_CONNECT_HEAD_BYTES);
        assert_memory_equal(frame + EBB_CONNECT_HEAD_BYTES, bytes, packed);
        assert_int_equal((unsigned char)frame[3] << 8 | (unsigned char)frame[4],
                         packed);
        ebb_mem_free(bytes);
    }
    ebb_mem_free(room);
}

static void json_data_frames_say_their_length(void **state)
{
    static const char expected[] =
        "\0\0\0\0$"
        "{\"event\":{\"data\":{\"stdout\":\"aGkK\"}}}";
    ebb_buf out = { 0 };

    (void)state;
    assert_int_equal(ebb_envd_data_json("hi\n", 3, 1, &out), 0);
    assert_int_equal(out.n, sizeof expected - 1);
    assert_memory_equal(out.bytes, expected, out.n);
    ebb_buf_reset(&out);
    ebb_envd_data_json("\xff", 1, 2, &out);
    assert_string_equal(out.bytes + EBB_CONNECT_HEAD_BYTES,
                        "{\"event\":{\"data\":{\"stderr\":\"/w==\"}}}");
    assert_int_equal(out.bytes[4], out.n - EBB_CONNECT_HEAD_BYTES);
    ebb_buf_clear(&out);
}

/* Entries added one by one make the message that holds them all. */
static void a_listing_adds_up_to_its_message(void **state)
{
    const ebb_envd_method method = { "/x",
                                     &filesystem__list_dir_request__descriptor,
                                     EBB_ENVD_UNARY, NULL };
    ebb_envd_rpc rpc = { .method = &method };
    Filesystem__EntryInfo info = FILESYSTEM__ENTRY_INFO__INIT;
    Filesystem__ListDirResponse *response;
    ebb_buf out = { 0 }, one = { 0 };
    char name[201];
    ebb_err err;
    int i;

    (void)state;
    memset(name, 'n', 200);
    name[200] = '\0';
    info.name = name;
    ebb_envd_list_end(&rpc, &out);
    assert_string_equal(out.bytes, "{}");
    ebb_buf_reset(&out);
    rpc.binary = true;
    for (i = 0; i < 3; i++) {
        ebb_buf_reset(&one);
        assert_int_equal(ebb_envd_encode(&rpc, &info.base, &one, &err), 0);
        ebb_envd_list_add(&rpc, &out, &one);
    }
    ebb_envd_list_end(&rpc, &out);
    response = (Filesystem__ListDirResponse *)ebb_proto_unpack(
        &filesystem__list_dir_response__descriptor, out.bytes, out.n, &err);
    assert_non_null(response);
    assert_int_equal(response->n_entries, 3);
    assert_string_equal(response->entries[2]->name, name);
    protobuf_c_message_free_unpacked(&response->base, NULL);
    rpc.binary = false;
    name[1] = '\0';
    ebb_buf_reset(&out);
    for (i = 0; i < 2; i++) {
        ebb_buf_reset(&one);
        assert_int_equal(ebb_envd_encode(&rpc, &info.base, &one, &err), 0);
        ebb_envd_list_add(&rpc, &out, &one);
    }
    ebb_envd_list_end(&rpc, &out);
    assert_string_equal(out.bytes,
                        "{\"entries\":[{\"name\":\"n\"},{\"name\":\"n\"}]}");
    ebb_buf_clear(&out);
    ebb_buf_clear(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_in_the_type_of_the_request),
        cmocka_unit_test(binary_data_frames_are_what_protobuf_writes),
        cmocka_unit_test(json_data_frames_say_their_length),
        cmocka_unit_test(a_listing_adds_up_to_its_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
