/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The picture of one result as it arrives in base64: whole, or counted and
 * not kept. Of a png and a jpeg the png is taken.
 */

#include "base/buf.h"
#include "base/value.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ebb_e2b_picture {
    const char *type; /* "image/png", "image/jpeg"; NULL: none yet */
    ebb_buf base64;   /* without the line ends that kernels write */
    size_t digits;    /* of base64, kept or not */
} ebb_e2b_picture;

void ebb_e2b_picture_clear(ebb_e2b_picture *picture);

/* A piece of the member "png" or "jpeg"; bytes_max: of a picture, decoded. */
int ebb_e2b_picture_add(ebb_e2b_picture *picture, const char *name,
                        const char *bytes, size_t n, size_t bytes_max,
                        ebb_err *err);

/* Its size, decoded; when it was not kept, as near as digits can say. */
size_t ebb_e2b_picture_bytes(const ebb_e2b_picture *picture);

/*
 * Its BoundedBinary; NULL with EBB_PROTOCOL if it is not base64. Only of one
 * that was kept.
 */
ebb_value *ebb_e2b_picture_value(const ebb_e2b_picture *picture,
                                 size_t bytes_max, ebb_err *err);
