/* SPDX-License-Identifier: MIT */
#include "e2b/tasks/sandboxes.h"

#include <string.h>

#include "base/mem.h"
#include "e2b/control.h"
#include "e2b/tasks/result.h"
#include "e2b/state.h"

#define PAGES_MAX       1000
#define QUERY_BYTES_MAX 65536

/*
 * Escaped three times a byte becomes nine: a longer value would pass what
 * servers take as a URL. Then everything is listed and looked at.
 */
#define FILTER_BYTES_MAX 512

/* Escapes again what was escaped before; frees it. */
static char *escape_again(char *text)
{
    char *escaped = text == NULL ? NULL : ebb_http_escape(text, strlen(text));

    ebb_mem_free(text);
    return escaped;
}

/*
 * The filter's three layers: each key and value percent-encoded, the pairs
 * form-encoded, and the whole percent-encoded as the value of "metadata".
 */
static char *filter(const char *key, const char *value)
{
    char *k = escape_again(ebb_http_escape(key, strlen(key)));
    char *v = escape_again(ebb_http_escape(value, strlen(value)));
    char *pair = NULL;

    if (k != NULL && v != NULL)
        pair = ebb_mem_printf("%s=%s", k, v);
    ebb_mem_free(k);
    ebb_mem_free(v);
    return escape_again(pair);
}

static char *write_path(const ebb_e2b_sandboxes *listing)
{
    bool v1 = listing->job->e2b->list_v1;
    char *metadata = NULL, *token = NULL;
    ebb_buf path;

    ebb_buf_init(&path, QUERY_BYTES_MAX);
    ebb_buf_add_text(&path, v1 ? "/sandboxes?"
                               : "/v2/sandboxes?state=running%2Cpaused"
                                 "&limit=100&");
    if (listing->key != NULL && strlen(listing->value) <= FILTER_BYTES_MAX) {
        metadata = filter(listing->key, listing->value);
        ebb_buf_printf(&path, "metadata=%s&", metadata ? metadata : "");
        path.failed = path.failed || metadata == NULL;
    }
    if (listing->token != NULL) {
        token = ebb_http_escape(listing->token, strlen(listing->token));
        ebb_buf_printf(&path, "nextToken=%s&", token ? token : "");
        path.failed = path.failed || token == NULL;
    }
    ebb_mem_free(metadata);
    ebb_mem_free(token);
    if (path.failed) {
        ebb_buf_clear(&path);
        return NULL;
    }
    path.bytes[--path.n] = '\0'; /* the last & or ? */
    return ebb_buf_take(&path);
}

static void end(ebb_e2b_sandboxes *listing, const ebb_err *err)
{
    ebb_e2b_job *job = listing->job;

    job->listing = NULL;
    ebb_e2b_sandboxes_clear(listing);
    listing->on_end(job, err);
}

static void next_page(ebb_e2b_sandboxes *listing);

/* Takes the token of the next page: 1 if there is one, 0 at the last. */
static int take_token(ebb_e2b_sandboxes *listing, const char *token,
                      ebb_err *err)
{
    if (token == NULL || *token == '\0')
        return 0;
    if (++listing->pages >= PAGES_MAX ||
        (listing->token != NULL && strcmp(listing->token, token) == 0))
        return ebb_err_set(err, EBB_PROTOCOL,
                           "the list of sandboxes has no end (page %u)",
                           listing->pages);
    ebb_mem_free(listing->token);
    listing->token = ebb_mem_dup(token);
    if (listing->token == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "list of sandboxes");
    return 1;
}

static int take_items(ebb_e2b_sandboxes *listing, const ebb_value *items,
                      ebb_err *err)
{
    if (ebb_value_type(items) != EBB_ARRAY)
        return ebb_err_set(err, EBB_PROTOCOL,
                           "the list of sandboxes is no list");
    for (size_t i = 0; i < ebb_value_size(items); i++)
        if (listing->on_item(listing->job, ebb_value_at(items, i), err) != 0)
            return -1;
    return 0;
}

static void on_answer(ebb_e2b_job *job, const ebb_e2b_answer *answer)
{
    ebb_e2b_sandboxes *listing = job->listing;
    ebb_err err = { 0 };
    int more;

    if (answer->status == 404 && !job->e2b->list_v1) {
        /* A list is never absent: this server knows the older route only. */
        job->e2b->list_v1 = true;
        next_page(listing);
        return;
    }
    if (answer->err != NULL) {
        end(listing, answer->err);
        return;
    }
    if (take_items(listing, answer->json, &err) != 0) {
        end(listing, &err);
        return;
    }
    more = take_token(listing, answer->next_token, &err);
    if (more > 0)
        next_page(listing);
    else
        end(listing, more < 0 ? &err : NULL);
}

static void next_page(ebb_e2b_sandboxes *listing)
{
    char *path = write_path(listing);
    ebb_e2b_control control = {
        .method = "GET",
        .path = path,
        .on_answer = on_answer,
    };

    ebb_e2b_control_start(listing->job, &control);
    ebb_mem_free(path);
}

void ebb_e2b_sandboxes_start(ebb_e2b_sandboxes *listing, ebb_e2b_job *job)
{
    listing->job = job;
    job->listing = listing;
    listing->pages = 0;
    next_page(listing);
}

void ebb_e2b_sandboxes_clear(ebb_e2b_sandboxes *listing)
{
    ebb_mem_free(listing->token);
    listing->token = NULL;
}

/* ---- for `ebb sandbox list` ---- */

typedef struct list_all {
    ebb_e2b_job job;
    ebb_e2b_sandboxes listing;
    ebb_value *found;
} list_all;

/* The listing is an attempt like any other, with a starter of its own. */
typedef struct list_call {
    ebb_attempt attempt;
    void (*done)(void *context, ebb_value *sandboxes, const ebb_err *err);
    void *context;
} list_call;

static int add_item(ebb_e2b_job *job, const ebb_value *item, ebb_err *err)
{
    list_all *all = (list_all *)job;
    ebb_value *sandbox = ebb_e2b_sandbox(item, err);

    if (sandbox == NULL)
        return -1;
    if (ebb_value_add(all->found, sandbox) != 0)
        return ebb_err_set(err, EBB_NO_MEMORY, "list of sandboxes");
    return 0;
}

static void all_listed(ebb_e2b_job *job, const ebb_err *err)
{
    list_all *all = (list_all *)job;
    ebb_value *found = all->found;

    if (err != NULL) {
        ebb_e2b_job_fail(job, err, NULL);
        return;
    }
    all->found = NULL;
    ebb_e2b_job_finish(job, found);
}

static void all_begin(ebb_e2b_job *job)
{
    list_all *all = (list_all *)job;

    all->listing =
        (ebb_e2b_sandboxes){ .on_item = add_item, .on_end = all_listed };
    all->found = ebb_value_array();
    if (all->found == NULL)
        ebb_e2b_job_no_memory(job);
    else
        ebb_e2b_sandboxes_start(&all->listing, job);
}

static void all_clear(ebb_e2b_job *job)
{
    list_all *all = (list_all *)job;

    ebb_value_free(all->found);
    ebb_e2b_sandboxes_clear(&all->listing);
}

static void all_after(ebb_attempt *attempt, ebb_value *result,
                      const ebb_err *err, ebb_value *details)
{
    list_call *call = attempt->starter;

    ebb_value_free(details);
    call->done(call->context, result, err);
    ebb_mem_free(call);
}

void ebb_e2b_list(ebb_e2b *e2b,
                  void (*done)(void *context, ebb_value *sandboxes,
                               const ebb_err *err),
                  void *context)
{
    static const ebb_attempt_hooks hooks = { .after = all_after };
    list_call *call = ebb_mem_zero(sizeof *call);
    ebb_err err = { 0 };

    if (call == NULL) {
        ebb_err_set(&err, EBB_NO_MEMORY, "list of sandboxes");
        done(context, NULL, &err);
        return;
    }
    call->done = done;
    call->context = context;
    call->attempt = (ebb_attempt){
        .clock = e2b->config.clock,
        .deadline_ms = EBB_NO_DEADLINE,
        .number = 1,
        .hooks = &hooks,
        .starter = call,
        .context = e2b,
    };
    ebb_e2b_job_start(&call->attempt, sizeof(list_all), all_begin, all_clear);
}
