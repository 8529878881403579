/* SPDX-License-Identifier: MIT */

/*
 * The URL of a call: parsed before libcurl has it, so that a bad one is an
 * error of start, and kept for the next call, which often goes to the same
 * place: a command after a command.
 */

#include "net/http_client_private.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* Nothing is left in url on failure. */
static int parse(ebb_http_url *url, const char *text, ebb_err *err)
{
    char *scheme = NULL;
    bool good;

    url->parts = curl_url();
    url->text = ebb_mem_dup(text);
    if (url->parts == NULL || url->text == NULL) {
        ebb_http_url_clear(url);
        ebb_err_set(err, EBB_NO_MEMORY, "HTTP request");
        return -1;
    }
    good =
        curl_url_set(url->parts, CURLUPART_URL, text, CURLU_PATH_AS_IS) ==
            CURLUE_OK &&
        curl_url_get(url->parts, CURLUPART_HOST, &url->host, 0) == CURLUE_OK &&
        url->host != NULL &&
        curl_url_get(url->parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        strncmp(scheme, "http", 4) == 0;
    curl_free(scheme);
    if (good)
        return 0;
    ebb_http_url_clear(url);
    ebb_err_set(err, EBB_INVALID_INPUT, "'%s' is not an HTTP URL", text);
    return -1;
}

static bool is_loopback(const char *host)
{
    size_t n = strlen(host);

    return strcasecmp(host, "localhost") == 0 ||
           (n > 10 && strcasecmp(host + n - 10, ".localhost") == 0) ||
           strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
}

/* The path and query stay out of messages: they may hold secrets. */
static int set_where(ebb_http_call *call, const char *method, ebb_err *err)
{
    const char *host = call->url.host;

    call->where = ebb_mem_printf("%s %s", method, host);
    if (call->where == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "HTTP request");
    return 0;
}

int ebb_http_url_set(ebb_http_call *call, const ebb_http_request *request,
                     ebb_err *err)
{
    ebb_http_url *kept = &call->client->spare_url;

    if (kept->text != NULL && strcmp(kept->text, request->url) == 0) {
        call->url = *kept;
        *kept = (ebb_http_url){ 0 };
    } else if (parse(&call->url, request->url, err) != 0) {
        return -1;
    }
    if (set_where(call, request->method, err) != 0)
        return -1;
    if (request->socket_path != NULL || is_loopback(call->url.host))
        curl_easy_setopt(call->easy, CURLOPT_NOPROXY, "*");
    /* libcurl goes by the parts; the text spares it to make one of them. */
    curl_easy_setopt(call->easy, CURLOPT_URL, request->url);
    curl_easy_setopt(call->easy, CURLOPT_CURLU, call->url.parts);
    return 0;
}

void ebb_http_url_give(ebb_http_client *client, ebb_http_url *url)
{
    if (url->text == NULL)
        return; /* it was no good */
    ebb_http_url_clear(&client->spare_url);
    client->spare_url = *url;
    *url = (ebb_http_url){ 0 };
}

void ebb_http_url_clear(ebb_http_url *url)
{
    ebb_mem_free(url->text);
    curl_url_cleanup(url->parts);
    curl_free(url->host);
    *url = (ebb_http_url){ 0 };
}
