/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * From a request to its handler: who asks, data plane or control plane, which
 * route, which body.
 */

#include "net/http_server.h"

/* on_request of the servers; context is the ebb_service. */
void ebb_routes_start(void *context, ebb_exchange *exchange);
