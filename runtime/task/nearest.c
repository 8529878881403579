/* SPDX-License-Identifier: MIT */
#include "task/nearest.h"

#include <string.h>

#define NAME_BYTES_MAX 64

/* Letters of names are ASCII; the C locale's tolower would depend on it. */
static unsigned lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned)c - 'A' + 'a' : (unsigned char)c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One cell of the table: row[2] is being made, row[1] and row[0] precede it. */
static size_t cell(size_t row[3][NAME_BYTES_MAX + 1], const char *a,
                   const char *b, size_t i, size_t j)
{
    size_t differs = lower(a[i - 1]) != lower(b[j - 1]);
    size_t edits = least(row[1][j] + 1, row[2][j - 1] + 1);

    edits = least(edits, row[1][j - 1] + differs);
    if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
        lower(a[i - 2]) == lower(b[j - 1]))
        edits = least(edits, row[0][j - 2] + 1);
    return edits;
}

size_t ebb_nearest_distance(const char *typed, const char *known)
{
    size_t n = strlen(typed), m = strlen(known), longest = n > m ? n : m;
    size_t row[3][NAME_BYTES_MAX + 1];

    if (longest > NAME_BYTES_MAX)
        return EBB_NEAREST_NONE;
    for (size_t j = 0; j <= m; j++)
        row[2][j] = j;
    memset(row[1], 0, sizeof row[1]);
    for (size_t i = 1; i <= n; i++) {
        memcpy(row[0], row[1], sizeof row[0]);
        memcpy(row[1], row[2], sizeof row[1]);
        row[2][0] = i;
        for (size_t j = 1; j <= m; j++)
            row[2][j] = cell(row, typed, known, i, j);
    }
    return row[2][m] <= (longest + 2) / 3 ? row[2][m] : EBB_NEAREST_NONE;
}
