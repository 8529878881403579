/* SPDX-License-Identifier: MIT */

/*
 * What calls that are over leave for the next ones: libcurl's handles, because
 * to make one costs a good part of what it costs to send a request, and the
 * largest buffer of an answer, because the memory allocator gives large blocks
 * back to the kernel, which then has to clear every page of them anew.
 *
 * Every option of a call is taken back before another call gets its handle;
 * connections and names belong to the multi handle in any case, and a TLS
 * session stays with the handle, for its host. No option takes back libcurl's
 * note of a transfer that it left half done, such as that it must rewind a
 * body before it connects again: so only a handle whose transfer was complete
 * is kept.
 */

#include "net/http_client_private.h"

CURL *ebb_http_easy_take(ebb_http_client *client)
{
    if (client->spare_n > 0)
        return client->spare[--client->spare_n];
    return curl_easy_init();
}

void ebb_http_easy_give(ebb_http_client *client, CURL *easy, bool whole)
{
    if (easy == NULL)
        return;
    if (!whole || client->spare_n == EBB_HTTP_SPARE_MAX) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    client->spare[client->spare_n++] = easy;
}

void ebb_http_in_take(ebb_http_call *call)
{
    ebb_http_client *client = call->client;

    call->in = client->spare_in;
    call->in.bytes_max = call->gathers ? call->body_max : 0;
    ebb_buf_init(&client->spare_in, 0);
}

void ebb_http_in_give(ebb_http_client *client, ebb_buf *in)
{
    ebb_buf smaller = *in;

    if (in->room > client->spare_in.room && in->room <= EBB_HTTP_IN_MAX) {
        smaller = client->spare_in;
        client->spare_in = *in;
        ebb_buf_reset(&client->spare_in);
    }
    ebb_buf_clear(&smaller);
    ebb_buf_init(in, 0);
}

void ebb_http_spare_clear(ebb_http_client *client)
{
    while (client->spare_n > 0)
        curl_easy_cleanup(client->spare[--client->spare_n]);
    ebb_buf_clear(&client->spare_in);
    ebb_http_url_clear(&client->spare_url);
}
