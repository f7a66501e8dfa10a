/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/scratch.h"

#include <stdlib.h>

#define FOLD_ROOM (SB_FOLD_BYTES + SB_FOLD_ALIGNMENT)

sb_scratch_t *sb_scratch_new(int size)
{
    size_t ranks = (size_t)size;
    size_t bytes = 2 * (SB_STAGE_BYTES + FOLD_ROOM) + sizeof(sb_scratch_t) +
                   2 * ranks * (sizeof(sb_stream_t) + sizeof(sb_packer_t) + sizeof(size_t));
    char *stage = aligned_alloc(SB_FOLD_ALIGNMENT, sb_round_up(bytes, SB_FOLD_ALIGNMENT));

    if (stage == NULL)
        return NULL;
    char *fold = stage + 2 * SB_STAGE_BYTES;
    sb_scratch_t *scratch = (sb_scratch_t *)(void *)(fold + 2 * FOLD_ROOM);
    sb_stream_t *streams = (sb_stream_t *)(void *)(scratch + 1);
    sb_packer_t *packers = (sb_packer_t *)(void *)(streams + 2 * ranks);
    size_t *parts = (size_t *)(void *)(packers + 2 * ranks);
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

void sb_scratch_free(sb_scratch_t *scratch)
{
    free(scratch == NULL ? NULL : scratch->out);
}
