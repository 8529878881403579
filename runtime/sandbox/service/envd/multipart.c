/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "sandbox/service/envd/multipart.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BOUNDARY_BYTES_MAX 70u /* RFC 2046, 5.1.1 */

enum state {
    BODY_START, /* at the CRLF before a body, or before an empty body's end */
    BODY,       /* inside a part, or in what comes before the first */
    HEAD,       /* behind a boundary's CRLF */
    DONE        /* behind the last boundary; the rest is ignored */
};

struct ebb_multipart {
    const ebb_multipart_sink *sink;
    void *context;
    enum state state;
    bool in_part; /* false in the preamble */
    bool paused;
    unsigned parts;
    ebb_buf held;                           /* not yet read */
    size_t read;                            /* of held */
    char delimiter[BOUNDARY_BYTES_MAX + 5]; /* CRLF "--" boundary */
    size_t delimiter_n;
};

/* A parameter of a header, as mime.ParseMediaType of Go reads it. */
struct parameter {
    const char *name;
    size_t name_n;
    ebb_buf value;
};

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/*
 * Reads a quoted string. A backslash escapes only what is special in a
 * header, so that filename="C:\dev\x" keeps its backslashes.
 */
static const char *read_quoted(const char *p, ebb_buf *out)
{
    for (p++; *p && *p != '"'; p++) {
        if (*p == '\\' && p[1] && strchr("()<>@,;:\\\"/[]?=", p[1]))
            p++;
        ebb_buf_add_byte(out, *p);
    }
    return *p == '"' ? p + 1 : NULL;
}

/* Reads "; name=value" at p: behind it, or NULL if there is no more. */
static const char *read_parameter(const char *p, struct parameter *out)
{
    p = skip_blanks(p);
    if (*p != ';')
        return NULL;
    p = skip_blanks(p + 1);
    out->name = p;
    out->name_n = strcspn(p, "=; \t");
    p = skip_blanks(p + out->name_n);
    if (*p != '=' || out->name_n == 0)
        return NULL;
    p = skip_blanks(p + 1);
    ebb_buf_reset(&out->value);
    if (*p == '"') {
        p = read_quoted(p, &out->value);
    } else {
        size_t n = strcspn(p, "; \t");

        ebb_buf_add(&out->value, p, n);
        p += n;
    }
    return out->value.failed ? NULL : p;
}

/* The value of a parameter of a header as a new string, or NULL. */
static char *find_parameter(const char *header, const char *name)
{
    struct parameter parameter = { 0 };
    const char *p = header + strcspn(header, ";");
    char *found = NULL;

    ebb_buf_init(&parameter.value, EBB_MULTIPART_HEAD_BYTES_MAX);
    while (!found && (p = read_parameter(p, &parameter)) != NULL) {
        if (parameter.name_n == strlen(name) &&
            strncasecmp(parameter.name, name, parameter.name_n) == 0)
            found = ebb_mem_dup_n(parameter.value.bytes ? parameter.value.bytes
                                                        : "",
                                  parameter.value.n);
    }
    ebb_buf_clear(&parameter.value);
    return found;
}

ebb_multipart *ebb_multipart_new(const char *content_type,
                                 const ebb_multipart_sink *sink, void *context,
                                 ebb_err *err)
{
    char *boundary = find_parameter(content_type, "boundary");
    ebb_multipart *multipart = NULL;

    if (!boundary || !*boundary || strlen(boundary) > BOUNDARY_BYTES_MAX) {
        ebb_err_set(err, EBB_INVALID_INPUT,
                    "no multipart boundary param in Content-Type");
        goto done;
    }
    multipart = ebb_mem_zero(sizeof *multipart);
    if (!multipart) {
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for an upload");
        goto done;
    }
    multipart->sink = sink;
    multipart->context = context;
    ebb_buf_init(&multipart->held, EBB_MULTIPART_HELD_BYTES_MAX);
    snprintf(multipart->delimiter, sizeof multipart->delimiter, "\r\n--%s",
             boundary);
    multipart->delimiter_n = strlen(multipart->delimiter);
    /* The first boundary stands at a line's beginning like all others. */
    if (ebb_buf_add_text(&multipart->held, "\r\n") != 0) {
        ebb_err_set(err, EBB_NO_MEMORY, "no memory for an upload");
        ebb_multipart_free(multipart);
        multipart = NULL;
    }
done:
    ebb_mem_free(boundary);
    return multipart;
}

void ebb_multipart_free(ebb_multipart *multipart)
{
    if (!multipart)
        return;
    ebb_buf_clear(&multipart->held);
    ebb_mem_free(multipart);
}

static int emit(ebb_multipart *m, size_t n, ebb_err *err)
{
    const char *bytes = m->held.bytes + m->read;

    m->read += n;
    if (n == 0 || !m->in_part)
        return 0;
    return m->sink->on_bytes(m->context, bytes, n, err);
}

/* How many bytes at the end of p may begin a delimiter. */
static size_t partial(const ebb_multipart *m, const char *p, size_t n)
{
    size_t keep = n < m->delimiter_n - 1 ? n : m->delimiter_n - 1;

    while (keep > 0 && memcmp(p + n - keep, m->delimiter, keep) != 0)
        keep--;
    return keep;
}

/*
 * At a whole delimiter: what two bytes follow decides. Returns 1 to go on, 0
 * when more bytes are needed.
 */
static int take_delimiter(ebb_multipart *m, ebb_err *err)
{
    const char *p = m->held.bytes + m->read + m->delimiter_n;
    size_t n = m->held.n - m->read - m->delimiter_n;
    bool last, next;

    if (n < 2)
        return 0;
    last = memcmp(p, "--", 2) == 0;
    next = memcmp(p, "\r\n", 2) == 0;
    if (!last && !next && m->state == BODY_START) {
        m->read += 2; /* the CRLF belongs to the head */
        m->state = BODY;
        return 1;
    }
    if (!last && !next) /* a longer word that begins like ours */
        return emit(m, 1, err) == 0 ? 1 : -1;
    if (m->in_part && m->sink->on_part_end(m->context, err) != 0)
        return -1;
    m->in_part = false;
    /* The CRLF stays: a head may be empty, and then it is its end. */
    m->read += m->delimiter_n + (last ? 2 : 0);
    m->state = last ? DONE : HEAD;
    return 1;
}

static int read_body(ebb_multipart *m, ebb_err *err)
{
    const char *p = m->held.bytes + m->read;
    size_t n = m->held.n - m->read;
    const char *found;

    if (m->state == BODY_START) {
        size_t k = n < m->delimiter_n ? n : m->delimiter_n;

        if (memcmp(p, m->delimiter, k) == 0)
            return k < m->delimiter_n ? 0 : take_delimiter(m, err);
        m->read += 2;
        m->state = BODY;
        return 1;
    }
    found = memmem(p, n, m->delimiter, m->delimiter_n);
    if (found == p)
        return take_delimiter(m, err);
    if (found)
        return emit(m, (size_t)(found - p), err) == 0 ? 1 : -1;
    return emit(m, n - partial(m, p, n), err);
}

/* Finds Content-Disposition among the lines of a head and tells the sink. */
static int begin_part(ebb_multipart *m, const char *head, ebb_err *err)
{
    static const char field[] = "\r\ncontent-disposition:";
    const char *line = strcasestr(head, field);
    char *value = NULL, *name = NULL, *filename = NULL;
    int rc;

    if (line) {
        line += sizeof field - 1;
        value = ebb_mem_dup_n(line, strcspn(line, "\r\n"));
    }
    if (value) {
        name = find_parameter(value, "name");
        filename = find_parameter(value, "filename");
    }
    m->in_part = true;
    rc = m->sink->on_part(m->context, name, filename, err);
    ebb_mem_free(value);
    ebb_mem_free(name);
    ebb_mem_free(filename);
    return rc;
}

static int read_head(ebb_multipart *m, ebb_err *err)
{
    const char *p = m->held.bytes + m->read;
    size_t n = m->held.n - m->read;
    const char *end = memmem(p, n, "\r\n\r\n", 4);
    char *head;
    int rc;

    if (!end && n <= EBB_MULTIPART_HEAD_BYTES_MAX)
        return 0;
    if (!end || end - p > (ptrdiff_t)EBB_MULTIPART_HEAD_BYTES_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "the head of a part is longer than %zu bytes",
                           EBB_MULTIPART_HEAD_BYTES_MAX);
    if (memchr(p, '\0', (size_t)(end - p)))
        return ebb_err_set(err, EBB_PROTOCOL, "NUL in the head of a part");
    if (++m->parts > EBB_MULTIPART_PARTS_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "more than %u parts in one upload",
                           EBB_MULTIPART_PARTS_MAX);
    head = ebb_mem_dup_n(p, (size_t)(end - p));
    if (!head)
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for an upload");
    m->read += (size_t)(end - p) + 2;
    m->state = BODY_START;
    rc = begin_part(m, head, err);
    ebb_mem_free(head);
    return rc == 0 ? 1 : -1;
}

/* Reads as far as the held bytes and the sink allow. */
static int run(ebb_multipart *m, ebb_err *err)
{
    int more = 1;

    while (more > 0 && !m->paused && m->state != DONE)
        more = m->state == HEAD ? read_head(m, err) : read_body(m, err);
    if (m->state == DONE)
        m->read = m->held.n;
    ebb_buf_drop(&m->held, m->read);
    m->read = 0;
    return more < 0 ? -1 : 0;
}

int ebb_multipart_add(ebb_multipart *multipart, const char *bytes, size_t n,
                      ebb_err *err)
{
    if (ebb_buf_add(&multipart->held, bytes, n) != 0)
        return ebb_buf_check(&multipart->held, "an upload's part", err);
    return multipart->paused ? 0 : run(multipart, err);
}

void ebb_multipart_pause(ebb_multipart *multipart)
{
    multipart->paused = true;
}

int ebb_multipart_resume(ebb_multipart *multipart, ebb_err *err)
{
    multipart->paused = false;
    return run(multipart, err);
}

int ebb_multipart_finish(const ebb_multipart *multipart, ebb_err *err)
{
    if (multipart->state == DONE)
        return 0;
    return ebb_err_set(err, EBB_PROTOCOL, "%s",
                       multipart->in_part ? "unexpected EOF"
                                          : "multipart: NextPart: EOF");
}
