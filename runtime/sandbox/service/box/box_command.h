/* SPDX-License-Identifier: MIT */
#pragma once

/* The command line of bubblewrap: what a sandbox is made of. */

#include "sandbox/service/box/box_parts.h"

#define EBB_BOX_ARGS_MAX 96

typedef struct ebb_box_command {
    char *args[EBB_BOX_ARGS_MAX + 1]; /* owned, NULL-terminated */
    size_t count;
    bool failed;
} ebb_box_command;

/*
 * base is where the directory above the box's own is to be found. Nothing to
 * clear after a failure.
 */
int ebb_box_command_init(ebb_box_command *command, const ebb_box *box,
                         const char *base, ebb_err *err);
void ebb_box_command_clear(ebb_box_command *command);

/* bubblewrap's path, or an error that says how to install it. */
char *ebb_box_program_find(ebb_err *err);
