/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy to memory that was not written to for a while. Where that is in no cache, ordinary stores
 * fetch what they overwrite, and stores past the caches do not: 512 KiB take 0.79 of the time by
 * these (Zen 3), and in caches up to 1.7 times as long. Whether it is in caches cannot be foreseen,
 * so copies show it, by the length of what they are pieces of. Who reads what went past the caches
 * waits for memory, where one copied otherwise is near: a gain of less than a sixteenth is left.
 */
#include "machine/primitive.h"
#include "machine/real/copy_way.h"

/* Of what is the rank's own, and of what another one has written. */
static sb_way_t ways[2][SB_WAY_CLASSES];

/* Of a piece that the time of one copy says something of. */
#define TIMED_LEAST ((size_t)4 << 10)

void sb_copy_fresh(void *restrict to, const void *restrict from, size_t bytes, size_t whole,
                   bool far)
{
    sb_copy_t *usual = far ? sb_copy_far : sb_copy;

    if (bytes < TIMED_LEAST)
        usual(to, from, bytes);
    else
        sb_way_copy(&ways[far][sb_way_class(whole)], usual, sb_copy_streaming_far, 1, to, from,
                    bytes);
}
