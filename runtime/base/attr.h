/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The compiler attributes ebb uses, under names of its own. Nothing else in
 * the tree writes __attribute__.
 */

/* Part of the shared library's interface; everything else is hidden. */
#define EBB_API __attribute__((visibility("default")))

/* Arguments checked like printf's: fmt and first are 1-based positions. */
#define EBB_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* Ignoring what the function returns is a mistake. */
#define EBB_NODISCARD __attribute__((warn_unused_result))

/* Calls fn with the address of the variable when it goes out of scope. */
#define EBB_CLEANUP(fn) __attribute__((cleanup(fn)))

#define EBB_UNUSED __attribute__((unused))

/* Does not return. */
#define EBB_NORETURN __attribute__((noreturn))

/* Around the declarations of a public header: C names in C++ too. */
#ifdef __cplusplus
#define EBB_C_BEGIN extern "C" {
#define EBB_C_END   }
#else
#define EBB_C_BEGIN
#define EBB_C_END
#endif
