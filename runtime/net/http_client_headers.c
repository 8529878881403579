/* SPDX-License-Identifier: MIT */

/*
 * The header lines of a request, as libcurl reads them: a list, here with its
 * texts in one block.
 */

#include "net/http_client_private.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define OWN_MAX 2 /* lines that are not the caller's */

typedef struct lines {
    struct curl_slist *at;
    char *text;
} lines;

static bool has_control(const char *text)
{
    for (;; text++) {
        unsigned char c = (unsigned char)*text;

        if (c >= ' ' && c < 0x7F)
            continue; /* nearly every one */
        if (c == '\0')
            return false;
        if (c < 0x80 && c != '\t')
            return true;
    }
}

static bool is_header(const ebb_http_header *h)
{
    return h->name[0] != '\0' && !has_control(h->name) &&
           strpbrk(h->name, ":; \t") == NULL &&
           (h->value == NULL || !has_control(h->value));
}

/* With the NUL after it; a value needs ": " before it. */
static size_t line_bytes(const ebb_http_header *h)
{
    return strlen(h->name) + (h->value == NULL ? 0 : strlen(h->value)) + 3;
}

/* libcurl's notation: "Name:" removes, "Name;" is one without a value. */
static void add_line(lines *to, const char *name, const char *value)
{
    to->at->data = to->text;
    to->at->next = to->at + 1;
    to->at++;
    to->text = stpcpy(to->text, name);
    if (value == NULL)
        to->text = stpcpy(to->text, ":");
    else if (value[0] == '\0')
        to->text = stpcpy(to->text, ";");
    else
        to->text = stpcpy(stpcpy(to->text, ": "), value);
    to->text++;
}

int ebb_http_headers_set(ebb_http_call *call, const ebb_http_request *request,
                         ebb_err *err)
{
    size_t n = request->headers_count, bytes = 0;
    bool has_type = false;
    lines to;

    for (size_t i = 0; i < n; i++) {
        const ebb_http_header *h = &request->headers[i];

        if (!is_header(h))
            return ebb_err_set(err, EBB_INVALID_INPUT,
                               "%s: header '%s' is not one", call->where,
                               h->name);
        has_type = has_type || strcasecmp(h->name, "Content-Type") == 0;
        bytes += line_bytes(h);
    }
    bytes += sizeof "Expect:" + sizeof "Content-Type:";
    call->headers = ebb_mem_alloc((n + OWN_MAX) * sizeof *to.at + bytes);
    if (call->headers == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "%s", call->where);
    to.at = call->headers;
    to.text = (char *)(to.at + n + OWN_MAX);
    for (size_t i = 0; i < n; i++)
        add_line(&to, request->headers[i].name, request->headers[i].value);
    /* Else libcurl waits a second for "100 Continue" before a large body. */
    add_line(&to, "Expect", NULL);
    if (!has_type) /* else libcurl says that the body is a form */
        add_line(&to, "Content-Type", NULL);
    to.at[-1].next = NULL;
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    return 0;
}
