/* SPDX-License-Identifier: MIT */
#include "sandbox/service/control/idempotency.h"

#include "base/digest.h"
#include "base/mem.h"

#include <string.h>

/*
 * A hash table of chains. Entries also hang in a list from the oldest to the
 * newest, which is the order in which they are forgotten.
 */
#define BUCKETS 4096u

typedef struct entry {
    struct entry *chain, *newer;
    char *key;
    char digest[EBB_SHA256_HEX];
    ebb_value *answer;  /* NULL while it is running */
    int64_t started_ms; /* steady */
} entry;

struct ebb_idempotency {
    entry *buckets[BUCKETS];
    entry *oldest, **newest_link;
    size_t count;
};

static entry **find_link(ebb_idempotency *table, const char *key)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    const char *p;
    entry **link;

    for (p = key; *p != '\0'; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    link = &table->buckets[hash % BUCKETS];
    while (*link != NULL && strcmp((*link)->key, key) != 0)
        link = &(*link)->chain;
    return link;
}

static void free_entry(entry *e)
{
    ebb_value_free(e->answer);
    ebb_mem_free(e->key);
    ebb_mem_free(e);
}

/* Takes out the entry that link, in the list of ages, points to. */
static void drop(ebb_idempotency *table, entry **link)
{
    entry *e = *link;

    *link = e->newer;
    if (e->newer == NULL)
        table->newest_link = link;
    *find_link(table, e->key) = e->chain;
    table->count--;
    free_entry(e);
}

/*
 * Forgets those that are finished and too old; and for one more in a full
 * table, the oldest that is finished.
 */
static void forget(ebb_idempotency *table, int64_t now, size_t more)
{
    entry **link = &table->oldest;

    while (*link != NULL) {
        bool old = now - (*link)->started_ms > EBB_IDEMPOTENCY_KEEP_MS;

        if (!old && table->count + more <= EBB_IDEMPOTENCY_KEYS_MAX)
            return;
        if ((*link)->answer != NULL)
            drop(table, link);
        else
            link = &(*link)->newer;
    }
}

ebb_idempotency *ebb_idempotency_new(ebb_err *err)
{
    ebb_idempotency *table = ebb_mem_zero(sizeof *table);

    if (table == NULL)
        ebb_err_set(err, EBB_NO_MEMORY, "idempotency keys");
    else
        table->newest_link = &table->oldest;
    return table;
}

void ebb_idempotency_free(ebb_idempotency *table)
{
    if (table == NULL)
        return;
    while (table->oldest != NULL)
        drop(table, &table->oldest);
    ebb_mem_free(table);
}

bool ebb_idempotency_is_key(const char *key)
{
    size_t n;

    for (n = 0; key[n] != '\0'; n++)
        if (n == EBB_IDEMPOTENCY_KEY_MAX || key[n] <= ' ' || key[n] > '~')
            return false;
    return n > 0;
}

static entry *new_entry(const char *key, const char *digest, int64_t now)
{
    entry *e = ebb_mem_zero(sizeof *e);

    if (e == NULL)
        return NULL;
    e->key = ebb_mem_dup(key);
    if (e->key == NULL) {
        ebb_mem_free(e);
        return NULL;
    }
    strncpy(e->digest, digest, sizeof e->digest - 1);
    e->started_ms = now;
    return e;
}

ebb_idempotency_verdict ebb_idempotency_start(ebb_idempotency *table,
                                              const char *key,
                                              const char *digest,
                                              int64_t now_ms,
                                              const ebb_value **answer)
{
    entry *e;

    forget(table, now_ms, 0);
    e = *find_link(table, key);
    if (e != NULL && strcmp(e->digest, digest) != 0)
        return EBB_IDEMPOTENCY_MISMATCH;
    if (e != NULL && e->answer == NULL)
        return EBB_IDEMPOTENCY_RUNNING;
    if (e != NULL) {
        *answer = e->answer;
        return EBB_IDEMPOTENCY_DONE;
    }
    forget(table, now_ms, 1);
    if (table->count >= EBB_IDEMPOTENCY_KEYS_MAX ||
        (e = new_entry(key, digest, now_ms)) == NULL)
        return EBB_IDEMPOTENCY_FULL;
    *find_link(table, key) = e;
    *table->newest_link = e;
    table->newest_link = &e->newer;
    table->count++;
    return EBB_IDEMPOTENCY_NEW;
}

void ebb_idempotency_finish(ebb_idempotency *table, const char *key,
                            const ebb_value *answer)
{
    entry *e = *find_link(table, key);

    if (e == NULL || e->answer != NULL)
        return;
    e->answer = ebb_value_copy(answer);
    if (e->answer == NULL)
        ebb_idempotency_del(table, key);
}

void ebb_idempotency_del(ebb_idempotency *table, const char *key)
{
    entry **link = &table->oldest;

    while (*link != NULL && strcmp((*link)->key, key) != 0)
        link = &(*link)->newer;
    if (*link != NULL)
        drop(table, link);
}
