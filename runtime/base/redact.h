/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Takes a secret out of text that people will see: by its value, wherever it
 * stands, not by the name of a header or a variable. It knows no secrets; who
 * writes a message does.
 *
 * A value that is too short to be told from ordinary words stays.
 */

#include <stddef.h>

#define EBB_REDACT_KEY_BYTES_MIN 4 /* of API keys and access tokens */
#define EBB_REDACT_ENV_BYTES_MIN 8 /* of values that a caller calls envs */

/*
 * Replaces every copy of secret by "***", also one that the end of the text
 * cuts short and one whose line breaks have become spaces. Nothing is done for
 * NULL and for secrets below bytes_min (at least 3).
 */
void ebb_redact(char *text, const char *secret, size_t bytes_min);
