/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/scratch.h"

#include <stdlib.h>

#define FOLD_ROOM (SB_FOLD_BYTES + SB_FOLD_ALIGNMENT)

/* What every call needs comes first, and the stages behind it: their pages may never be touched. */
sb_scratch_t *sb_scratch_new(int size)
{
    size_t ranks = (size_t)size;
    size_t lists = sizeof(sb_scratch_t) +
                   2 * ranks * (sizeof(sb_stream_t) + sizeof(sb_packer_t) + sizeof(size_t));
    size_t front = sb_round_up(lists, SB_FOLD_ALIGNMENT);
    size_t bytes = front + 2 * (SB_STAGE_BYTES + FOLD_ROOM);
    sb_scratch_t *scratch = aligned_alloc(SB_FOLD_ALIGNMENT, bytes);

    if (scratch == NULL)
        return NULL;
    sb_stream_t *streams = (sb_stream_t *)(void *)(scratch + 1);
    sb_packer_t *packers = (sb_packer_t *)(void *)(streams + 2 * ranks);
    size_t *parts = (size_t *)(void *)(packers + 2 * ranks);
    char *stage = (char *)scratch + front;
    char *fold = stage + 2 * SB_STAGE_BYTES;
    *scratch = (sb_scratch_t){.send = streams,
                              .receive = streams + ranks,
                              .packers = packers,
                              .parts = parts,
                              .some = parts + ranks,
                              .out = stage,
                              .in = stage + SB_STAGE_BYTES,
                              .fold = {fold, fold + FOLD_ROOM}};
    return scratch;
}
