/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What an answer of E2B means as an error of ours: by its HTTP status first,
 * then by Should-Retry and Retry-After, with the service's own words cut short
 * and every secret of the call taken out of them.
 */

#include "base/err.h"
#include "base/value.h"
#include "e2b/job.h"
#include "wire/connect.h"

/* The service's words, as a message may quote them. */
#define EBB_E2B_WORDS_BYTES 160

/* The error of an HTTP status; msg is "<what>: <words> (HTTP <status>)". */
void ebb_e2b_error_status(const ebb_e2b_job *job,
                          const ebb_e2b_transfer *transfer, const char *what,
                          ebb_err *err);

/*
 * Whether a status says for certain that a request of class none, which had
 * reached its service whole, was refused: 4xx, but not 408, which a proxy
 * answers for a service that is late.
 */
bool ebb_e2b_error_refuses(int status);

/* The "message" of a JSON body, else the body's beginning. */
void ebb_e2b_error_words(const ebb_e2b_job *job,
                         const ebb_e2b_transfer *transfer,
                         char words[EBB_E2B_WORDS_BYTES]);

/* Any text of a service, made fit to be quoted; one that is cut ends in "…". */
void ebb_e2b_error_quote(const ebb_e2b_job *job, const char *text, size_t n,
                         char words[EBB_E2B_WORDS_BYTES]);

/*
 * Takes out the API key, the sandbox's tokens and the values of the input's
 * envs. Output of a command is not a message: what a program prints stays.
 */
void ebb_e2b_error_redact(const ebb_e2b_job *job, char *text);

/* Of a Connect error's code, for calls on files (missing is file_not_found). */
ebb_code ebb_e2b_error_file_code(ebb_connect_code code);

/*
 * A unary call's error body {"code","message"}: EBB_CONNECT_OK when it is
 * something else.
 */
ebb_connect_code ebb_e2b_error_connect(const ebb_e2b_transfer *transfer);
