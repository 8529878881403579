/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A recorded HTTP/1.1 request or answer, read from spec/fixtures: its first
 * line, the headers by name, and the body without chunks and gzip. It takes
 * what was recorded from a real server; it is no HTTP parser for anything
 * else.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <zlib.h>

#include "base/buf.h"
#include "base/fs.h"

#define RECORDED_BYTES_MAX (1u << 20)

typedef struct recorded {
    ebb_buf head; /* the first line and the headers */
    ebb_buf body;
} recorded;

static inline void recorded_clear(recorded *r)
{
    ebb_buf_clear(&r->head);
    ebb_buf_clear(&r->body);
}

/* The value of a header as it was sent, in out; "" if there is none. */
static inline const char *recorded_header(const recorded *r, const char *name,
                                          char *out, size_t n)
{
    size_t length = strlen(name);
    const char *line = strstr(r->head.bytes, "\r\n");

    out[0] = '\0';
    for (; line != NULL; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, length) == 0 &&
            line[2 + length] == ':') {
            line += 2 + length + 1;
            line += strspn(line, " ");
            snprintf(out, n, "%.*s", (int)strcspn(line, "\r"), line);
            break;
        }
    return out;
}

static inline int recorded_status(const recorded *r)
{
    const char *space = strchr(r->head.bytes, ' ');

    return space != NULL ? atoi(space + 1) : 0;
}

/* Appends what n bytes of gzip hold. */
static inline int recorded_inflate(ebb_buf *out, const char *bytes, size_t n)
{
    z_stream z = { 0 };
    char chunk[4096];
    int result = Z_OK;

    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return -1;
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)n;
    while (result == Z_OK) {
        z.next_out = (Bytef *)chunk;
        z.avail_out = sizeof chunk;
        result = inflate(&z, Z_NO_FLUSH);
        ebb_buf_add(out, chunk, sizeof chunk - z.avail_out);
    }
    inflateEnd(&z);
    return result == Z_STREAM_END && !out->failed ? 0 : -1;
}

static inline int recorded_dechunk(ebb_buf *out, const char *p, size_t n)
{
    const char *end = p + n;

    for (;;) {
        char *line_end;
        unsigned long size = p < end ? strtoul(p, &line_end, 16) : 0;

        if (size == 0)
            return p < end ? 0 : -1; /* the last chunk, or none */
        p = line_end + 2;
        if (size > (size_t)(end - p))
            return -1;
        ebb_buf_add(out, p, size);
        p += size + 2;
    }
}

static inline int recorded_body(recorded *r, const char *p, size_t n)
{
    ebb_buf plain = { 0 };
    char value[64];
    int result = 0;

    recorded_header(r, "Transfer-Encoding", value, sizeof value);
    if (strcmp(value, "chunked") == 0)
        result = recorded_dechunk(&r->body, p, n);
    else
        ebb_buf_add(&r->body, p, n);
    recorded_header(r, "Content-Encoding", value, sizeof value);
    if (result == 0 && strcmp(value, "gzip") == 0) {
        result = recorded_inflate(&plain, r->body.bytes, r->body.n);
        ebb_buf_clear(&r->body);
        r->body = plain;
    }
    return result;
}

/* Reads DIR/NAME.EXT. A cut chunked body is -1 and what there is of it. */
static inline int recorded_read(recorded *r, const char *dir, const char *name,
                                const char *ext)
{
    ebb_buf all = { 0 };
    const char *blank;
    char path[256];
    ebb_err err;
    int result = -1;

    *r = (recorded){ 0 };
    snprintf(path, sizeof path, "%s/%s.%s", dir, name, ext);
    if (ebb_fs_read(path, RECORDED_BYTES_MAX, &all, &err) < 0 || all.n == 0)
        goto done;
    blank = strstr(all.bytes, "\r\n\r\n");
    if (blank == NULL)
        goto done;
    blank += 4;
    ebb_buf_add(&r->head, all.bytes, (size_t)(blank - all.bytes));
    result = recorded_body(r, blank, all.n - (size_t)(blank - all.bytes));
done:
    ebb_buf_clear(&all);
    return result;
}
