/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_CLUSTER_ROW_H
#define SB_CLUSTER_ROW_H

#include "coll/coll.h"

/* Pieces of streams in a row, as one stream: what goes by one message without being packed before.
 */

typedef struct sb_item {
    const sb_stream_t *stream;
    size_t from;
    size_t bytes;
} sb_item_t;

typedef struct sb_row {
    const sb_item_t *item;
    uint32_t count;
    uint32_t at;   /* the item where the last access ended, */
    size_t before; /* and the bytes before it */
} sb_row_t;

/* Puts bytes of a stream behind so many items, as part of the last one if they lie behind its own
 * in memory. Returns how many items there are then. */
uint32_t sb_items_add(sb_item_t *item, uint32_t count, const sb_stream_t *stream, size_t from,
                      size_t bytes);

/* The row as a stream, with so many items. Row and items stay until it was used. */
sb_stream_t sb_row_stream(sb_row_t *row, const sb_item_t *item, uint32_t count);

/* One item alone; where it lies in one piece, that is known of the stream too. */
sb_stream_t sb_item_stream(sb_row_t *row, const sb_item_t *item);

#endif
