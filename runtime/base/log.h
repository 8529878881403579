/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One log line for people who operate ebb; scripts' own output is not here.
 * The sink is the one mutable global of the library: standard error unless
 * replaced.
 */

#include "base/attr.h"

EBB_C_BEGIN

typedef enum ebb_log_level {
    EBB_LOG_DEBUG,
    EBB_LOG_INFO,
    EBB_LOG_WARN,
    EBB_LOG_ERROR
} ebb_log_level;

typedef void ebb_log_sink(void *context, ebb_log_level level,
                          const char *message);

/* NULL: back to standard error. Lines below level are dropped. */
EBB_API void ebb_log_set(ebb_log_sink *sink, void *context,
                         ebb_log_level level);

EBB_API void ebb_log_write(ebb_log_level level, const char *fmt, ...)
    EBB_PRINTF(2, 3);

EBB_API const char *ebb_log_level_name(ebb_log_level level);

EBB_C_END
