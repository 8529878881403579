/* SPDX-License-Identifier: MIT */
#include "sandbox/service/table.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"

#include <string.h>
#include <unistd.h>

struct ebb_graves {
    struct {
        char id[EBB_SANDBOX_ID_BYTES];
        const char *cause;
        int64_t ended_ms;
    } graves[EBB_GRAVES_MAX]; /* a ring */
    size_t next;
};

ebb_graves *ebb_table_new_graves(void)
{
    return ebb_mem_zero(sizeof(ebb_graves));
}

ebb_sandbox *ebb_table_find(const ebb_service *service, const char *id)
{
    ebb_sandbox *s;

    for (s = service->sandboxes; s != NULL; s = s->next)
        if (strcmp(s->id, id) == 0)
            return s;
    return NULL;
}

const char *ebb_table_find_template(const char *name)
{
    static const char *const names[] = { "base", "code-interpreter-v1" };
    size_t i;

    for (i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    return NULL;
}

bool ebb_table_is_id(const char *id)
{
    return strlen(id) == EBB_SANDBOX_ID_BYTES - 1 && id[0] == 'i' &&
           strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789") ==
               EBB_SANDBOX_ID_BYTES - 1;
}

static bool uid_is_used(const ebb_service *service, uid_t uid)
{
    const ebb_sandbox *s;

    for (s = service->sandboxes; s != NULL; s = s->next)
        if (s->uid == uid)
            return true;
    return false;
}

/* At most sandboxes_count uids are used, so one more look finds a free one. */
static int choose_uid(ebb_service *service, ebb_sandbox *sandbox, ebb_err *err)
{
    uint32_t count = service->config.uid_count;
    size_t tries;

    if (geteuid() != 0) {
        sandbox->uid = geteuid();
        return 0;
    }
    for (tries = 0; tries <= service->sandboxes_count && tries < count;
         tries++) {
        uid_t uid = service->config.uid_first + service->uid_next % count;

        service->uid_next = (service->uid_next + 1) % count;
        if (uid_is_used(service, uid))
            continue;
        sandbox->uid = uid;
        return 0;
    }
    return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                       "all %lu uids of --uid-range are in use",
                       (unsigned long)count);
}

int ebb_table_name(ebb_service *service, ebb_sandbox *sandbox, bool secured,
                   ebb_err *err)
{
    if (service->sandboxes_count >= EBB_SANDBOXES_MAX)
        return ebb_err_set(err, EBB_LIMIT_EXCEEDED,
                           "there are %d sandboxes already; kill some",
                           EBB_SANDBOXES_MAX);
    if (choose_uid(service, sandbox, err) != 0)
        return -1;
    sandbox->id[0] = 'i';
    if (ebb_id_random(sandbox->id + 1, EBB_SANDBOX_ID_BYTES - 1, err) != 0)
        return -1;
    if (secured)
        return ebb_id_hex(sandbox->token, EBB_SANDBOX_TOKEN_BYTES, err);
    sandbox->token[0] = '\0';
    return 0;
}

void ebb_table_add(ebb_service *service, ebb_sandbox *sandbox)
{
    sandbox->next = service->sandboxes;
    service->sandboxes = sandbox;
    service->sandboxes_count++;
}

void ebb_table_add_grave(ebb_service *service, const char *id,
                         const char *cause)
{
    ebb_graves *graves = service->graves;
    size_t at = graves->next;

    graves->next = (at + 1) % EBB_GRAVES_MAX;
    memcpy(graves->graves[at].id, id, EBB_SANDBOX_ID_BYTES);
    graves->graves[at].cause = cause;
    graves->graves[at].ended_ms = ebb_clock_wall_ms(ebb_clock_real());
}

void ebb_table_del(ebb_service *service, ebb_sandbox *sandbox,
                   const char *cause)
{
    ebb_sandbox **link = &service->sandboxes;

    while (*link != NULL && *link != sandbox)
        link = &(*link)->next;
    if (*link == NULL)
        return;
    *link = sandbox->next;
    service->sandboxes_count--;
    if (cause != NULL)
        ebb_table_add_grave(service, sandbox->id, cause);
}

bool ebb_table_find_grave(const ebb_service *service, const char *id,
                          int64_t *ended_ms, const char **cause)
{
    const ebb_graves *graves = service->graves;
    size_t i;

    for (i = 0; i < EBB_GRAVES_MAX; i++) {
        if (strcmp(graves->graves[i].id, id) != 0)
            continue;
        *ended_ms = graves->graves[i].ended_ms;
        *cause = graves->graves[i].cause;
        return graves->graves[i].cause != NULL;
    }
    return false;
}
