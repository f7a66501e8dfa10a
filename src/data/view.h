/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_DATA_VIEW_H
#define SB_DATA_VIEW_H

#include "data/layout.h"

/*
 * The data of a call: `count` elements of a layout, `extent` bytes apart, the first at `base`. Its
 * packed stream is what a message carries: the elements' bytes, one after the other. Any part of
 * the stream can be moved at any time, by any thread, at a cost that does not depend on where it
 * lies but for one search for each level of the layout.
 */
typedef struct sb_view {
    void *base; /* may be NULL: MPI_BOTTOM */
    size_t count;
    ptrdiff_t extent;
    const sb_layout_t *layout;
} sb_view_t;

/* Where the stream begins if it lies in memory as it is sent; NULL if it does not. */
void *sb_view_plain(const sb_view_t *view);

/* Move the stream's bytes [offset, offset + bytes), which must exist. Gaps stay untouched. */
void sb_view_pack(const sb_view_t *view, size_t offset, void *to, size_t bytes);
void sb_view_unpack(const sb_view_t *view, size_t offset, const void *from, size_t bytes);

#endif
