/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a value is in memory: its type says which of these structs it is. A
 * leaf (null, boolean, number, string) never changes and may have several
 * owners; an array or object has one. Each is a block by itself, or a part of
 * its pool, and then nobody frees it but that.
 */

#include "base/value_pool.h"

#include <limits.h>
#include <stdatomic.h>

#define EBB_OWNERS_POOL UINT_MAX

struct ebb_value {
    ebb_type type;
    atomic_uint owners; /* 0: a constant, which is never freed */
    union {
        bool boolean;
        int64_t integer;
        double real;
        size_t n; /* bytes of a string, members of an array or object */
    };
};

typedef struct ebb_value_string {
    ebb_value head;
    char bytes[]; /* and a NUL */
} ebb_string;

typedef struct ebb_value_array {
    ebb_value head;
    size_t room;
    ebb_value **members;
    ebb_pool *pool; /* or NULL */
} ebb_array;

/*
 * Most keys are short and stand in the member itself. A longer one is a block
 * of its own, to which the first bytes point; then the last is not NUL.
 */
#define EBB_KEY_BYTES 16 /* with the NUL */

typedef struct ebb_member {
    ebb_value *value;
    char key[EBB_KEY_BYTES];
} ebb_member;

static inline bool ebb_member_is_long(const ebb_member *member)
{
    return member->key[EBB_KEY_BYTES - 1] != '\0';
}

#define EBB_MEMBERS_FEW 4 /* have their room in the object's own block */

/*
 * The members of a larger object, and a balanced tree (an AA tree) of their
 * keys: whoever sends an object chooses its keys, and no choice makes it slow.
 */
typedef struct ebb_branch {
    uint32_t left, right, level; /* numbers of members from 1; 0: none */
} ebb_branch;

typedef struct ebb_many {
    uint32_t room, root;
    ebb_branch *branches; /* room + 1; NULL: no need yet, or no memory */
    ebb_pool *pool;       /* or NULL */
    ebb_member members[];
} ebb_many;

typedef struct ebb_object {
    ebb_value head;
    ebb_many *many; /* NULL: the members are few */
    ebb_member few[EBB_MEMBERS_FEW];
} ebb_object;

/* Reading gives out members that may be changed, though it changes none. */
static inline ebb_value *ebb_value_mutable(const ebb_value *value)
{
    union {
        const ebb_value *given;
        ebb_value *same;
    } as = { .given = value };

    return as.same;
}

static inline ebb_object *ebb_object_of(const ebb_value *value)
{
    return (ebb_object *)ebb_value_mutable(value);
}

/* In order of insertion. */
static inline ebb_member *ebb_object_members(ebb_object *object)
{
    return object->many != NULL ? object->many->members : object->few;
}

void ebb_pool_free(ebb_pool *pool); /* NULL is fine */

/* As ebb_value_copy, of a value inside so many others. */
ebb_value *ebb_value_copy_at(const ebb_value *value, int depth);

/* Whether bytes can be a key: UTF-8 without NUL. */
bool ebb_member_takes(const char *key, size_t n);

const char *ebb_member_key(const ebb_member *member);

/* The member of a key of n bytes, which hold no NUL; NULL: there is none. */
ebb_member *ebb_object_find(ebb_object *object, const char *key, size_t n);

/* A new last member of a key that is not there. NULL: no memory. */
ebb_member *ebb_object_add(ebb_object *object, const char *key, size_t n);

/* Where the object keeps its pool. NULL: no memory. */
ebb_pool **ebb_object_pool(ebb_object *object);

void ebb_object_del(ebb_object *object, ebb_member *member);
void ebb_object_clear(ebb_object *object);
int ebb_object_copy(ebb_object *copy, ebb_object *object, int depth);
