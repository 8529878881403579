/* SPDX-License-Identifier: MIT */
#include "sandbox/service/auth.h"

#include "base/digest.h"
#include "sandbox/service/reply.h"

#include <string.h>
#include <unistd.h>

/* The texts of e2b.md 4.1, which name what is wrong with the key. */
#define KEY_PREFIX "e2b_"

bool ebb_auth_check_peer(ebb_exchange *exchange)
{
    uid_t peer;

    if (!ebb_exchange_is_unix(exchange))
        return true;
    peer = ebb_exchange_peer_uid(exchange);
    if (peer == geteuid())
        return true;
    ebb_service_reply_error(exchange, 403, "this socket serves uid %ld only",
                            (long)geteuid());
    return false;
}

/* Every key is compared, so that the time tells nothing about which fits. */
static bool is_known(const ebb_service_config *config, const char *key)
{
    bool known = false;
    size_t i;

    for (i = 0; i < config->api_keys_count; i++)
        known |= ebb_digest_equal(config->api_keys[i], key);
    return known;
}

bool ebb_auth_check_key(const ebb_service *service, ebb_exchange *exchange)
{
    const char *key;

    if (ebb_exchange_is_unix(exchange))
        return true;
    key = ebb_exchange_header(exchange, "X-API-Key");
    if (key == NULL || *key == '\0') {
        ebb_service_reply_error(exchange, 401,
                                "authorization header is missing");
        return false;
    }
    if (is_known(&service->config, key))
        return true;
    if (strncmp(key, KEY_PREFIX, strlen(KEY_PREFIX)) != 0)
        ebb_service_reply_error(exchange, 401,
                                "authorization header is malformed");
    else
        ebb_service_reply_error(
            exchange, 401,
            "Invalid API key: it is none that this service was started with");
    return false;
}
