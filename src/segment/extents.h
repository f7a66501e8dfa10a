/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_SEGMENT_EXTENTS_H
#define SB_SEGMENT_EXTENTS_H

#include "base/compiler.h"

#include <stdbool.h>

/*
 * The free space of one region: extents sorted by offset, neighbours merged. Private to the
 * region's owner, so a peer that dies or misbehaves cannot damage it.
 */
typedef struct sb_extent {
    size_t offset;
    size_t bytes;
} sb_extent_t;

typedef struct sb_extents {
    sb_extent_t *list;
    size_t count;
    size_t room;
} sb_extents_t;

/* Starts with one free extent. Returns false if private memory is exhausted. */
bool sb_extents_init(sb_extents_t *extents, size_t offset, size_t bytes);

/* First fit, at a multiple of `alignment`. Returns false if no extent is large enough. */
bool sb_extents_take(sb_extents_t *extents, size_t bytes, size_t alignment, size_t *offset);

/* Gives back what was taken, exactly as it was taken. Returns false if private memory is exhausted.
 */
bool sb_extents_give(sb_extents_t *extents, size_t offset, size_t bytes);

#endif
