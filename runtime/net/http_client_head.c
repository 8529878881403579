/* SPDX-License-Identifier: MIT */
#include "net/http_client_private.h"

#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void ebb_http_head_init(ebb_http_head *head)
{
    *head = (ebb_http_head){ 0 };
    /* A field "a:" and its line end become three bytes: never longer. */
    ebb_buf_init(&head->fields, EBB_HTTP_HEAD_MAX);
}

void ebb_http_head_clear(ebb_http_head *head)
{
    ebb_buf_clear(&head->fields);
}

/* "HTTP/1.1 200 OK": a new head begins. */
static int add_status(ebb_http_head *head, const char *line, size_t n)
{
    const char *space = memchr(line, ' ', n);

    ebb_buf_reset(&head->fields);
    head->status = 0;
    if (space == NULL)
        return -1;
    for (const char *c = space + 1;
         c < line + n && *c >= '0' && *c <= '9' && head->status < 1000; c++)
        head->status = head->status * 10 + (*c - '0');
    return 0;
}

static int add_field(ebb_http_head *head, const char *line, size_t n)
{
    const char *colon = memchr(line, ':', n);
    const char *value;

    /* Without a colon, or folded (RFC 9112 5.2): nobody of ours sends it. */
    if (colon == NULL || is_blank(line[0]))
        return 0;
    value = colon + 1;
    n -= (size_t)(value - line);
    while (n > 0 && is_blank(*value)) {
        value++;
        n--;
    }
    while (n > 0 && is_blank(value[n - 1]))
        n--;
    if (ebb_buf_add(&head->fields, line, (size_t)(colon - line)) != 0 ||
        ebb_buf_add_byte(&head->fields, '\0') != 0 ||
        ebb_buf_add(&head->fields, value, n) != 0 ||
        ebb_buf_add_byte(&head->fields, '\0') != 0)
        return -1;
    return 0;
}

int ebb_http_head_add(ebb_http_head *head, const char *line, size_t n)
{
    if (head->done)
        return 0; /* a trailer */
    head->bytes += n;
    if (head->bytes > EBB_HTTP_HEAD_MAX)
        return -1;
    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0)
        return add_status(head, line, n);
    if (n > 0 && line[0] != '\r' && line[0] != '\n')
        return add_field(head, line, n);
    head->done = head->status >= 200;
    return 0;
}

int ebb_http_status(const ebb_http_call *call)
{
    return call->head.done ? call->head.status : 0;
}

const char *ebb_http_answer_header(const ebb_http_call *call, const char *name)
{
    const ebb_buf *fields = &call->head.fields;
    const char *at = fields->bytes;

    if (!call->head.done)
        return NULL;
    while (at != NULL && at < fields->bytes + fields->n) {
        const char *value = at + strlen(at) + 1;

        if (strcasecmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}
