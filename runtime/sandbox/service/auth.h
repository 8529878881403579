/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who may speak to the service. On the Unix socket: only our own uid, by what
 * the kernel says of the peer, and no key. On TCP the control plane wants one
 * of the API keys; the data plane has its sandboxes' own tokens, which envd
 * checks.
 */

#include "sandbox/service/service.h"

/* Each answers the exchange itself when it returns false. */
bool ebb_auth_check_peer(ebb_exchange *exchange);
bool ebb_auth_check_key(const ebb_service *service, ebb_exchange *exchange);
