/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The recorded exchanges with a real envd whose bytes are envd's messages, as
 * spec/fixtures/envd/decoded.tsv lists them, and how to decode one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/recorded.h"
#include "wire/connect.h"
#include "wire/filesystem.pb-c.h"
#include "wire/process.pb-c.h"
#include "wire/proto_check.h"
#include "wire/proto_json.h"

#define ENVD_DIR         "spec/fixtures/envd"
#define ENVD_PAYLOAD_MAX (64u << 10)
#define ENVD_ROWS_MAX    1000

typedef struct envd_method {
    const char *path;
    const ProtobufCMessageDescriptor *request, *answer;
} envd_method;

#define ENVD_METHOD(package, service, name, c_package, c_name)                 \
    {                                                                          \
        package "." service "/" name,                                          \
            &c_package##__##c_name##_request__descriptor,                      \
            &c_package##__##c_name##_response__descriptor                      \
    }
#define ENVD_PROCESS(name, c_name)                                             \
    ENVD_METHOD("process", "Process", name, process, c_name)
#define ENVD_FILESYSTEM(name, c_name)                                          \
    ENVD_METHOD("filesystem", "Filesystem", name, filesystem, c_name)

static const envd_method envd_methods[] = {
    ENVD_PROCESS("Start", start),
    ENVD_PROCESS("Connect", connect),
    ENVD_PROCESS("List", list),
    ENVD_PROCESS("SendInput", send_input),
    ENVD_PROCESS("StreamInput", stream_input),
    ENVD_PROCESS("SendSignal", send_signal),
    ENVD_PROCESS("CloseStdin", close_stdin),
    ENVD_PROCESS("Update", update),
    ENVD_FILESYSTEM("Stat", stat),
    ENVD_FILESYSTEM("ListDir", list_dir),
    ENVD_FILESYSTEM("MakeDir", make_dir),
    ENVD_FILESYSTEM("Move", move),
    ENVD_FILESYSTEM("Remove", remove),
    ENVD_FILESYSTEM("WatchDir", watch_dir),
    ENVD_FILESYSTEM("CreateWatcher", create_watcher),
    ENVD_FILESYSTEM("GetWatcherEvents", get_watcher_events),
    ENVD_FILESYSTEM("RemoveWatcher", remove_watcher),
};

/* A line of decoded.tsv. */
typedef struct envd_row {
    const char *name, *kind, *method, *codec, *json;
} envd_row;

static ebb_buf envd_table;
static envd_row envd_rows[ENVD_ROWS_MAX];
static size_t envd_rows_count;

static inline int envd_read_table(void **state)
{
    ebb_err err;
    char *place = NULL, *line;

    (void)state;
    if (ebb_fs_read(ENVD_DIR "/decoded.tsv", RECORDED_BYTES_MAX, &envd_table,
                    &err) < 0)
        return -1;
    for (line = strtok_r(envd_table.bytes, "\n", &place);
         line != NULL && envd_rows_count < ENVD_ROWS_MAX;
         line = strtok_r(NULL, "\n", &place)) {
        envd_row *r = &envd_rows[envd_rows_count++];
        char *inner = NULL;

        r->name = strtok_r(line, "\t", &inner);
        r->kind = strtok_r(NULL, "\t", &inner);
        r->method = strtok_r(NULL, "\t", &inner);
        r->codec = strtok_r(NULL, "\t", &inner);
        r->json = strtok_r(NULL, "\t", &inner);
    }
    return 0;
}

static inline int envd_clear_table(void **state)
{
    (void)state;
    ebb_buf_clear(&envd_table);
    return 0;
}

static inline const ProtobufCMessageDescriptor *envd_descriptor_of(
    const envd_row *r, bool request)
{
    for (size_t i = 0; i < sizeof envd_methods / sizeof *envd_methods; i++)
        if (strcmp(envd_methods[i].path, r->method) == 0)
            return request ? envd_methods[i].request : envd_methods[i].answer;
    fail_msg("%s: no method %s", r->name, r->method);
    return NULL;
}

/* Fails the test if the recording is not as it should be. */
static inline recorded envd_load(const envd_row *r, const char *ext)
{
    /* A request left open, and two answers that envd itself cut. */
    static const char *const cut[] = { "276req", "336res", "337res" };
    char key[16];
    bool whole = true;
    recorded out;

    snprintf(key, sizeof key, "%.3s%s", r->name, ext);
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        whole = whole && strcmp(cut[i], key) != 0;
    if ((recorded_read(&out, ENVD_DIR, r->name, ext) == 0) != whole)
        fail_msg("%s.%s cannot be read", r->name, ext);
    return out;
}

/* One message as JSON, by the codec of the row; NULL with err set. */
static inline ebb_value *envd_decode(const envd_row *r, bool request,
                                     const char *bytes, size_t n, ebb_err *err)
{
    const ProtobufCMessageDescriptor *descriptor =
        envd_descriptor_of(r, request);
    ProtobufCMessage *message = NULL;
    ebb_value *value;

    if (strcmp(r->codec, "proto") == 0) {
        message = ebb_proto_unpack(descriptor, bytes, n, err);
    } else {
        value = n > 0 ? ebb_value_parse(bytes, n, 0, err)
                      : ebb_value_object(); /* an empty envelope */
        if (value != NULL)
            message = ebb_proto_from_json(descriptor, value, err);
        ebb_value_free(value);
    }
    if (message == NULL)
        return NULL;
    value = ebb_proto_to_json(message, err);
    protobuf_c_message_free_unpacked(message, NULL);
    return value;
}

/* The frames of a stream as decoded.tsv has them. */
typedef struct envd_frames {
    const envd_row *r;
    bool request;
    ebb_value *list;
} envd_frames;

static inline int envd_add_frame(void *context, unsigned flags,
                                 const char *payload, size_t n, ebb_err *err)
{
    envd_frames *f = context;
    ebb_value *frame = ebb_value_object(), *content;
    ebb_buf plain = { 0 };
    bool end = (flags & EBB_CONNECT_END) != 0;

    if (flags & EBB_CONNECT_COMPRESSED) {
        assert_int_equal(recorded_inflate(&plain, payload, n), 0);
        payload = plain.bytes;
        n = plain.n;
    }
    content = end ? ebb_value_parse(payload, n, 0, err)
                  : envd_decode(f->r, f->request, payload, n, err);
    ebb_buf_clear(&plain);
    ebb_value_set(frame, "flags", ebb_value_int(flags));
    if (ebb_value_set(frame, end ? "end" : "message", content) < 0) {
        ebb_value_free(frame);
        return -1;
    }
    return ebb_value_add(f->list, frame);
}

/* All frames of a body, or NULL with err set. */
static inline ebb_value *envd_decode_stream(const envd_row *r, bool request,
                                            const ebb_buf *body, ebb_err *err)
{
    envd_frames f = { .r = r, .request = request, .list = ebb_value_array() };
    ebb_connect_reader reader;
    int result;

    ebb_connect_reader_init(&reader, ENVD_PAYLOAD_MAX, envd_add_frame, &f);
    result = ebb_connect_add(&reader, body->bytes, body->n, err);
    if (result == 0)
        result = ebb_connect_finish(&reader, err);
    ebb_connect_reader_clear(&reader);
    if (result < 0) {
        ebb_value_free(f.list);
        f.list = NULL;
    }
    return f.list;
}

static inline bool envd_is_stream(const recorded *rec)
{
    static const char prefix[] = "application/connect+";
    char type[80];

    recorded_header(rec, "Content-Type", type, sizeof type);
    return strncasecmp(type, prefix, sizeof prefix - 1) == 0;
}

static inline ebb_value *envd_decode_body(const envd_row *r, bool request,
                                          const recorded *rec, ebb_err *err)
{
    if (envd_is_stream(rec))
        return envd_decode_stream(r, request, &rec->body, err);
    if (rec->body.n == 0 && strcmp(r->codec, "json") == 0) {
        ebb_err_set(err, EBB_PROTOCOL, "no JSON at all");
        return NULL;
    }
    return envd_decode(r, request, rec->body.bytes, rec->body.n, err);
}
