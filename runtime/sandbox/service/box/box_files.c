/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/service/box/box_parts.h"

#include <errno.h>
#include <string.h>

/*
 * A request about a path, with second (or NULL) after it; NULL if there is no
 * memory. A path that cannot be sent fails the request later, as all errors.
 */
static ebb_box_request *new_request(uint32_t type, const char *name,
                                    const char *path, void *context)
{
    ebb_box_request *request = ebb_box_request_new(type, name, context);

    if (request == NULL)
        return NULL;
    request->path = ebb_mem_dup(path);
    if (request->path != NULL)
        return request;
    ebb_mem_free(request);
    return NULL;
}

static int check_path(const ebb_box_request *request, const char *path,
                      ebb_err *err)
{
    if (path[0] != '/')
        return ebb_err_set_status(err, EBB_INVALID_INPUT, EINVAL,
                                  "%s %s: the path is not absolute",
                                  request->name, path);
    if (strlen(path) >= EBB_AGENT_PATH_BYTES_MAX)
        return ebb_err_set_status(err, EBB_INVALID_INPUT, ENAMETOOLONG,
                                  "%s: the path is too long", request->name);
    return 0;
}

/* Sends it with its path and n more bytes of text, whole strings. */
static void start(ebb_box *box, ebb_box_request *request,
                  ebb_agent_head *head, const char *more, size_t n)
{
    ebb_buf text;

    ebb_buf_init(&text, EBB_AGENT_TEXT_BYTES_MAX);
    ebb_buf_add(&text, request->path, strlen(request->path) + 1);
    if (n > 0)
        ebb_buf_add(&text, more, n);
    head->bytes = (uint32_t)text.n;
    head->count++;
    if (check_path(request, request->path, &request->err) < 0 ||
        ebb_buf_check(&text, request->name, &request->err) < 0)
        ebb_box_request_fail(box, request);
    else
        ebb_box_request_start(box, request, head, text.bytes, NULL, 0);
    ebb_buf_clear(&text);
}

static void no_memory(ebb_err *err, const char *name)
{
    ebb_err_set(err, EBB_NO_MEMORY, "%s", name);
}

void ebb_box_stat(ebb_box *box, const char *path, ebb_box_stat_fn *done,
                  void *context)
{
    ebb_box_request *request =
        new_request(EBB_AGENT_LIST, "stat", path, context);
    ebb_agent_head head = { .value = 0, .limit = 1 };
    ebb_err err;

    if (request == NULL) {
        no_memory(&err, "stat");
        done(context, NULL, &err);
        return;
    }
    request->fn.stat = done;
    request->stat = true;
    request->entries_left = 1;
    start(box, request, &head, NULL, 0);
}

void ebb_box_list(ebb_box *box, const char *path, unsigned depth,
                  size_t entries_max,
                  void (*on_entry)(void *context,
                                   const ebb_box_entry *entry),
                  ebb_box_done_fn *done, void *context)
{
    ebb_box_request *request =
        new_request(EBB_AGENT_LIST, "list", path, context);
    uint32_t limit =
        entries_max < UINT32_MAX ? (uint32_t)entries_max : UINT32_MAX;
    ebb_agent_head head = { .value = depth > 0 ? depth : 1, .limit = limit };
    ebb_err err;

    if (request == NULL) {
        no_memory(&err, "list");
        done(context, &err);
        return;
    }
    request->fn.done = done;
    request->on_entry = on_entry;
    request->entries_left = limit;
    start(box, request, &head, NULL, 0);
}

/* A request about a path that is answered by done alone. */
static void change(ebb_box *box, ebb_box_request *request, const char *more,
                   size_t n, ebb_box_done_fn *done)
{
    ebb_agent_head head = { .count = 0 };

    request->fn.done = done;
    for (size_t i = 0; i < n; i++)
        head.count += more[i] == '\0';
    start(box, request, &head, more, n);
}

void ebb_box_make_dir(ebb_box *box, const char *path, ebb_box_done_fn *done,
                      void *context)
{
    ebb_box_request *request =
        new_request(EBB_AGENT_MAKE_DIR, "make directory", path, context);
    ebb_err err;

    if (request != NULL) {
        change(box, request, NULL, 0, done);
        return;
    }
    no_memory(&err, "make directory");
    done(context, &err);
}

void ebb_box_move(ebb_box *box, const char *from, const char *to,
                  ebb_box_done_fn *done, void *context)
{
    ebb_box_request *request =
        new_request(EBB_AGENT_MOVE, "move", from, context);
    ebb_err err;

    if (request == NULL) {
        no_memory(&err, "move");
        done(context, &err);
        return;
    }
    request->fn.done = done;
    if (check_path(request, to, &request->err) < 0)
        ebb_box_request_fail(box, request);
    else
        change(box, request, to, strlen(to) + 1, done);
}

void ebb_box_remove(ebb_box *box, const char *path, ebb_box_done_fn *done,
                    void *context)
{
    ebb_box_request *request =
        new_request(EBB_AGENT_REMOVE, "remove", path, context);
    ebb_err err;

    if (request != NULL) {
        change(box, request, NULL, 0, done);
        return;
    }
    no_memory(&err, "remove");
    done(context, &err);
}

void ebb_box_open(ebb_box *box, const char *path, unsigned how,
                  ebb_box_open_fn *done, void *context)
{
    ebb_box_request *request =
        new_request(EBB_AGENT_OPEN, "open", path, context);
    ebb_agent_head head = {
        .flags = how & EBB_BOX_WRITE ? EBB_AGENT_WRITE : 0
    };
    ebb_err err;

    if (request == NULL) {
        no_memory(&err, "open");
        done(context, -1, &err);
        return;
    }
    request->fn.opened = done;
    request->writes = how & EBB_BOX_WRITE;
    start(box, request, &head, NULL, 0);
}

void ebb_box_set_metadata(ebb_box *box, const char *path, const char *pairs,
                          size_t n, ebb_box_done_fn *done, void *context)
{
    ebb_box_request *request =
        new_request(EBB_AGENT_SET_METADATA, "set metadata of", path,
                    context);
    ebb_err err;

    if (request == NULL) {
        no_memory(&err, "set metadata");
        done(context, &err);
        return;
    }
    request->fn.done = done;
    if (n > 0 && pairs[n - 1] != '\0') {
        ebb_err_set(&request->err, EBB_INVALID_INPUT,
                    "set metadata of %s: the last value has no end", path);
        ebb_box_request_fail(box, request);
    } else {
        change(box, request, pairs, n, done);
    }
}
