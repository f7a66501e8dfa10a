/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy of what another core has written, which is in that core's caches. Each line takes many
 * times as long to come as one of the own caches, and some processors that see one row of lines ask
 * for few of them at once. There three rows are read in turn, each a little ahead: more are then
 * under way together. The rows are a third of the bytes apart, not a half or a quarter, which would
 * give them the same places in the caches' sets. Other processors have one row come faster, and
 * what has left the caches the library's copy brings sooner everywhere, because it does not fetch
 * what it overwrites. So each class of sizes takes the way that its copies show to be the faster.
 *
 * Parts of memcpy's time that three rows took: on a Xeon with private second-level caches 0.75 to
 * 0.89 from 96 KiB to 1 MiB in caches, 1.07 to 1.12 of 48 and 64 KiB, 1.12 to 1.17 beyond caches;
 * on an EPYC (Zen 5) 1.4 to 1.75 in caches and 2.0 to 2.6 beyond, of all sizes from 32 KiB on; on
 * another one (Zen 3) 0.92 of 16 KiB, 0.90 of 32 and 0.73 to 0.79 of 64 to 256 KiB in caches, 0.98
 * of 16 KiB and 0.72 to 0.77 of 64 and 256 KiB beyond.
 */
#include "machine/primitive.h"
#include "machine/real/copy_way.h"

#define ROWS 3
#define AHEAD (8 * SB_LINE)

/* What lies beside each other in its pages has ways of its own. */
static sb_way_t ways[2][SB_WAY_CLASSES];

static void copy_rows(void *restrict target, const void *restrict source, size_t bytes)
{
    char *to = target;
    const char *from = source;
    size_t row = bytes / ROWS / SB_LINE * SB_LINE;

    for (size_t i = 0; i < row; i += SB_LINE) {
        for (size_t at = i; at < ROWS * row; at += row) {
            __builtin_prefetch(from + at + AHEAD);
            memcpy(to + at, from + at, SB_LINE);
        }
    }
    memcpy(to + ROWS * row, from + ROWS * row, bytes - ROWS * row);
}

void sb_copy_far_long(void *restrict to, const void *restrict from, size_t bytes, sb_copy_t *usual)
{
    sb_way_t *way = &ways[sb_way_beside(to, from)][sb_way_class(bytes)];

    sb_way_copy(way, usual, copy_rows, 0, to, from, bytes);
}
