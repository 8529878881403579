/* SPDX-License-Identifier: MIT */
/* libFuzzer's entry to the target that the Makefile names. */
#include "targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    EBB_FUZZ_TARGET(bytes, n);
    return 0;
}
