/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One service for each state directory: an exclusive flock on a file in it,
 * which the kernel drops with the process. The file holds the owner's pid for
 * messages only.
 */

#include "base/err.h"

/*
 * Returns the descriptor that holds the lock, or -1: EBB_CONFLICT names the
 * process that holds it.
 */
int ebb_lock_open(const char *dir, ebb_err *err);
void ebb_lock_close(int fd);
