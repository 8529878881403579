/* SPDX-License-Identifier: MIT */
#include "task/fields_text.h"

#include <stdio.h>
#include <string.h>

#define ID_BYTES_MAX   128
#define PATH_BYTES_MAX 4095 /* PATH_MAX without its NUL */
#define NAME_BYTES_MAX 255  /* NAME_MAX */

static int not_a_choice(const ebb_place *at, const ebb_field *field,
                        const char *text, ebb_err *err)
{
    char list[160] = "", quoted[EBB_SHOWN_BYTES];

    for (const char *const *c = field->choices; *c != NULL; c++) {
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "", *c);
    }
    ebb_place_wrong(at, err, "expected one of %s, got \"%s\"", list,
                    ebb_place_shown(text, quoted));
    return -1;
}

static int check_id(const ebb_place *at, const ebb_field *field,
                    const char *text, size_t n, ebb_err *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    char quoted[EBB_SHOWN_BYTES];

    if (n > 0 && n <= ID_BYTES_MAX && strspn(text, allowed) == n)
        return 0;
    ebb_place_wrong(at, err,
                    "expected letters and digits (%s), at most %d, got \"%s\"",
                    field->help ? field->help : "an id", ID_BYTES_MAX,
                    ebb_place_shown(text, quoted));
    return -1;
}

/* What no file system of Linux takes: a server would answer it with a 500. */
static int check_path(const ebb_place *at, const char *text, size_t n,
                      ebb_err *err)
{
    size_t name = 0;

    if (n <= NAME_BYTES_MAX)
        return 0;
    if (n > PATH_BYTES_MAX) {
        ebb_place_wrong(at, err, "a path of %zu bytes, at most %d", n,
                        PATH_BYTES_MAX);
        return -1;
    }
    for (const char *c = text; *c != '\0'; c += name) {
        c += strspn(c, "/");
        name = strcspn(c, "/");
        if (name <= NAME_BYTES_MAX)
            continue;
        ebb_place_wrong(at, err, "a name of %zu bytes in it, at most %d", name,
                        NAME_BYTES_MAX);
        return -1;
    }
    return 0;
}

static bool is_blank(const char *text, size_t n)
{
    return *text <= ' ' && strspn(text, " \t\r\n\v\f") == n;
}

/* What the flags say of a string. */
static int check_flags(const ebb_place *at, const ebb_field *field,
                       const char *text, size_t n, ebb_err *err)
{
    if ((field->flags & EBB_FIELD_NOT_BLANK) && is_blank(text, n))
        ebb_place_wrong(at, err, "must not be blank");
    else if ((field->flags & EBB_FIELD_NO_NUL) && memchr(text, '\0', n) != NULL)
        ebb_place_wrong(at, err, "must not hold a NUL byte");
    else if (field->flags & EBB_FIELD_ID)
        return check_id(at, field, text, n, err);
    else if (field->flags & EBB_FIELD_PATH)
        return check_path(at, text, n, err);
    else
        return 0;
    return -1;
}

int ebb_field_check_text(const ebb_place *at, const ebb_field *field,
                         const char *text, size_t n, ebb_err *err)
{
    if (check_flags(at, field, text, n, err) != 0)
        return -1;
    if (field->choices == NULL)
        return 0;
    for (const char *const *c = field->choices; *c != NULL; c++)
        if (strlen(*c) == n && memcmp(*c, text, n) == 0)
            return 0;
    return not_a_choice(at, field, text, err);
}
