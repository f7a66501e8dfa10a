/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/scratch.h"

#include "base/shelf.h"

#include <stdlib.h>

#define FOLD_ROOM (SB_FOLD_BYTES + SB_FOLD_ALIGNMENT)
#define STAGES_BYTES (2 * (SB_STAGE_BYTES + FOLD_ROOM))

static sb_shelves_t stages = SB_SHELVES(STAGES_BYTES);

/* The lists are on the heap, beside what else every call of the communicator needs. */
sb_scratch_t *sb_scratch_make(int size)
{
    size_t ranks = (size_t)size;
    sb_scratch_t *scratch = malloc(
        sizeof *scratch + 2 * ranks * (sizeof(sb_stream_t) + sizeof(sb_packer_t) + sizeof(size_t)));
    char *stage = scratch == NULL ? NULL : sb_shelves_take(&stages);

    if (stage == NULL) {
        free(scratch);
        return NULL;
    }
    sb_stream_t *streams = (sb_stream_t *)(void *)(scratch + 1);
    sb_packer_t *packers = (sb_packer_t *)(void *)(streams + 2 * ranks);
    size_t *parts = (size_t *)(void *)(packers + 2 * ranks);
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

void sb_scratch_free(sb_scratch_t *scratch)
{
    if (scratch == NULL)
        return;
    sb_shelves_give(&stages, scratch->out);
    free(scratch);
}
