/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * sandbox.json: what of a sandbox must survive the service. It is written
 * aside, fsynced and renamed at each change of life, and read with suspicion:
 * only a file of ours, whole and in range, is taken.
 */

#include "base/err.h"
#include "sandbox/service/sandbox.h"

#include <stdint.h>
#include <sys/types.h>

/* Makes the sandbox's directory with its empty home. */
int ebb_state_make_dir(const ebb_sandbox *sandbox, ebb_err *err);

int ebb_state_write(const ebb_sandbox *sandbox, ebb_err *err);

/* Removes the file, so that a half-removed directory is never taken back. */
void ebb_state_del(const ebb_sandbox *sandbox);

/*
 * What the file in dir says: id, state, process. sandbox->dir and life must be
 * set by the caller; the strings and values become the sandbox's. A file that
 * is missing or makes no sense is EBB_FILE_NOT_FOUND or EBB_PROTOCOL; one of
 * another version of ebb EBB_UNSUPPORTED.
 */
int ebb_state_parse(ebb_sandbox *sandbox, ebb_err *err);

/* When the process was started, in clock ticks since boot; 0: no process. */
uint64_t ebb_state_pid_start(pid_t pid);
