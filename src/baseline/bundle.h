/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_BASELINE_BUNDLE_H
#define SB_BASELINE_BUNDLE_H

#include "coll/coll.h"

/* Parts of several ranks as one message: those of two runs of ranks, each of any length. */
typedef struct sb_bundle {
    const sb_stream_t *parts; /* of all ranks */
    uint32_t first[2];
    uint32_t count[2];
} sb_bundle_t;

/* The message. The bundle has to live as long. */
sb_stream_t sb_bundle_stream(sb_bundle_t *bundle);

/* The parts of `count` ranks from `first` on, of `size`, round the last one. */
static inline sb_bundle_t sb_bundle_round(const sb_stream_t *parts, uint32_t size, uint32_t first,
                                          uint32_t count)
{
    uint32_t before = (uint32_t)sb_min(count, size - first);

    return (sb_bundle_t){parts, {first, 0}, {before, count - before}};
}

#endif
