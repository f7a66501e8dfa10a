/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SB_MPI_SCRATCH_H
#define SB_MPI_SCRATCH_H

#include "mpi/packer.h"

/*
 * The private memory in which a communicator's calls prepare themselves, one after the other. It
 * comes with the team, so that no rank alone can be without it in the middle of its calls, and so
 * that a call needs little of a stack that may be small.
 */

/* What goes through the scratch in pieces, such as a reduction's packed elements. */
#define SB_STAGE_BYTES ((size_t)16 << 10)

/* So much of a user's operation is combined at a time, with room to align it. */
#define SB_FOLD_BYTES ((size_t)4096)
#define SB_FOLD_ALIGNMENT 64

typedef struct sb_scratch {
    /* Calls that move blocks: for each side as many as the communicator has ranks. */
    sb_stream_t *send;
    sb_stream_t *receive;
    sb_packer_t *packers; /* of blocks that are not contiguous, in the order of their opening */
    size_t open;
    size_t sent; /* bytes of all blocks of this call */
    size_t received;
    char *copy; /* what a call in place sends while it receives; NULL: nothing */
    /* Reductions. */
    size_t *parts; /* packed bytes of each rank's part of the result */
    size_t *some;  /* of these, what is in the stage */
    char *out;     /* of SB_STAGE_BYTES */
    char *in;
    char *fold[2]; /* of SB_FOLD_BYTES, and as many as SB_FOLD_ALIGNMENT more */
} sb_scratch_t;

/* For a communicator of so many ranks; NULL: private memory is exhausted. */
sb_scratch_t *sb_scratch_make(int ranks);

void sb_scratch_free(sb_scratch_t *scratch);

#endif
