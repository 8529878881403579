/* SPDX-License-Identifier: MIT */
#pragma once

/* Running a script to its end, durably or not: `ebb run`, `ebb runs resume`. */

#include "cli/cli.h"

#include "lua/ebb_lua.h"

#define EBB_SCRIPT_BYTES_MAX (16u << 20)

/*
 * Runs the script and prints what it returns or how it failed; returns the
 * exit status. run NULL: nothing is recorded. Else its id and flags are read;
 * script, sha256 and args are filled in here. A run that has ended is not
 * executed: what is recorded is printed.
 */
int ebb_script_run(ebb_cli *cli, const ebb_lua_script *script,
                   const ebb_run_config *run);

/* The name under which runs of `ebb call --id` are recorded. */
#define EBB_SCRIPT_CALL "ebb call"

/* Fills in that script's path and text. Its arguments: a task, JSON. */
void ebb_script_of_call(ebb_lua_script *script);
