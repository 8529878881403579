/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The system calls a sandbox may not make: those that reach parts of the
 * kernel no sandboxed program needs and where its holes have been. It is a
 * deny list, so ordinary programs run as they are; it is not the isolation,
 * which the namespaces are.
 */

#include "base/err.h"

/* The filter as BPF in a new memfd at its start, for bwrap --seccomp. */
int ebb_seccomp_open(ebb_err *err);
