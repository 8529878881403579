/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The data plane: finds the sandbox and the port that an exchange is for, by
 * its Host, its routing headers or the signature of its URL, and hands it to
 * the part that serves the port. The answers of e2b.md 9 are its own.
 */

#include "net/http_server.h"
#include "sandbox/service/sandbox.h"

#include <stdbool.h>

/* false: it is none of the data plane, and untouched. */
bool ebb_proxy_start(ebb_service *service, ebb_exchange *exchange);
