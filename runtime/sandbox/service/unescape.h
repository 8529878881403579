/* SPDX-License-Identifier: MIT */
#pragma once

/* Percent-decoding of one layer, in place. */

#include <stdbool.h>

/* %xx and "+" as a space. false: a broken escape, or one that makes a NUL. */
bool ebb_unescape(char *text);
