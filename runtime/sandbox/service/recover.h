/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What an earlier service left in the state directory. Processes of it that
 * still run are killed, sandboxes paused without memory are taken back, and
 * everything else is removed.
 */

#include "base/err.h"
#include "sandbox/service/service.h"

int ebb_recover_start(ebb_service *service, ebb_err *err);
