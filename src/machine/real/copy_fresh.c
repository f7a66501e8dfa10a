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

static void copy_usual(void *restrict to, const void *restrict from, size_t bytes, bool far)
{
    if (far)
        sb_copy_far(to, from, bytes);
    else
        sb_copy(to, from, bytes);
}

void sb_copy_fresh(void *restrict to, const void *restrict from, size_t bytes, size_t whole,
                   bool far)
{
    sb_way_t *way = &ways[far][sb_way_class(whole)];

    if (bytes < TIMED_LEAST) {
        copy_usual(to, from, bytes, far);
        return;
    }
    sb_way_choice_t choice = sb_way_next(way);
    uint64_t began = choice.timed ? sb_now_ns() : 0;
    if (choice.second)
        sb_copy_streaming_far(to, from, bytes);
    else
        copy_usual(to, from, bytes, far);
    if (!choice.timed)
        return;
    uint64_t ns = sb_now_ns() - began;
    sb_way_record(way, choice, bytes, choice.second ? ns + ns / 16 : ns);
}
