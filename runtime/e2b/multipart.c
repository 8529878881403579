/* SPDX-License-Identifier: MIT */
#include "e2b/multipart.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/mem.h"

#define PIECES_OF_A_PART 4

static const char before_content[] =
    "\"\r\nContent-Type: application/octet-stream\r\n\r\n";

bool ebb_e2b_form_takes(const char *path)
{
    for (const char *c = path; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            return false;
    return strpbrk(path, "%;\\\"'") == NULL;
}

int ebb_e2b_form_init(ebb_e2b_form *form, size_t parts, ebb_err *err)
{
    size_t room = PIECES_OF_A_PART * parts + 1;

    *form = (ebb_e2b_form){ .room = room };
    if (ebb_id_hex(form->boundary, sizeof form->boundary, err) != 0)
        return -1;
    form->pieces = ebb_mem_alloc(room * sizeof *form->pieces);
    if (form->pieces == NULL)
        return ebb_err_set(err, EBB_NO_MEMORY, "no memory for files to write");
    snprintf(form->begin, sizeof form->begin,
             "\r\n--%s\r\nContent-Disposition: form-data; name=\"file\"; "
             "filename=\"",
             form->boundary);
    snprintf(form->end, sizeof form->end, "\r\n--%s--\r\n", form->boundary);
    return 0;
}

void ebb_e2b_form_clear(ebb_e2b_form *form)
{
    ebb_mem_free(form->pieces);
    *form = (ebb_e2b_form){ .room = 0 };
}

static void add(ebb_e2b_form *form, const char *bytes, size_t n)
{
    assert(form->count < form->room);
    form->pieces[form->count++] = (ebb_http_piece){ bytes, n };
}

void ebb_e2b_form_add(ebb_e2b_form *form, const char *path, const char *bytes,
                      size_t n)
{
    /* The line's end before a boundary belongs to it; the first has none. */
    const char *begin = form->count > 0 ? form->begin : form->begin + 2;

    add(form, begin, strlen(begin));
    add(form, path, strlen(path));
    add(form, before_content, sizeof before_content - 1);
    add(form, bytes, n);
    if (form->count + 1 == form->room)
        add(form, form->end, strlen(form->end));
}
