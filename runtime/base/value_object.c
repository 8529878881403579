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
static uint32_t insert(ebb_many *many, uint32_t at, uint32_t number)
{
    const char *key = ebb_member_key(&many->members[number - 1]);
    ebb_branch *b = many->branches;

    if (at == 0) {
        b[number] = (ebb_branch){ .level = 1 };
        return number;
    }
    if (compare(key, strlen(key), &many->members[at - 1]) < 0)
        b[at].left = insert(many, b[at].left, number);
    else
        b[at].right = insert(many, b[at].right, number);
    return split(b, skew(b, at));
}

/* A tree may have lost a level below at: lowers and turns what stands out. */
static uint32_t balance(ebb_branch *b, uint32_t at)
{
    uint32_t left = b[b[at].left].level, right = b[b[at].right].level;
    uint32_t level = (left < right ? left : right) + 1;

    if (level < b[at].level) {
        b[at].level = level;
        if (level < right)
            b[b[at].right].level = level;
    }
    at = skew(b, at);
    b[at].right = skew(b, b[at].right);
    if (b[at].right != 0)
        b[b[at].right].right = skew(b, b[b[at].right].right);
    at = split(b, at);
    if (b[at].right != 0)
        b[at].right = split(b, b[at].right);
    return at;
}

/* Takes a member out of the tree below at, and gives its new root. */
static uint32_t take_out(ebb_many *many, uint32_t at, uint32_t number)
{
    const char *key = ebb_member_key(&many->members[number - 1]);
    ebb_branch *b = many->branches;
    uint32_t heir = b[at].left;

    if (at == number && heir == 0)
        return b[at].right;
    if (at == number) { /* the key before it takes its place */
        while (b[heir].right != 0)
            heir = b[heir].right;
        b[at].left = take_out(many, b[at].left, heir);
        b[heir] = b[at];
        at = heir;
    } else if (compare(key, strlen(key), &many->members[at - 1]) < 0) {
        b[at].left = take_out(many, b[at].left, number);
    } else {
        b[at].right = take_out(many, b[at].right, number);
    }
    return balance(b, at);
}

/* Of n members those after the number are about to move down by one. */
static void renumber(ebb_many *many, uint32_t number, size_t n)
{
    ebb_branch *b = many->branches;

    if (number == n)
        return;
    for (size_t i = 1; i <= n; i++) {
        b[i].left -= b[i].left > number;
        b[i].right -= b[i].right > number;
    }
    many->root -= many->root > number;
    memmove(&b[number], &b[number + 1], (n - number) * sizeof *b);
}

/* Without memory for it members are looked at one by one. */
static void grow_tree(ebb_many *many, size_t n)
{
    many->branches = ebb_mem_alloc((many->room + 1) * sizeof *many->branches);
    if (many->branches == NULL)
        return;
    many->branches[0] = (ebb_branch){ 0 };
    many->root = 0;
    for (uint32_t i = 1; i <= n; i++)
        many->root = insert(many, many->root, i);
}

static void drop_tree(ebb_many *many)
{
    ebb_mem_free(many->branches);
    many->branches = NULL;
}

static ebb_member *find_in_tree(ebb_many *many, const char *key, size_t n)
{
    uint32_t at = many->root;

    while (at != 0) {
        int order = compare(key, n, &many->members[at - 1]);

        if (order == 0)
            return &many->members[at - 1];
        at = order < 0 ? many->branches[at].left : many->branches[at].right;
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

ebb_member *ebb_object_find(ebb_object *o, const char *key, size_t n)
{
    ebb_member *members = ebb_object_members(o);

    if (o->many != NULL && o->many->branches != NULL)
        return find_in_tree(o->many, key, n);
    for (size_t i = 0; i < o->head.n; i++)
        if (has_key(&members[i], key, n))
            return &members[i];
    return NULL;
}

static int make_room(ebb_object *o, size_t room)
{
    size_t had = o->many != NULL ? o->many->room : EBB_MEMBERS_FEW;
    ebb_many *many;

    if (room <= had)
        return 0;
    if (room > MEMBERS_MAX)
        return -1;
    many = ebb_mem_resize(o->many, sizeof *many + room * sizeof(ebb_member));
    if (many == NULL)
        return -1;
    if (o->many == NULL) {
        many->branches = NULL;
        many->pool = NULL;
        memcpy(many->members, o->few, o->head.n * sizeof(ebb_member));
    }
    many->room = (uint32_t)room;
    drop_tree(many);
    o->many = many;
    return 0;
}

ebb_member *ebb_object_add(ebb_object *o, const char *key, size_t n)
{
    size_t room = o->many != NULL ? o->many->room : EBB_MEMBERS_FEW;
    ebb_member *member, added;

    /* The key may be a part of another, which moves when room is made. */
    if (set_key(&added, key, n) != 0)
        return NULL;
    if (o->head.n == room && make_room(o, 2 * room) != 0) {
        clear_member(&added);
        return NULL;
    }
    member = &ebb_object_members(o)[o->head.n++];
    *member = added;
    if (o->head.n <= BRANCHES_MIN)
        return member;
    if (o->many->branches != NULL)
        o->many->root = insert(o->many, o->many->root, (uint32_t)o->head.n);
    else
        grow_tree(o->many, o->head.n);
    return member;
}

ebb_pool **ebb_object_pool(ebb_object *o)
{
    if (o->many == NULL && make_room(o, (size_t)2 * EBB_MEMBERS_FEW) != 0)
        return NULL;
    return &o->many->pool;
}

void ebb_object_del(ebb_object *o, ebb_member *member)
{
    size_t n = o->head.n--;
    uint32_t number = (uint32_t)(member - ebb_object_members(o)) + 1;

    if (o->many != NULL && o->many->branches != NULL && n - 1 > BRANCHES_MIN) {
        o->many->root = take_out(o->many, o->many->root, number);
        renumber(o->many, number, n);
    } else if (o->many != NULL) {
        drop_tree(o->many);
    }
    clear_member(member);
    memmove(member, member + 1, (n - number) * sizeof *member);
}

void ebb_object_clear(ebb_object *o)
{
    for (size_t i = 0; i < o->head.n; i++)
        clear_member(&ebb_object_members(o)[i]);
    if (o->many == NULL)
        return;
    drop_tree(o->many);
    ebb_pool_free(o->many->pool);
    ebb_mem_free(o->many);
}

int ebb_object_copy(ebb_object *copy, ebb_object *o, int depth)
{
    if (make_room(copy, o->head.n) != 0)
        return -1;
    for (size_t i = 0; i < o->head.n; i++) {
        const ebb_member *from = &ebb_object_members(o)[i];
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
