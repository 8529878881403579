/* SPDX-License-Identifier: MIT */
#include "base/value_private.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <string.h>

#define MEMBERS_MAX  (UINT32_MAX / 2)
#define BRANCHES_MIN 16 /* fewer members are looked at one by one */

/* ---- keys ---- */

bool ebb_member_takes(const char *key, size_t n)
{
    return ebb_utf8_is_plain(key, n) ||
           (memchr(key, '\0', n) == NULL && ebb_utf8_valid(key, n));
}

const char *ebb_member_key(const ebb_member *member)
{
    const char *key;

    if (!ebb_member_is_long(member))
        return member->key;
    memcpy(&key, member->key, sizeof key);
    return key;
}

static int set_key(ebb_member *member, const char *key, size_t n)
{
    char *copy;

    *member = (ebb_member){ 0 };
    if (n < EBB_KEY_BYTES) {
        memcpy(member->key, key, n);
        return 0;
    }
    copy = ebb_mem_dup_n(key, n);
    memcpy(member->key, &copy, sizeof copy);
    member->key[EBB_KEY_BYTES - 1] = 1;
    return copy != NULL ? 0 : -1;
}

static void clear_member(ebb_member *member)
{
    char *key;

    ebb_value_free(member->value);
    if (!ebb_member_is_long(member))
        return;
    memcpy(&key, member->key, sizeof key);
    ebb_mem_free(key);
}

/* As strcmp, with a key of n bytes. */
static int compare(const char *key, size_t n, const ebb_member *member)
{
    const char *own = ebb_member_key(member);
    int order = n > 0 && *key != *own
                    ? (unsigned char)*key - (unsigned char)*own
                    : strncmp(key, own, n);

    return order != 0 || own[n] == '\0' ? order : -1;
}

/* ---- the tree ---- */

/* A left child of the same level becomes the parent. */
static uint32_t skew(ebb_branch *b, uint32_t at)
{
    uint32_t left = b[at].left;

    if (b[left].level != b[at].level)
        return at;
    b[at].left = b[left].right;
    b[left].right = at;
    return left;
}

/* Of three of one level in a row the middle one rises. */
static uint32_t split(ebb_branch *b, uint32_t at)
{
    uint32_t right = b[at].right;

    if (b[b[right].right].level != b[at].level)
        return at;
    b[at].right = b[right].left;
    b[right].left = at;
    b[right].level++;
    return right;
}

/* Takes a member into the tree below at, and gives its new root. */
static uint32_t insert(ebb_object *o, uint32_t at, uint32_t number)
{
    const char *key = ebb_member_key(&o->members[number - 1]);
    ebb_branch *b = o->branches;

    if (at == 0) {
        b[number] = (ebb_branch){ .level = 1 };
        return number;
    }
    if (compare(key, strlen(key), &o->members[at - 1]) < 0)
        b[at].left = insert(o, b[at].left, number);
    else
        b[at].right = insert(o, b[at].right, number);
    return split(b, skew(b, at));
}

/* Without memory for it members are looked at one by one. */
static void grow_tree(ebb_object *o)
{
    o->branches = ebb_mem_alloc((o->room + 1) * sizeof *o->branches);
    if (o->branches == NULL)
        return;
    o->branches[0] = (ebb_branch){ 0 };
    o->root = 0;
    for (uint32_t i = 1; i <= o->head.n; i++)
        o->root = insert(o, o->root, i);
}

static void drop_tree(ebb_object *o)
{
    ebb_mem_free(o->branches);
    o->branches = NULL;
}

static ebb_member *find_in_tree(const ebb_object *o, const char *key, size_t n)
{
    uint32_t at = o->root;

    while (at != 0) {
        int order = compare(key, n, &o->members[at - 1]);

        if (order == 0)
            return &o->members[at - 1];
        at = order < 0 ? o->branches[at].left : o->branches[at].right;
    }
    return NULL;
}

/* ---- members ---- */

/* Of two short keys the first byte and the length tell most apart. */
static bool has_key(const ebb_member *member, const char *key, size_t n)
{
    if (n == 0 || n >= EBB_KEY_BYTES)
        return compare(key, n, member) == 0;
    return member->key[0] == key[0] && member->key[n] == '\0' &&
           !ebb_member_is_long(member) && memcmp(member->key, key, n) == 0;
}

ebb_member *ebb_object_find(const ebb_object *o, const char *key, size_t n)
{
    if (o->branches != NULL)
        return find_in_tree(o, key, n);
    for (size_t i = 0; i < o->head.n; i++)
        if (has_key(&o->members[i], key, n))
            return &o->members[i];
    return NULL;
}

static int make_room(ebb_object *o, size_t room)
{
    bool is_first = o->members == o->few;
    ebb_member *members;

    if (room <= o->room)
        return 0;
    if (room > MEMBERS_MAX)
        return -1;
    members =
        ebb_mem_resize(is_first ? NULL : o->members, room * sizeof *members);
    if (members == NULL)
        return -1;
    if (is_first)
        memcpy(members, o->few, o->head.n * sizeof *members);
    o->members = members;
    o->room = room;
    drop_tree(o);
    return 0;
}

ebb_member *ebb_object_add(ebb_object *o, const char *key, size_t n)
{
    ebb_member *member;

    if (o->head.n == o->room && make_room(o, 2 * o->room) != 0)
        return NULL;
    member = &o->members[o->head.n];
    if (set_key(member, key, n) != 0)
        return NULL;
    o->head.n++;
    if (o->branches != NULL)
        o->root = insert(o, o->root, (uint32_t)o->head.n);
    else if (o->head.n > BRANCHES_MIN)
        grow_tree(o);
    return member;
}

void ebb_object_del(ebb_object *o, ebb_member *member)
{
    size_t after = (size_t)(o->members + o->head.n - member) - 1;

    clear_member(member);
    memmove(member, member + 1, after * sizeof *member);
    o->head.n--;
    drop_tree(o);
    if (o->head.n > BRANCHES_MIN)
        grow_tree(o);
}

void ebb_object_clear(ebb_object *o)
{
    for (size_t i = 0; i < o->head.n; i++)
        clear_member(&o->members[i]);
    if (o->members != o->few)
        ebb_mem_free(o->members);
    drop_tree(o);
}

int ebb_object_copy(ebb_object *copy, const ebb_object *o, int depth)
{
    if (make_room(copy, o->head.n) != 0)
        return -1;
    for (size_t i = 0; i < o->head.n; i++) {
        const ebb_member *from = &o->members[i];
        const char *key = ebb_member_key(from);
        ebb_member *to = ebb_object_add(copy, key, strlen(key));

        if (to == NULL)
            return -1;
        to->value = ebb_value_copy_at(from->value, depth);
        if (to->value == NULL)
            return -1;
    }
    return 0;
}
