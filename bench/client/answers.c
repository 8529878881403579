/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "answers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

#define FILE_BYTES    262144
#define ENTRIES       100
#define BATCH_BYTES   262144
#define BATCHES       8
#define FRAME_BYTES   65536
#define ID_BYTES      64
#define JSON          "application/json"
#define ENTRY_SECONDS 1796000000

static const char execution[] =
    "{\"type\": \"number_of_executions\", \"execution_count\": 1}\n"
    "{\"type\": \"stdout\", \"text\": \"hi\\n\", \"timestamp\": \"x\"}\n"
    "{\"type\": \"result\", \"text\": \"2\", \"is_main_result\": true}\n"
    "{\"type\": \"end_of_execution\"}\n";

/* ---- protobuf and Connect ---- */

static void add_varint(ebb_buf *out, uint64_t value)
{
    for (; value > 0x7F; value >>= 7)
        ebb_buf_add_byte(out, (char)(value | 0x80));
    ebb_buf_add_byte(out, (char)value);
}

static void add_number(ebb_buf *out, unsigned field, uint64_t value)
{
    add_varint(out, field << 3);
    add_varint(out, value);
}

static void add_bytes(ebb_buf *out, unsigned field, const char *bytes, size_t n)
{
    add_varint(out, field << 3 | 2);
    add_varint(out, n);
    ebb_buf_add(out, bytes, n);
}

static void add_text(ebb_buf *out, unsigned field, const char *text)
{
    add_bytes(out, field, text, strlen(text));
}

/* Moves the message into a field of another. */
static void wrap(ebb_buf *message, unsigned field)
{
    ebb_buf outer;

    ebb_buf_init(&outer, 0);
    add_bytes(&outer, field, message->bytes ? message->bytes : "", message->n);
    ebb_buf_clear(message);
    *message = outer;
}

/* One envelope as one chunk, as connect-go flushes them. */
static void add_envelope(ebb_buf *out, char flags, const char *payload,
                         size_t n)
{
    char head[] = { flags, (char)(n >> 24), (char)(n >> 16), (char)(n >> 8),
                    (char)n };

    ebb_buf_printf(out, "%zx\r\n", n + sizeof head);
    ebb_buf_add(out, head, sizeof head);
    ebb_buf_add(out, payload, n);
    ebb_buf_add_text(out, "\r\n");
}

/* An event of a command, field of ProcessEvent; json is its other form. */
static void add_event(ebb_buf *out, bool binary, unsigned field,
                      ebb_buf *message, const char *json)
{
    if (binary) {
        wrap(message, field);
        wrap(message, 1);
        add_envelope(out, 0, message->bytes, message->n);
    } else {
        add_envelope(out, 0, json, strlen(json));
    }
    ebb_buf_clear(message);
}

static void add_output(ebb_buf *out, bool binary, size_t n)
{
    static char bytes[FRAME_BYTES];
    ebb_buf message, json;

    for (size_t i = 0; i < n; i++)
        bytes[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 26);
    ebb_buf_init(&message, 0);
    ebb_buf_init(&json, 0);
    ebb_buf_add_text(&json, "{\"event\":{\"data\":{\"stdout\":\"");
    ebb_base64_write(&json, bytes, n);
    ebb_buf_add_text(&json, "\"}}}");
    add_bytes(&message, 1, bytes, n);
    add_event(out, binary, 2, &message, json.bytes);
    ebb_buf_clear(&json);
}

/* Many envelopes of one size, made once; *unit is the bytes of one. */
static const ebb_buf *find_batch(size_t frame, bool binary, size_t *unit)
{
    static struct batch {
        ebb_buf bytes;
        size_t frame, unit;
        bool binary;
    } batches[BATCHES];
    struct batch *b = batches;

    while (b->frame != 0 && (b->frame != frame || b->binary != binary))
        if (++b == batches + BATCHES)
            abort(); /* the bench has fewer */
    if (b->frame == 0) {
        b->frame = frame;
        b->binary = binary;
        add_output(&b->bytes, binary, frame);
        b->unit = b->bytes.n;
        while (b->bytes.n < BATCH_BYTES)
            add_output(&b->bytes, binary, frame);
    }
    *unit = b->unit;
    return &b->bytes;
}

/* ---- heads ---- */

static void respond(answer *a, const char *status, const char *type,
                    const char *body, size_t n)
{
    ebb_buf_printf(&a->head,
                   "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
                   "Content-Length: %zu\r\n\r\n",
                   status, type, n);
    ebb_buf_add(&a->head, body, n);
}

static void respond_text(answer *a, const char *body)
{
    respond(a, "200 OK", JSON, body, strlen(body));
}

/* ---- a command ---- */

/* The number after a word of the command, and the one after a slash. */
static size_t number_after(const request *r, const char *word, size_t *second)
{
    const char *at = memmem(r->body, r->body_n, word, strlen(word));
    char *end;
    size_t value;

    if (at == NULL)
        return 0;
    value = strtoul(at + strlen(word), &end, 10); /* the body ends in a NUL */
    if (second != NULL && *end == '/')
        *second = strtoul(end + 1, NULL, 10);
    return value;
}

static void run(answer *a, const request *r)
{
    bool binary = strstr(r->content_type, "+proto") != NULL;
    size_t frame = 0, unit = 0;
    size_t bytes = number_after(r, "out=", &frame);
    ebb_buf message;

    ebb_buf_printf(&a->head,
                   "HTTP/1.1 200 OK\r\nContent-Type: application/connect+%s"
                   "\r\nTransfer-Encoding: chunked\r\n\r\n",
                   binary ? "proto" : "json");
    ebb_buf_init(&message, 0);
    add_number(&message, 1, 1234);
    add_event(&a->head, binary, 1, &message,
              "{\"event\":{\"start\":{\"pid\":1234}}}");
    if (frame > 0 && frame <= FRAME_BYTES) {
        a->batch = find_batch(frame, binary, &unit);
        a->batch_bytes = bytes / frame * unit;
    }
    ebb_buf_init(&message, 0);
    add_number(&message, 2, 1);
    add_text(&message, 3, "exit status 0");
    add_event(&a->tail, binary, 3, &message,
              "{\"event\":{\"end\":{\"exited\":true,"
              "\"status\":\"exit status 0\"}}}");
    add_envelope(&a->tail, 2, "{}", 2);
    ebb_buf_add_text(&a->tail, "0\r\n\r\n");
    a->hold_ms = (int64_t)number_after(r, "hold=", NULL);
}

/* ---- files ---- */

static void add_entry(ebb_buf *out, bool binary, const char *name, size_t size)
{
    ebb_buf entry, when;

    if (!binary) {
        ebb_buf_printf(out,
                       "{\"name\":\"%s\",\"type\":\"FILE_TYPE_FILE\",\"path\":"
                       "\"/home/user/%s\",\"size\":\"%zu\",\"mode\":420,"
                       "\"permissions\":\"-rw-r--r--\",\"owner\":\"user\","
                       "\"group\":\"user\",\"modifiedTime\":"
                       "\"2026-11-29T15:00:00Z\"}",
                       name, name, size);
        return;
    }
    ebb_buf_init(&entry, 0);
    ebb_buf_init(&when, 0);
    add_text(&entry, 1, name);
    add_number(&entry, 2, 1);
    add_varint(&entry, 3 << 3 | 2);
    add_varint(&entry, strlen("/home/user/") + strlen(name));
    ebb_buf_printf(&entry, "/home/user/%s", name);
    add_number(&entry, 4, size);
    add_number(&entry, 5, 0644);
    add_text(&entry, 6, "-rw-r--r--");
    add_text(&entry, 7, "user");
    add_text(&entry, 8, "user");
    add_number(&when, 1, ENTRY_SECONDS);
    add_bytes(&entry, 9, when.bytes, when.n);
    add_bytes(out, 1, entry.bytes, entry.n);
    ebb_buf_clear(&entry);
    ebb_buf_clear(&when);
}

static void stat_file(answer *a, bool binary)
{
    ebb_buf out;

    ebb_buf_init(&out, 0);
    if (!binary)
        ebb_buf_add_text(&out, "{\"entry\":");
    add_entry(&out, binary, "f", FILE_BYTES);
    if (!binary)
        ebb_buf_add_text(&out, "}");
    respond(a, "200 OK", binary ? "application/proto" : JSON, out.bytes, out.n);
    ebb_buf_clear(&out);
}

static void list_files(answer *a, bool binary)
{
    static ebb_buf made[2];
    ebb_buf *out = &made[binary];
    char name[16];

    if (out->n == 0) {
        ebb_buf_add_text(out, binary ? "" : "{\"entries\":[");
        for (int i = 0; i < ENTRIES; i++) {
            snprintf(name, sizeof name, "file%03d", i);
            ebb_buf_add_text(out, binary || i == 0 ? "" : ",");
            add_entry(out, binary, name, 1024);
        }
        ebb_buf_add_text(out, binary ? "" : "]}");
    }
    respond(a, "200 OK", binary ? "application/proto" : JSON, out->bytes,
            out->n);
}

static void read_file(answer *a)
{
    static char bytes[FILE_BYTES];

    for (size_t i = 0; bytes[0] == '\0' && i < sizeof bytes; i++)
        bytes[sizeof bytes - 1 - i] = 'x';
    respond(a, "200 OK", "application/octet-stream", bytes, sizeof bytes);
}

/* A row for each part of the upload. */
static void write_files(answer *a, const request *r)
{
    static const char word[] = "filename=\"";
    const char *at = r->body, *end = r->body + r->body_n;
    ebb_buf out;

    ebb_buf_init(&out, 0);
    ebb_buf_add_text(&out, "[");
    while ((at = memmem(at, (size_t)(end - at), word, sizeof word - 1))) {
        const char *name = at + sizeof word - 1;
        int n;

        at = memchr(name, '"', (size_t)(end - name));
        if (at == NULL)
            break;
        n = (int)(at - name);
        ebb_buf_printf(&out,
                       "%s{\"path\":\"%.*s\",\"name\":\"%.*s\",\"type\":"
                       "\"file\"}",
                       out.n > 1 ? "," : "", n, name, n, name);
    }
    ebb_buf_add_text(&out, "]");
    respond(a, "200 OK", JSON, out.bytes, out.n);
    ebb_buf_clear(&out);
}

/* ---- routes ---- */

static void sandbox(answer *a, const request *r)
{
    const char *at = strstr(r->path, "/sandboxes/");
    int n = at == NULL ? 0 : (int)strcspn(at + 11, "/?");
    ebb_buf out;

    if (strcmp(r->method, "DELETE") == 0 || n == 0 || n >= ID_BYTES) {
        respond_text(a, "[]");
        return;
    }
    ebb_buf_init(&out, 0);
    ebb_buf_printf(&out,
                   "{\"templateID\":\"base\",\"sandboxID\":\"%.*s\","
                   "\"alias\":\"base\",\"clientID\":\"6532622b\","
                   "\"envdVersion\":\"0.6.13\",\"envdAccessToken\":\"token\","
                   "\"domain\":null}",
                   n, at + 11);
    respond(a, "200 OK", JSON, out.bytes, out.n);
    ebb_buf_clear(&out);
}

void answer_make(answer *a, const request *r)
{
    bool binary = strstr(r->content_type, "proto") != NULL;
    size_t n = strcspn(r->path, "?");
    bool files = n == 6 && memcmp(r->path, "/files", 6) == 0;

    if (strstr(r->path, "/sandboxes") != NULL)
        sandbox(a, r);
    else if (strcmp(r->path, "/process.Process/Start") == 0)
        run(a, r);
    else if (strcmp(r->path, "/filesystem.Filesystem/Stat") == 0)
        stat_file(a, binary);
    else if (strcmp(r->path, "/filesystem.Filesystem/ListDir") == 0)
        list_files(a, binary);
    else if (files && strcmp(r->method, "GET") == 0)
        read_file(a);
    else if (files)
        write_files(a, r);
    else if (strcmp(r->path, "/execute") == 0)
        respond(a, "200 OK", "text/plain", execution, sizeof execution - 1);
    else
        respond(a, "404 Not Found", JSON, "{}", 2);
}
