/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * One HTTP request to E2B and its answer: where it goes (control plane, envd,
 * code interpreter), which headers it carries, which credential. It reads no
 * meaning into answers.
 *
 * The API key goes to the control plane only, a sandbox's tokens to that
 * sandbox only.
 */

#include "base/buf.h"
#include "base/err.h"
#include "net/http_client.h"

#include <stdbool.h>
#include <stddef.h>

struct ebb_e2b;

/* Which of E2B's three services; of the two in a sandbox, its port. */
typedef enum ebb_e2b_port {
    EBB_E2B_CONTROL = 0,
    EBB_E2B_ENVD = 49983,
    EBB_E2B_CODE = 49999
} ebb_e2b_port;

/* A sandbox as its data plane is reached. Strings are owned. */
typedef struct ebb_e2b_target {
    char *id;
    char *domain;        /* NULL: the place's */
    char *token;         /* X-Access-Token, or NULL */
    char *traffic_token; /* E2B-Traffic-Access-Token, or NULL */
    char *envd_version;  /* or NULL */
} ebb_e2b_target;

void ebb_e2b_target_clear(ebb_e2b_target *target);

/* -1: no memory, and the copy is empty. */
int ebb_e2b_target_copy(ebb_e2b_target *copy, const ebb_e2b_target *target);

typedef struct ebb_e2b_transfer ebb_e2b_transfer;

/* Borrowed for ebb_e2b_transfer_start. */
typedef struct ebb_e2b_transfer_config {
    ebb_e2b_port port;
    const ebb_e2b_target *target; /* NULL for the control plane */
    const char *method;
    const char *path; /* from its first slash, with the query */
    const char *content_type;
    const char *body;
    size_t body_n;
    const ebb_http_piece *pieces; /* instead of body: as ebb_http_request's */
    size_t pieces_count;
    const char *user;               /* by Basic, or NULL */
    const ebb_http_header *headers; /* further ones */
    size_t headers_count;
    ebb_http_limits limits;
    size_t answer_max; /* of what is kept of an answer (64 KiB) */

    void *context;
    /* The body of a 200 as it comes, instead of keeping it. -1 stops. */
    int (*on_body)(void *context, const char *bytes, size_t n);
    /* As ebb_http_request's; goes on by ebb_e2b_transfer_continue. */
    void (*before_body)(void *context);
    bool unheld; /* as ebb_http_request's */
    /* The end, once, unless cancelled; the transfer is freed after it. */
    void (*on_done)(void *context, ebb_e2b_transfer *transfer,
                    const ebb_err *err);
} ebb_e2b_transfer_config;

ebb_e2b_transfer *ebb_e2b_transfer_start(struct ebb_e2b *e2b,
                                         const ebb_e2b_transfer_config *config,
                                         ebb_err *err);

/* Drops it; nothing comes any more. NULL is fine. */
void ebb_e2b_transfer_cancel(ebb_e2b_transfer *transfer);

void ebb_e2b_transfer_continue(ebb_e2b_transfer *transfer);

/* Of the answer: 0 before its head, NULL if absent, what was kept. */
int ebb_e2b_transfer_status(const ebb_e2b_transfer *transfer);
const char *ebb_e2b_transfer_header(const ebb_e2b_transfer *transfer,
                                    const char *name);
const ebb_buf *ebb_e2b_transfer_body(const ebb_e2b_transfer *transfer);
bool ebb_e2b_transfer_was_sent(const ebb_e2b_transfer *transfer);
