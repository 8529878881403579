/* SPDX-License-Identifier: MIT */

/*
 * libcurl's handles of calls that are over, kept for the next ones, because to
 * make one costs a good part of what it costs to send a request. Every option
 * of a call is taken back before another call gets its handle; connections,
 * names and TLS sessions belong to the client's multi handle in any case.
 */

#include "net/http_client_private.h"

CURL *ebb_http_easy_take(ebb_http_client *client)
{
    if (client->spare_n > 0)
        return client->spare[--client->spare_n];
    return curl_easy_init();
}

void ebb_http_easy_give(ebb_http_client *client, CURL *easy)
{
    if (easy == NULL)
        return;
    if (client->spare_n == EBB_HTTP_SPARE_MAX) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    client->spare[client->spare_n++] = easy;
}

void ebb_http_easy_clear(ebb_http_client *client)
{
    while (client->spare_n > 0)
        curl_easy_cleanup(client->spare[--client->spare_n]);
}
