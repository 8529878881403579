/* SPDX-License-Identifier: MIT */
#include "sandbox/service/envd/files_head.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT   "text/plain; charset=utf-8"
#define OCTETS "application/octet-stream"

static const struct {
    const char *extension, *type;
} types[] = {
    { ".avif", "image/avif" },
    { ".bin", OCTETS },
    { ".css", "text/css; charset=utf-8" },
    { ".csv", "text/csv; charset=utf-8" },
    { ".gif", "image/gif" },
    { ".gz", "application/gzip" },
    { ".htm", "text/html; charset=utf-8" },
    { ".html", "text/html; charset=utf-8" },
    { ".jpeg", "image/jpeg" },
    { ".jpg", "image/jpeg" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".json", "application/json" },
    { ".md", "text/markdown; charset=utf-8" },
    { ".mjs", "text/javascript; charset=utf-8" },
    { ".mp3", "audio/mpeg" },
    { ".mp4", "video/mp4" },
    { ".pdf", "application/pdf" },
    { ".png", "image/png" },
    { ".py", "text/x-python; charset=utf-8" },
    { ".svg", "image/svg+xml" },
    { ".tar", "application/x-tar" },
    { ".txt", TEXT },
    { ".wasm", "application/wasm" },
    { ".webp", "image/webp" },
    { ".xml", "text/xml; charset=utf-8" },
    { ".zip", "application/zip" },
};

static const struct {
    const char *bytes;
    size_t n;
    const char *type;
} magic[] = {
    { "%PDF-", 5, "application/pdf" },
    { "\x89PNG\r\n\x1a\n", 8, "image/png" },
    { "\xff\xd8\xff", 3, "image/jpeg" },
    { "GIF87a", 6, "image/gif" },
    { "GIF89a", 6, "image/gif" },
    { "\x1f\x8b\x08", 3, "application/x-gzip" },
    { "PK\x03\x04", 4, "application/zip" },
};

/* Control characters that no text has (mimesniff.spec.whatwg.org, 3). */
static bool looks_binary(const char *bytes, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c <= 0x08 || c == 0x0b || (c >= 0x0e && c <= 0x1a) ||
            (c >= 0x1c && c <= 0x1f))
            return true;
    }
    return false;
}

const char *ebb_files_type(const char *name, const char *bytes, size_t n)
{
    const char *dot = strrchr(name, '.');
    size_t i;

    for (i = 0; dot && i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(dot, types[i].extension) == 0)
            return types[i].type;
    }
    for (i = 0; i < sizeof magic / sizeof magic[0]; i++) {
        if (n >= magic[i].n && memcmp(bytes, magic[i].bytes, magic[i].n) == 0)
            return magic[i].type;
    }
    return looks_binary(bytes, n) ? OCTETS : TEXT;
}

/* Of a token (RFC 9110, 5.6.2). */
static bool is_token_byte(unsigned char c)
{
    return isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Of an extended value (RFC 8187, 3.2.1). */
static bool is_plain_byte(unsigned char c)
{
    return is_token_byte(c) && !strchr("*'%", c);
}

static void write_extended(const char *name, ebb_buf *out)
{
    ebb_buf_add_text(out, "inline; filename*=utf-8''");
    for (; *name; name++) {
        if (is_plain_byte((unsigned char)*name))
            ebb_buf_add_byte(out, *name);
        else
            ebb_buf_printf(out, "%%%02X", (unsigned char)*name);
    }
}

void ebb_files_write_disposition(const char *name, ebb_buf *out)
{
    bool token = *name != '\0';
    const char *p;

    for (p = name; *p; p++) {
        if (*p < ' ' || *p > '~') { /* chars above 0x7e are negative */
            write_extended(name, out);
            return;
        }
        token = token && is_token_byte((unsigned char)*p);
    }
    if (token) {
        ebb_buf_printf(out, "inline; filename=%s", name);
        return;
    }
    ebb_buf_add_text(out, "inline; filename=\"");
    for (p = name; *p; p++) {
        if (*p == '"' || *p == '\\')
            ebb_buf_add_byte(out, '\\');
        ebb_buf_add_byte(out, *p);
    }
    ebb_buf_add_byte(out, '"');
}

void ebb_files_write_date(time_t when, char out[EBB_FILES_DATE_BYTES])
{
    struct tm tm;

    /* In the C locale, which a service never leaves. */
    gmtime_r(&when, &tm);
    strftime(out, EBB_FILES_DATE_BYTES, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

/* Reads decimal digits; false if there are none or too many. */
static bool read_number(const char **at, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    *out = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0;
}

ebb_files_range ebb_files_parse_range(const char *header, uint64_t size,
                                      uint64_t *offset, uint64_t *length)
{
    uint64_t first, last = UINT64_MAX;
    const char *p;

    if (!header || strncmp(header, "bytes=", 6) != 0 || strchr(header, ','))
        return EBB_FILES_WHOLE;
    p = header + 6;
    if (*p == '-') { /* the last bytes */
        p++;
        if (!read_number(&p, &last) || *p)
            return EBB_FILES_WHOLE;
        if (last == 0 || size == 0)
            return EBB_FILES_UNSATISFIABLE;
        *offset = last < size ? size - last : 0;
        *length = size - *offset;
        return EBB_FILES_PART;
    }
    if (!read_number(&p, &first) || *p++ != '-' ||
        (*p && (!read_number(&p, &last) || *p)) || last < first)
        return EBB_FILES_WHOLE;
    if (first >= size)
        return EBB_FILES_UNSATISFIABLE;
    *offset = first;
    *length = (last < size ? last : size - 1) - first + 1;
    return EBB_FILES_PART;
}

/* The weight of one coding among others, or -1 if it is not named. */
static double weight_of(const char *header, const char *coding)
{
    size_t n = strlen(coding);

    while (*header) {
        size_t length;

        header += strspn(header, " \t,");
        length = strcspn(header, ",");
        if (length >= n && strncasecmp(header, coding, n) == 0 &&
            strchr(" \t;,", header[n])) {
            const char *q = strchr(header, '=');

            return q && q < header + length ? strtod(q + 1, NULL) : 1.0;
        }
        header += length;
    }
    return -1.0;
}

bool ebb_files_takes_identity(const char *header)
{
    double weight;

    if (!header)
        return true;
    weight = weight_of(header, "identity");
    if (weight < 0)
        weight = weight_of(header, "*");
    return weight != 0.0;
}
